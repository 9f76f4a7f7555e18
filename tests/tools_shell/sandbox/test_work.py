from __future__ import annotations

import os
import shutil
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="sandboxes are for Linux")

WORKS = {
    "files": "mkdir -p a b && echo x > a/f && mv a/f b/g && ln b/g h && ln -s b/g l && cat l && rm -r a b h l",
    "a program that was written": "printf '#!/bin/sh\\necho x\\n' > p && chmod +x p && ./p",
    "a pipe by its path": "cat <(echo x) && echo x > /dev/stderr && echo x > /dev/null",
    "a FIFO": "mkfifo f && (echo x > f &) && cat f",
    "temporary files": "f=$(mktemp) && echo x > $f && cat $f",
    "a home": "cd && mkdir -p .cache && echo x > .cache/of-mine && cat ~/.cache/of-mine",
    "names of users": "id -u && ls -l",
    "processors": "nproc",
    "a subshell that ends": "(exit 3); test $? = 3 && echo x",
    "its own processes": "sleep 100 & kill $! && echo x",
    "limits": "ulimit -n 100 && nice -n 1 echo x",
    "threads": "$PYTHON -c 'import threading; t = threading.Thread(target=print, args=(1,)); t.start(); t.join()'",
    "programs": "$PYTHON -c 'import subprocess; print(subprocess.run([\"echo\"], capture_output=True).stdout)'",
    "an event loop": "$PYTHON -c 'import asyncio; asyncio.run(asyncio.sleep(0)); print(1)'",
    "random numbers": "$PYTHON -c 'import os, ssl, uuid; print(os.urandom(1), uuid.uuid4())'",
}


def test_ordinary_work_is_not_disturbed(place, sandbox_level):
    run = "import subprocess; subprocess.run(['/bin/bash', '-c', {!r}], check=True, stdout=subprocess.DEVNULL)"
    works = {name: run.format(script) for name, script in WORKS.items()}
    outcomes = place.attack(sandbox_level, works, environment={"PYTHON": place.python})
    assert {name: how for name, how in outcomes.items() if how != "done"} == {}


@pytest.mark.parametrize("path", ["/", "/tmp"])
def test_temporary_files_work_if_the_temporary_folder_of_the_system_is_readable(place, sandbox_level, path):
    run = "import subprocess; subprocess.run(['/bin/bash', '-c', {!r}], check=True, stdout=subprocess.DEVNULL)"
    works = {name: run.format(WORKS[name]) for name in ("temporary files", "a home")}
    if sandbox_level != "landlock":  # which has no semaphores
        works["semaphores"] = "import multiprocessing; multiprocessing.Lock()"
    outcomes = place.attack(sandbox_level, works, readable=[path])
    assert {name: how for name, how in outcomes.items() if how != "done"} == {}


def test_version_control_works(place, sandbox_level):
    if not shutil.which("git"):
        pytest.skip("git is not installed")
    script = "git init -q . && git add mine && git -c user.name=a -c user.email=b commit -q -m m && git status --short"
    ran = place.run(sandbox_level, "/bin/sh", "-c", script)
    assert (ran.code, ran.stdout) == (0, ""), ran.stderr


@pytest.mark.parametrize("program", ["socket.socket().bind(('127.0.0.1', 0))", "multiprocessing.Lock()"])
def test_in_bubblewrap_a_command_has_a_private_network_and_shared_memory(place, program):
    ran = place.run("bubblewrap", place.python, "-c", f"import multiprocessing, socket; {program}")
    assert ran.code == 0, ran.stderr


def test_the_exit_code_comes_through(place, sandbox_level):
    assert place.run(sandbox_level, "/bin/sh", "-c", "exit 7").code == 7


def test_descriptors_come_through_and_no_others(place, sandbox_level):
    ours, theirs = os.pipe()
    os.set_blocking(ours, False)
    try:
        ran = place.run(sandbox_level, "/bin/bash", "-c", f"echo x >&{theirs}; ls /proc/self/fd", extra=[theirs])
        assert os.read(ours, 10) == b"x\n", ran.stderr
        assert {int(number) for number in ran.stdout.split()} <= {0, 1, 2, 3, theirs}  # 3: the folder that `ls` reads
    finally:
        os.close(ours)
        os.close(theirs)


def test_the_environment_comes_through_and_is_not_that_of_the_sandbox_itself(place, sandbox_level):
    environment = {"A": "1 2\n3", "EMPTY": "", "LARGE": "x" * 120_000}
    ran = place.run(sandbox_level, "/usr/bin/env", "-0", environment=environment)
    variables = dict(entry.split("=", 1) for entry in ran.stdout.split("\0") if entry)
    assert variables.items() >= environment.items()
    ran = place.run(sandbox_level, "/bin/sh", "-c", "exit 3", environment={"LD_TRACE_LOADED_OBJECTS": "1"})
    assert "libc." in ran.stdout
    assert "libcap" not in ran.stdout, "bwrap has read it, too"


def test_a_workspace_may_be_the_home_or_in_it_or_hold_everything_beside(place, sandbox_level):
    for root, workdir in (
        (place.home, place.home),
        (place.home / ".ssh", place.home / ".ssh"),
        (place.folder, place.root),
    ):
        ran = place.run(
            sandbox_level, "/bin/sh", "-c", "pwd; echo x > made; cat made", root=str(root), workdir=str(workdir)
        )
        assert ran.stdout == f"{workdir}\nx\n", ran.stderr
        assert (workdir / "made").read_text() == "x\n"
