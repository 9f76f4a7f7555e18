"""What needs a process of its own: what is imported when, and a cluster that the runtime starts itself."""

import os
import secrets
import subprocess
import sys
import tempfile

import pytest

CLEAN = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
TOKEN = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}


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


HEAD_LOST = """
import os, signal, sys, threading, time
from pathlib import Path
from ray.cluster_utils import Cluster
from tools_core import Context, ToolCall, tool
from tools_runtime import Executor
from tools_runtime._ray import RayRuntime

@tool(idempotent=True)
def sleeps(path: str, seconds: float) -> str:
    Path(path).touch()
    time.sleep(seconds)
    return "slept"

@tool
def new() -> int:
    return 1

folder = Path(sys.argv[1])
small = {"num_cpus": 2, "object_store_memory": 80 * 1024 * 1024, "include_dashboard": False}
cluster = Cluster(initialize_head=True, head_node_args={**small, "temp_dir": sys.argv[2]})
runtime = RayRuntime(cluster.address)
executor = Executor([sleeps, new], runtime=runtime, plugins=False)
outcomes = []

def call(name, limit, **arguments):
    began = time.monotonic()
    result = executor.call(ToolCall("1", name, arguments), Context(timeout=limit))
    took = time.monotonic() - began
    outcomes.append((result.error_type, result.metadata.get("crash")))
    if took > limit + 0.5 or result.is_ok:
        print(name, limit, took, result)

assert executor.call(ToolCall("0", "sleeps", {"path": str(folder / "0"), "seconds": 0}), Context(timeout=60)).is_ok
running = threading.Thread(target=call, args=("sleeps", 4.0), kwargs={"path": str(folder / "1"), "seconds": 600})
running.start()
while not (folder / "1").exists():
    time.sleep(0.01)
(head,) = cluster.head_node.all_processes["gcs_server"]
os.kill(head.process.pid, signal.SIGKILL)
call("new", 2.0)
call("sleeps", 2.0, path=str(folder / "2"), seconds=600)
running.join()
while runtime._cluster._is_ours:  # until the loss is certain
    call("sleeps", 2.0, path=str(folder / "3"), seconds=600)
call("new", 2.0)
call("sleeps", 2.0, path=str(folder / "4"), seconds=600)
print({error_type for error_type, _ in outcomes} <= {"unavailable", "timeout_error"})
print(("unavailable", "head lost") in outcomes)
runtime.close()
print({thread.name for thread in threading.enumerate() if not thread.daemon})
cluster.shutdown()
print("ended")
"""


def run_with_cluster(program, tmp_path, **environment):
    path = tmp_path / "program.py"
    path.write_text(program)
    with tempfile.TemporaryDirectory(prefix="ray", dir="/tmp") as folder:
        return subprocess.run(
            [sys.executable, str(path), str(tmp_path), folder],
            capture_output=True,
            text=True,
            timeout=120,
            env={**CLEAN, "HOME": str(tmp_path), "RAY_USAGE_STATS_ENABLED": "0", **TOKEN, **environment},
            check=False,
        )


@pytest.mark.slow
def test_without_the_head_of_the_cluster_each_call_ends_in_time_and_so_does_the_process(tmp_path, ray_is_there):
    done = run_with_cluster(HEAD_LOST, tmp_path)
    assert done.stdout.splitlines() == ["True", "True", "{'MainThread'}", "ended"], done.stderr[-3000:]
    assert done.returncode == 0


HOARDS = """
import sys, time
from ray.cluster_utils import Cluster
from tools_core import Context, ToolCall, tool
from tools_runtime import Executor
from tools_runtime._ray import RayRuntime

@tool(idempotent=True)
def hoards() -> None:
    kept = []
    while True:
        kept.append(bytearray(1 << 20))
        time.sleep(0.01)

small = {"num_cpus": 1, "object_store_memory": 80 * 1024 * 1024, "include_dashboard": False}
cluster = Cluster(initialize_head=True, head_node_args={**small, "temp_dir": sys.argv[2]})
with RayRuntime(cluster.address) as runtime:
    result = Executor([hoards], runtime=runtime, plugins=False).call(ToolCall("1", "hoards"), Context(timeout=60))
print(result.error_type, dict(result.metadata))
print(result.error_message)
cluster.shutdown()
"""


@pytest.mark.slow
def test_a_call_that_ray_ends_for_want_of_memory_says_so_and_is_not_made_again(tmp_path, ray_is_there):
    low = {"RAY_memory_usage_threshold": "0.01", "RAY_memory_monitor_refresh_ms": "100"}  # which Ray alone exceeds
    done = run_with_cluster(HOARDS, tmp_path, **low)
    assert done.stdout.splitlines() == [
        "limit_exceeded {'crash': 'out of memory'}",
        "the node had no memory left, and Ray ended the call, which may have had effects",
    ], done.stderr[-3000:]
