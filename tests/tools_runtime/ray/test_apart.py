"""What needs a process of its own: what is imported when, and a cluster that the runtime starts itself."""

import os
import subprocess
import sys

import pytest

CLEAN = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}


def run(program, **environment):
    return subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=120,
        env={**CLEAN, **environment},
        check=False,
    )


def test_ray_is_not_imported_before_it_is_used():
    program = "import sys, tools_runtime, tools_runtime._ray; print('ray' in sys.modules)"
    assert run(program).stdout == "False\n"


def test_without_ray_the_error_names_what_to_install():
    program = """
import sys
sys.modules.pop("ray", None)
class Without:
    def __init__(self, finder):
        self.finder = finder
    def find_spec(self, name, path=None, target=None):
        return None if name == "ray" else self.finder.find_spec(name, path, target)
sys.meta_path[:] = map(Without, sys.meta_path)
from tools_runtime._ray import RayRuntime
try:
    RayRuntime()
except ImportError as error:
    print(error)
"""
    done = run(program)
    assert "pip install 'tools-runtime[ray]'" in done.stdout, done.stderr


OWN = """
import os, subprocess, sys, threading, time
from pathlib import Path
from tools_core import ToolCall, threads, tool
from tools_runtime import Executor
from tools_runtime._ray import RayRuntime

@tool
def double(number: int) -> int:
    return 2 * number

def below(pid):
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if int((entry / "stat").read_text().rpartition(")")[2].split()[1]) == pid:
                    found += [int(entry.name), *below(int(entry.name))]
            except OSError:
                pass
    return found

threads._IDLE_SECONDS = 0.2  # the thread in which the first call connects ends soon; what it started goes on
with RayRuntime() as runtime:
    executor = Executor([double], runtime=runtime, plugins=False)
    print(executor.call(ToolCall("1", "double", {"number": 4})).output)
    import ray
    address = ray.get_runtime_context().gcs_address
    ask = "C(address=%r).internal_kv_get(b'x', None)" % address
    client = f"from ray._raylet import GcsClient as C; {ask}; print('let in')"
    stranger = {k: v for k, v in os.environ.items() if not k.startswith("RAY_")}
    alone = {**stranger, "HOME": "/nonexistent"}
    done = subprocess.run([sys.executable, "-c", client], env=alone, capture_output=True, text=True, timeout=90)
    print("let in" in done.stdout, "token" in done.stderr.lower())
    print({thread.name for thread in threading.enumerate()} & {"tools-core worker"} or "alone")
    print(executor.call(ToolCall("2", "double", {"number": 5})).output)
    started = below(os.getpid())
end = time.monotonic() + 20
def running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
while any(map(running, started)) and time.monotonic() < end:
    time.sleep(0.1)
print(len(started) > 3, sum(map(running, started)))
print((Path.home() / ".ray").exists())
"""


@pytest.mark.slow
def test_a_cluster_of_its_own_lets_nobody_in_without_its_token_and_ends_with_it(tmp_path, ray_is_there):
    program = tmp_path / "program.py"
    program.write_text(OWN)
    done = subprocess.run(
        [sys.executable, str(program)],
        capture_output=True,
        text=True,
        timeout=150,
        env={**CLEAN, "HOME": str(tmp_path)},
        check=False,
    )
    assert done.stdout.split("\n")[:6] == ["8", "False True", "alone", "10", "True 0", "False"], done.stderr[-3000:]
