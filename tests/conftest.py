"""Rules for all tests of this repository."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import contextmanager, suppress
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from zlib import crc32

import pytest
from hypothesis import settings

CACHE = Path(__file__).parents[1] / ".cache"
CI = os.environ.get("CI") == "true"
SAMPLE = 2  # cases of a parametrized test in the fast suite; the slow one has the others
# A test may skip because of the machine's system, kernel or user. What can be installed is installed in CI.
PATIENCE = 240  # seconds that a test may run
MISSING = re.compile(r"not installed|could not import|not downloaded")

# A shell starts background processes with these signals ignored, and programs that tests start would inherit that.
for number in (signal.SIGINT, getattr(signal, "SIGQUIT", signal.SIGINT)):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)

pytest.register_assert_rewrite("runtime_conformance")

# Machines differ in speed, so examples have no deadline; CI runs the same examples each time.
settings.register_profile("house", deadline=None, derandomize=CI, print_blob=True)
settings.load_profile("house")


@pytest.fixture(scope="session")
def download():
    """Download a distribution with pip, into `.cache`: `download("name==1.0", "--only-binary=:all:")` is its path."""

    def download(release, *options):
        folder = CACHE / release
        if not folder.exists():
            CACHE.mkdir(exist_ok=True)
            with tempfile.TemporaryDirectory(dir=CACHE) as new:
                pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
                done = subprocess.run([*pip, *options, "--dest", f"{new}/files", release], check=False)
                if done.returncode:
                    pytest.skip(f"{release} is not downloaded: pip cannot reach an index")
                if not folder.exists():  # another worker may have been faster
                    os.rename(f"{new}/files", folder)
        return next(folder.iterdir())

    return download


@pytest.fixture(scope="session")
def environment_with():
    """Make an environment for other people's packages beside ours, in `.cache`.

    `environment_with("langchain", ["tools-core", "packages/tools-adapters[langchain]"], ["pytest==9.2.0"])` is the
    path of its Python, with this repository's packages editable; the test skips if the rest cannot be installed.
    """

    def environment_with(name, ours, theirs=(), constraints=None):
        folders = [CACHE.parent / requirement.partition("[")[0] for requirement in ours]
        projects = [folder / "pyproject.toml" for folder in folders]  # their entry points
        read = [path.read_text() for path in (*projects, *([constraints] if constraints else []))]
        key = hashlib.sha256(repr([sys.version, list(ours), list(theirs), read]).encode()).hexdigest()[:12]
        folder = CACHE / "environments" / f"{name}-{key}"
        python, done = folder / "bin/python", folder / "done"
        if done.exists():
            return python
        if not os.access(CACHE.parent, os.W_OK):
            pytest.skip("this user cannot create environments in the checkout")
        folder.parent.mkdir(parents=True, exist_ok=True)
        import fcntl  # not on Windows

        with (folder.parent / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not done.exists():
                subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
                root = CACHE.parent
                words = [*(f"--editable={root / requirement}" for requirement in ours), *theirs]
                words += ["--constraint", constraints] if constraints else []
                uv = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", python]
                pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
                if all(subprocess.run([*tool, *words], check=False).returncode for tool in (uv, pip)):
                    pytest.skip(f"{name} is not installed: no index can be reached, or nothing satisfies the versions")
                done.touch()
        return python

    return environment_with


@pytest.hookimpl(tryfirst=True)  # before `-m` selects
def pytest_collection_modifyitems(config, items):
    """Mark all but a sample of the cases of each parametrized test as slow, unless tests are named one by one."""
    if any("::" in word for word in config.args):
        return
    cases = {}
    for item in items:
        if hasattr(item, "callspec") and item.get_closest_marker("slow") is None:
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for matrix in cases.values():
        for item in sorted(matrix, key=lambda item: crc32(item.nodeid.encode()))[SAMPLE:]:
            item.add_marker("slow")


def children():
    """Return the process IDs of the children of this process, where the system tells them."""
    pids = set()
    for task in Path("/proc/self/task").glob("*/children"):
        with suppress(OSError):  # the thread has ended
            pids.update(map(int, task.read_text().split()))
    return pids


@contextmanager
def time_limit():
    """Fail a test that hangs: kill what it has started, since it may wait for its output, then interrupt it."""
    if not hasattr(signal, "SIGALRM"):  # Windows
        yield
        return
    before = children()

    def end(number, frame):
        for pid in children() - before:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        signal.signal(number, interrupt)

    def interrupt(number, frame):
        pytest.fail(f"It has not ended after {PATIENCE} seconds.")

    signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE, 5)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup():
    with time_limit():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call():
    with time_limit():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    return refuse_skip((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report():
    return refuse_skip((yield))


def refuse_skip(report):
    """In CI, fail a test that skips because a package is missing."""
    if CI and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2].removeprefix("Skipped: ")
        if MISSING.search(reason):
            report.outcome = "failed"
            report.longrepr = f"skipped in CI: {reason}"
    return report


def event(value):
    """One server-sent event, as providers write it."""
    return (f"event: {value['type']}\n" if "type" in value else "") + f"data: {json.dumps(value)}\n\n"


@pytest.fixture
def model_server():
    """`model_server(reply).url` is a provider: `reply(path, body)` returns a JSON object, or the list of its events.

    A tuple is a status, the text of a page, and its headers.
    """
    servers = []

    def start(reply):
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                answer = reply(self.path.partition("?")[0], body)
                status, kind, text, headers = 200, "application/json", "", []
                if isinstance(answer, list):
                    kind, text = "text/event-stream", "".join(map(event, answer))
                elif isinstance(answer, tuple):
                    status, text, *headers = answer
                    kind = "text/html"
                sent = (text or json.dumps(answer)).encode()
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(sent)))
                for header in headers:
                    self.send_header(*header)
                self.end_headers()
                self.wfile.write(sent)

            def log_message(self, *words):
                """Print nothing."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="session")
def postgresql(tmp_path_factory):
    """A PostgreSQL server in a temporary folder."""
    matches = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    initdb = shutil.which("initdb") or (str(matches[-1]) if matches else None)
    if initdb is None:
        pytest.skip("PostgreSQL is not installed")
    pytest.importorskip("psycopg")
    pytest.importorskip("sqlalchemy")
    with tempfile.TemporaryDirectory(prefix="pg-") as folder:  # a short path, for the socket
        server = PostgreSQL(Path(initdb).resolve().parent, folder)
        server.start()
        yield server
        server.stop()


class PostgreSQL:
    def __init__(self, programs, folder):
        self.programs, self.folder = programs, folder
        self.user = "nobody" if os.geteuid() == 0 else None  # the server refuses to run as root
        if self.user:
            shutil.chown(folder, self.user)
        self._run("initdb", "-D", f"{folder}/data", "-U", "tester", "-A", "trust", "-N", "--no-locale", "-E", "UTF8")
        self._numbers = count(1)

    def start(self):
        options = f"-k {self.folder} -c listen_addresses= -c fsync=off -c shared_buffers=16MB"
        self._run("pg_ctl", "-D", f"{self.folder}/data", "-o", options, "-l", f"{self.folder}/log", "-w", "start")

    def stop(self):
        self._run("pg_ctl", "-D", f"{self.folder}/data", "-m", "immediate", "stop")

    def new_database(self):
        """Return the URL of an empty database."""
        name = f"test{next(self._numbers)}"
        self._run("psql", "-h", self.folder, "-U", "tester", "-c", f"CREATE DATABASE {name}", "postgres")
        return f"postgresql://tester@/{name}?host={self.folder}"

    def _run(self, program, *arguments):
        command = [self.programs / program, *arguments]
        with open(f"{self.folder}/output", "w+") as output:  # not a pipe, which the server would keep open
            code = subprocess.call(command, user=self.user, cwd=self.folder, stdout=output, stderr=output)
            output.seek(0)
            assert code == 0, output.read()


GIT_CONFIG = """\
[user]
    name = Ada Lovelace
    email = ada@example.org
[init]
    defaultBranch = main
[alias]
    st = status --short
"""


class Day:
    """The user's machine during one day: run tools in `workspace`, and look at the results from outside.

    It imports the packages late: some tests run in environments that lack them.
    """

    def __init__(self, home: Path, name: str) -> None:
        from tools_core import Context

        self.home = home
        self.workspace = home / "work" / name
        self.workspace.mkdir(parents=True)
        self.context = Context(workspace=self.workspace)
        self.accepted = {".git"}  # protected names that the day creates on purpose
        self.uncommitted: list[str] = []  # lines of `git status --porcelain` that the day leaves on purpose

    @cached_property
    def registry(self):
        """The installed tools, which read the environment of the day when they are first used."""
        from tools_core import Registry

        registry = Registry()
        registry.discover()
        return registry

    def attempt(self, tool, /, **arguments):
        """Call a tool and return its result, whether it succeeded or not."""
        from tools_core import ToolCall

        return self.registry.call(ToolCall(None, tool, arguments), self.context, approve="all")

    def call(self, tool, /, **arguments):
        """Call a tool that must succeed."""
        result = self.attempt(tool, **arguments)
        assert result.ok, result.error
        return result

    def bash(self, command, exit_code=0, **arguments):
        """Run a script and return its output."""
        result = self.call("bash", command=command, **arguments)
        assert result.output["exit_code"] == exit_code, result.content
        return result.output["output"]

    def python(self, code, **arguments):
        """Run Python code and return the value of its last expression."""
        result = self.call("python", code=code, **arguments)
        assert "error" not in result.output, result.content
        return result.output["value"]

    def start(self, command, wait_for="", **arguments):
        """Start a job, wait for a text in its output, and return the id of the job."""
        id = self.call("job_start", command=command, **arguments).output["id"]
        if wait_for:
            output = self.call("job_output", id=id, wait_for=wait_for, wait=60)
            assert output.output["found"] is not None, output.content
        return id

    def write(self, files):
        """Write the files of a project as its user would, without a tool."""
        for name, text in files.items():
            path = self.workspace / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, newline="")

    def read(self, name):
        """Read a file without a tool, to see what is really on disk."""
        return (self.workspace / name).read_text()

    def shell(self, command, exit_code=0, **options):
        """Run a command in the user's own terminal, without a tool."""
        options = {"cwd": self.workspace, "text": True, "stdin": subprocess.DEVNULL} | options
        process = subprocess.run(
            ["bash", "-c", command], check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options
        )
        assert process.returncode == exit_code, process.stdout
        return process.stdout

    def repository(self, files):
        """Make the workspace a repository of the user, with one commit of these files."""
        self.write(files)
        self.shell("git init --quiet && git add --all && git commit --quiet --message 'Start the project'")

    def ask_tools(self, *words, exit_code=0, **options):
        """Run the command `ask-tools` in the workspace and return its output."""
        command = [sys.executable, "-m", "tools_core", *words]
        options = {"cwd": self.workspace, "stdin": subprocess.DEVNULL, "text": True} | options
        process = subprocess.run(command, check=False, capture_output=True, **options)
        assert process.returncode == exit_code, process.stdout + process.stderr
        return process.stdout + process.stderr

    def end(self):
        """End the jobs and sessions of the day."""
        from tools_shell import end_run

        end_run(self.context.run_id)

    def check_workspace(self):
        """Assert that the tools left nothing in the workspace that the day did not create."""
        from tools_core.files import PROTECTED

        strange = []
        for folder, folders, files in os.walk(self.workspace):
            names = [*folders, *files]
            strange += [f"{folder}/{name}" for name in names if name in PROTECTED - self.accepted]
            strange += [f"{folder}/{name}" for name in names if name.startswith(".ask-tools")]
            if ".git" in folders:
                folders.remove(".git")
        assert strange == []
        if (self.workspace / ".git").exists():
            assert self.shell("git status --porcelain --untracked-files=all").splitlines() == self.uncommitted


@pytest.fixture
def home(tmp_path, monkeypatch):
    """The new home of a user, without variables that would change the defaults."""
    for variable in [name for name in os.environ if name.startswith(("ASK_TOOLS_", "GIT_", "XDG_"))]:
        if variable != "ASK_TOOLS_ISOLATION":  # repeats all days at one level
            monkeypatch.delenv(variable)
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(GIT_CONFIG)
    monkeypatch.setenv("HOME", str(home))
    return home


@pytest.fixture
def new_day(home):
    """`new_day(name)` is a day at the default settings in a workspace with this name."""
    days = []

    def new_day(name):
        days.append(Day(home, name))
        return days[-1]

    new_day.days = days

    yield new_day
    for day in days:
        day.end()


@pytest.fixture
def day(new_day):
    """A day at the default settings."""
    return new_day("project")
