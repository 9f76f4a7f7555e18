"""Systems without the modules and functions of POSIX, as Windows is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HIDE_MODULES = """
import asyncio, multiprocessing, os, shutil, signal, subprocess, sys, tempfile  # which have their own ways

for name in "fcntl pwd grp termios resource pty tty readline curses".split():
    sys.modules[name] = None
"""
HIDE = f"""
{HIDE_MODULES}
for name in (
    "register_at_fork fork forkpty getuid geteuid getgid getpgid setsid killpg fchmod mkfifo posix_spawn openpty uname "
    "statvfs pread pwrite O_DIRECTORY O_NOFOLLOW O_CLOEXEC O_NONBLOCK O_PATH"
).split():
    if hasattr(os, name):
        delattr(os, name)
for name in "SIGHUP SIGQUIT SIGUSR1 SIGCHLD SIGALRM SIGPIPE SIGTSTP SIGWINCH SIGCONT SIGSTOP".split():
    if hasattr(signal, name):
        delattr(signal, name)
"""
PUBLIC = """
import importlib

for name in sys.argv[1:]:
    package = importlib.import_module(name)
    for public in package.__all__:
        getattr(package, public)
"""
USE = """
from tools_agent import Agent, TestModel
from tools_core import Context, Registry, ToolCall, command, files, tool
from tools_runtime import Executor


@tool
def add(a: int, b: int) -> int:
    "Add."
    return a + b


assert add.call(a=1, b=2, context=Context(timeout=20)).output == 3
assert Executor([add]).call(ToolCall("1", "add", {"a": 1, "b": 2})).output == 3
try:
    Executor([add], runtime="process").call(ToolCall("1", "add", {"a": 1, "b": 2}))
except OSError as error:
    assert 'use runtime="thread"' in str(error)
files.replace("new.txt", b"text")
assert command.main(["call", "tool.py", "x=1"]) == 0
assert command.main(["new", "weather"]) == 0
assert Agent(model=TestModel(), tools=[add]).generate("Add.").outcome == "completed"
print("used")
"""


def run(program, *words, folder):
    return subprocess.run(
        [sys.executable, "-c", program, *words], check=False, capture_output=True, text=True, cwd=folder
    )


@pytest.mark.slow
def test_public_names_need_no_module_of_posix(workspace):
    names = ("tools_core", "tools_scaffold", "tools_testing", "tools_runtime", "tools_agent", "tools_cli")
    done = run(HIDE + PUBLIC, *names, folder=workspace)
    assert done.returncode == 0, done.stderr


def test_tools_runs_and_packages_work_without_posix(workspace):
    (workspace / "tool.py").write_text(
        'from tools_core import tool\n@tool\ndef it(x: int) -> int:\n    "It."\n    return x\n'
    )
    done = run(HIDE + USE, folder=workspace)
    assert done.returncode == 0 and "used" in done.stdout, done.stderr


@pytest.mark.slow
def test_the_tests_of_the_portable_job_are_collected_without_modules_of_posix():
    root = Path(__file__).parents[2]
    job = (root / ".github/workflows/ci.yml").read_text()
    folders = job.rpartition("python -m pytest ")[2].split()
    assert "tests/tools_core" in folders
    collect = "pytest.main([*sys.argv[1:], '--collect-only', '-qq', '-p', 'no:cacheprovider'])"
    done = run(f"import pytest\n{HIDE_MODULES}\nsys.exit({collect})", *folders, folder=root)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
