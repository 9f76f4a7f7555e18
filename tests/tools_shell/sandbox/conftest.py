"""Commands at one level, as root and as an ordinary user, and their attacks on other processes and files."""

from __future__ import annotations

import functools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import pytest

from tools_core.linux import landlock_abi

# The numbers of calls that the C library has no function for, on x86_64 and aarch64.
_TABLE = """
bpf 321 280, clone 56 220, clone3 435 435, delete_module 176 106, fchmodat 268 53, fchmodat2 452 452, kcmp 312 272,
io_uring_setup 425 425, kexec_load 246 104, keyctl 250 219, mount_setattr 442 442, open_tree 428 428, openat2 437 437,
perf_event_open 298 241, pidfd_getfd 438 438, process_vm_readv 310 270, reboot 169 142, userfaultfd 323 282
"""
NUMBERS = {name: two for name, *two in map(str.split, _TABLE.split(","))}
IS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
NOBODY = 65534
USERS = [0, NOBODY] if IS_ROOT else [os.geteuid() if hasattr(os, "geteuid") else 0]
# One that an ordinary user can run, too: that of the tests may be in root's home.
PYTHON = next(path for path in ("/usr/bin/python3", sys.executable) if os.path.exists(path))

# Host and leader in one: becomes the user, finds the level, confines itself and becomes the command.
HOST = """
import ctypes, dataclasses, json, os, re, shutil, subprocess, sys
from tools_shell import _settings
from tools_shell._sandbox import _command
from tools_shell._sandbox import _choose, _isolation, _run_folder, _start
from tools_shell._supervisor import _confine
said = json.load(sys.stdin)
os.dup2(said["stdin"], 0)
os.close(said["stdin"])
if os.geteuid() != said["user"]:
    for number in (1, 2):
        os.fchown(number, said["user"], said["user"])
    os.setgroups([])
    os.setresgid(said["user"], said["user"], said["user"])
    os.setresuid(said["user"], said["user"], said["user"])
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # as a process that was started by that user
os.environ.update(said["host"])
sandbox = _settings.Sandbox(**said["settings"])
known = [*_choose.candidates(sandbox, said["root"]), _isolation.Isolation(level="none", missing=())]
sandbox_level, _, proc = said["sandbox_level"].partition(" with the shared ")
isolation = next(
    found for found in known if found.level == sandbox_level and (not proc or found.bubblewrap.proc == "shared")
)
if sandbox_level in ("bubblewrap", "landlock"):
    isolation = dataclasses.replace(isolation, folder=_run_folder.RunFolder(said["temporary"], ()))
    isolation.folder.write_git_settings(_choose.UserGit())
command = _command.Command(
    said["arguments"], said["environment"], -1, said["workdir"], isolation, sandbox.resources,
    terminal=said["terminal"], extra=said["extra"],
)
wrapped = _start.wrap(command)
os.chdir(said["workdir"])
if wrapped.confine is not None:
    _confine.confine(json.loads(json.dumps(wrapped.confine)))
os.execve(wrapped.arguments[0], wrapped.arguments, wrapped.environment)
"""

# Runs each attack in a separate child and folder, and says how far it got.
ATTACKS = """
import ctypes, errno, fcntl, json, mmap, os, signal, socket, stat, sys
OUT, ROOT, BYSTANDER = os.environ["OUT"], os.environ["ROOT"], int(os.environ["BYSTANDER"])
OLD, NUMBERS = os.uname().machine == "x86_64", json.loads(os.environ["NUMBERS"])
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *arguments):
    if getattr(libc, name)(*arguments) == -1:
        raise OSError(ctypes.get_errno(), name)
def system(name, *arguments):
    call("syscall", NUMBERS[name], *arguments)
def attempt(place, body):
    os.mkdir(place)
    os.chdir(place)
    open("mine", "w").close()
    try:
        exec(body, globals())
    except OSError as error:
        return "refused " + errno.errorcode.get(error.errno, str(error.errno))
    return "done"
for name, body in json.loads(os.environ["ATTACKS"]).items():
    ours, theirs = os.pipe()
    if os.fork() == 0:
        try:
            said = attempt(os.urandom(4).hex(), body)
        except BaseException as error:
            said = f"broken {error!r}"
        os.write(theirs, said.encode())
        os._exit(0)
    os.close(theirs)
    print(json.dumps([name, open(ours).read()]), flush=True)
    os.wait()
"""


class Ran(NamedTuple):
    code: int
    stdout: str
    stderr: str


class Place:
    """A folder with a workspace, and things beside it that a command must not touch."""

    def __init__(self, user):
        self.user, self.python = user, PYTHON
        self.folder = Path(tempfile.mkdtemp(prefix="ask-tools-test-", dir="/tmp"))  # where every user may go
        self.root, self.outside = self.folder / "root", self.folder / "outside"
        self.home, self.temporary, self.shown = self.folder / "home", self.folder / "temporary", self.folder / "shown"
        for path in (self.root, self.outside, self.outside / "empty", self.home / ".ssh", self.temporary, self.shown):
            path.mkdir(parents=True)
        for path in (self.root / "mine", self.outside / "file", self.home / ".ssh" / "canary", self.shown / "file"):
            path.write_text("canary")
        self.folder.chmod(0o755)
        for path in (self.folder, *self.folder.rglob("*")) if user != os.geteuid() else ():
            os.chown(path, user, user)
        # It does not take this signal: whether one has arrived can be seen.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGURG])
        self.bystander = subprocess.Popen(
            ["/bin/cat"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={"SECRET": "canary"},
            cwd=self.outside,
            **as_user(user),
        )
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        # Its environment is there to be read only when it runs.
        self.bystander.stdin.write(b"x")
        self.bystander.stdin.flush()
        self.bystander.stdout.read(1)

    def close(self):
        self.bystander.kill()
        self.bystander.communicate()
        shutil.rmtree(self.folder)

    def state(self):
        """All that is outside of the workspace, in words to compare."""
        beside = (self.outside, self.home, self.shown)
        return {
            str(path): (path.lstat().st_mode, path.is_file() and path.read_text())
            for folder in beside
            for path in (folder, *folder.rglob("*"))
        }

    def run(
        self, sandbox_level, *arguments, extra=(), terminal=False, stdin=None, environment=None, host=None, **settings
    ):
        """Run a command at a level, as the tool would."""
        if reason := why_not(sandbox_level, self.user):
            pytest.skip(reason)
        workdir = settings.pop("workdir", str(self.root))
        source = os.memfd_create("stdin")
        order = {
            "user": self.user,
            "sandbox_level": sandbox_level,
            "root": settings.pop("root", str(self.root)),
            "workdir": workdir,
            "arguments": arguments,
            "temporary": str(self.temporary),
            "terminal": terminal,
            "extra": list(extra),
            "settings": settings,
            "stdin": source if stdin is None else stdin,
            "host": host or {},
            "environment": {
                "PATH": "/usr/local/bin:/usr/bin:/bin",
                "HOME": str(self.home),
                "LANG": "C.UTF-8",
                "OUT": str(self.outside),
                "ROOT": str(self.root),
                "BYSTANDER": str(self.bystander.pid),
                **(environment or {}),
            },
        }
        try:
            done = subprocess.run(
                [sys.executable, "-c", HOST],
                input=json.dumps(order),
                capture_output=True,
                text=True,
                check=False,
                timeout=300,
                pass_fds=(order["stdin"], *extra),
            )
        finally:
            os.close(source)
        return Ran(done.returncode, done.stdout, done.stderr)

    def attack(self, sandbox_level, attacks, *, environment=None, **more):
        """Run attacks, blocks of Python, and return what became of each."""
        variables = {
            "ATTACKS": json.dumps(attacks),
            "NUMBERS": json.dumps({name: int(two[os.uname().machine == "aarch64"]) for name, two in NUMBERS.items()}),
            **(environment or {}),
        }
        ran = self.run(sandbox_level, PYTHON, "-I", "-S", "-c", ATTACKS, environment=variables, **more)
        outcomes = dict(json.loads(line) for line in ran.stdout.splitlines())
        assert outcomes.keys() == attacks.keys(), ran.stderr
        return outcomes

    def refuses(self, sandbox_level, attacks, **more):
        """Return true if every attack is refused; otherwise fail with the outcomes of the others."""
        others = {
            name: how
            for name, how in self.attack(sandbox_level, attacks, **more).items()
            if not how.startswith("refused")
        }
        assert others == {}
        return True


@functools.cache
def why_not(sandbox_level, user):
    """Return what this machine lacks for a level."""
    if sandbox_level == "landlock":
        return None if landlock_abi() else "this kernel has no Landlock"
    if sandbox_level == "none":
        return None
    if not shutil.which("bwrap"):
        return "bubblewrap is not installed"
    words = ["bwrap", "--unshare-all", "--unshare-user", "--ro-bind", "/", "/", "/bin/true"]
    completed = subprocess.run(words, capture_output=True, check=False, cwd="/", **as_user(user))
    return "this system allows no user namespaces" if completed.returncode else None


def as_user(user):
    return {"user": user, "group": user, "extra_groups": []} if user != os.geteuid() else {}


@pytest.fixture(
    params=[*(pytest.param(user, marks=pytest.mark.slow) for user in USERS[:-1]), USERS[-1]],
    ids=lambda user: "root" if user == 0 else "user",
)
def place(request):
    a_place = Place(request.param)
    yield a_place
    a_place.close()


# Containers may refuse a new /proc.
@pytest.fixture(
    params=["bubblewrap", pytest.param("bubblewrap with the shared /proc", marks=pytest.mark.slow), "landlock"]
)
def sandbox_level(request):
    return request.param


class Listeners:
    """Sockets of every kind outside of a sandbox; what arrives there got out."""

    def __init__(self, place):
        self.tcp, self.udp = socket.socket(), socket.socket(type=socket.SOCK_DGRAM)
        self.tcp.bind(("127.0.0.1", 0))
        self.udp.bind(("127.0.0.1", 0))
        self.stream, self.letters = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.abstract = socket.socket(socket.AF_UNIX)
        name = f"ask-tools-{os.urandom(8).hex()}"
        self.abstract.bind(f"\0{name}")
        for kind in ("stream", "letters"):
            path = place.outside / kind
            getattr(self, kind).bind(str(path))
            path.chmod(0o777)
        for listener in (self.tcp, self.stream, self.abstract):
            listener.listen(64)
        for listener in (self.tcp, self.udp, self.stream, self.letters, self.abstract):
            listener.setblocking(False)
        tcp, udp = self.tcp.getsockname()[1], self.udp.getsockname()[1]
        self.environment = {"TCP": str(tcp), "UDP": str(udp), "ABSTRACT": name}

    def arrived(self):
        """The kinds at which something did."""
        kinds = {
            **dict.fromkeys(("tcp", "stream", "abstract"), lambda listener: listener.accept()[0].close()),
            **dict.fromkeys(("udp", "letters"), lambda listener: listener.recv(10)),
        }
        kinds_hit = set()
        for kind, take in kinds.items():
            try:
                take(getattr(self, kind))
            except BlockingIOError:
                continue
            kinds_hit.add(kind)
        return kinds_hit

    def close(self):
        for listener in (self.tcp, self.udp, self.stream, self.letters, self.abstract):
            listener.close()


@pytest.fixture
def listeners(place):
    sockets = Listeners(place)
    yield sockets
    sockets.close()
