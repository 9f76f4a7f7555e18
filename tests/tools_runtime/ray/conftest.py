"""A real cluster of two nodes on this machine, for all tests of a session."""

import os
import signal
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest

TOOLS = '''
import asyncio, os, signal, sys, threading, time
from pathlib import Path
from tools_core import Context, tool

def note(path):
    with open(path, "a") as file:
        file.write(f"{os.getpid()}\\n")

@tool(read_only=True)
def add(a: int, b: int = 1) -> int:
    """Add."""
    return a + b

@tool
def whoami() -> str:
    """Tell the node."""
    import ray
    return ray.get_runtime_context().get_node_id()

elsewhere = tool(whoami, name="elsewhere")

@tool
def elsewhere_large(size: int) -> str:
    """A text."""
    return size * "x"

@tool
def sleeps(path: str, seconds: float) -> str:
    """Tell the process, and sleep."""
    note(path)
    time.sleep(seconds)
    return "slept"

@tool(idempotent=True)
def once_killed(path: str) -> str:
    """Die the first time, safe to repeat."""
    note(path)
    if len(Path(path).read_text().split()) == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return "done"

@tool
def unsafe(path: str) -> str:
    """Die each time."""
    note(path)
    os.kill(os.getpid(), signal.SIGKILL)

@tool(idempotent=True)
def always_killed(path: str) -> str:
    """Die each time, safe to repeat."""
    note(path)
    os.kill(os.getpid(), signal.SIGKILL)

@tool(read_only=True)
def patient(path: str) -> str:
    """The first time it waits for ever, afterwards it tells the node."""
    import ray
    note(path)
    if len(Path(path).read_text().split()) == 1:
        time.sleep(600)
    return ray.get_runtime_context().get_node_id()

@tool
def patient_unsafe(path: str) -> str:
    """Wait for ever."""
    note(path)
    time.sleep(600)

@tool
def ends(how: str) -> str:
    """End the process."""
    if how == "exit":
        os._exit(3)
    if how == "system exit":
        sys.exit(3)
    if how == "segfault":
        import ctypes
        ctypes.string_at(0)
    return ""

@tool
def holds() -> int:
    """Hold the interpreter lock in C."""
    return sum(range(10**11))

@tool
def swallows() -> None:
    """Swallow every exception."""
    while True:
        try:
            time.sleep(0.01)
        except BaseException:
            pass

@tool
def clings(path: str) -> None:
    """Tell the process, and swallow every exception."""
    note(path)
    swallows.__wrapped__()

@tool
async def sleepy() -> None:
    """Sleep as a coroutine."""
    await asyncio.sleep(600)

@tool
def bug() -> None:
    """Have a mistake."""
    undefined_name

@tool
def reports(context: Context, gate: str) -> str:
    """Report, and go on when the caller has heard it."""
    context.progress(1, 3, "one")
    while not os.path.exists(gate):
        time.sleep(0.01)
    context.progress(2, 3, "two")
    return context.state["traceparent"]

@tool
def looks(context: Context, key: str) -> str:
    """Look an item up."""
    left = context.remaining
    assert left is not None and 0 < left <= 30, left
    return str(context.state[key])
'''


def wait_for(found, seconds=30.0):
    """Poll until there is something."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = found()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError("did not happen")


def is_running(pid):
    """Whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def descendants(pid):
    """All processes below one."""
    below = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (FileNotFoundError, ProcessLookupError):
                continue
            below.setdefault(parent, []).append(int(entry.name))
    found, open_ = [], [pid]
    while open_:
        children = below.get(open_.pop(), [])
        found += children
        open_ += children
    return found


@pytest.fixture(scope="session")
def kit():
    return SimpleNamespace(wait_for=wait_for, is_running=is_running, descendants=descendants)


@pytest.fixture(scope="session")
def modules():
    """The folder with a module of tools that workers can import."""
    with tempfile.TemporaryDirectory(prefix="tr") as folder:
        Path(folder, "ray_tools_of_tests.py").write_text(TOOLS)
        yield folder


@pytest.fixture(scope="session")
def ray_is_there():
    """Skips without Ray; it is not imported for that, because it then reads how its clients prove who they are."""
    if find_spec("ray") is None:
        is_tried = sys.version_info < (3, 12)
        pytest.skip("ray is not installed" if is_tried else "Ray is tried on the oldest Python alone")


@pytest.fixture(scope="session")
def cluster(modules, ray_is_there):
    """Two nodes; everything that was started is gone afterwards."""
    import secrets

    before = set(descendants(os.getpid()))
    kept = dict(os.environ)
    environment = {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
        "RAY_USAGE_STATS_ENABLED": "0",
        "PYTHONPATH": modules,
        "PYTHONWARNINGS": "ignore",
        # A lost node is noticed within a second or two.
        "RAY_health_check_period_ms": "500",
        "RAY_health_check_timeout_ms": "1000",
        "RAY_health_check_failure_threshold": "3",
    }
    os.environ.update(environment)
    sys.path.insert(0, modules)
    # Only now: Ray reads these as it is imported.
    ray = pytest.importorskip("ray", reason="ray is not installed")
    from ray.cluster_utils import Cluster

    small = {"num_cpus": 2, "object_store_memory": 80 * 1024 * 1024}
    folder = tempfile.TemporaryDirectory(prefix="ray", dir="/tmp")
    made = Cluster(
        initialize_head=True,
        head_node_args={**small, "resources": {"first": 4}, "include_dashboard": False, "temp_dir": folder.name},
    )
    made.add_node(**{**small, "num_cpus": 1}, resources={"second": 4})
    ray.init(made.address, log_to_driver=False, configure_logging=False)
    yield made
    ray.shutdown()
    started = set(descendants(os.getpid())) - before
    made.shutdown()
    for pid in started:
        if is_running(pid) and pid in descendants(os.getpid()):
            os.kill(pid, signal.SIGKILL)
    os.environ.clear()
    os.environ.update(kept)
    sys.path.remove(modules)
    folder.cleanup()


@pytest.fixture(scope="session")
def tools(cluster):
    import ray_tools_of_tests

    return ray_tools_of_tests


@pytest.fixture(scope="session")
def runtime(cluster):
    from tools_runtime._ray import RayRuntime

    with RayRuntime(
        resources={
            "elsewhere": {"resources": {"second": 1}},
            "elsewhere_large": {"resources": {"second": 1}},
            "whoami": {"resources": {"first": 1}},
        }
    ) as made:
        yield made


@pytest.fixture
def make(runtime, tools):
    """Make one call."""
    from tools_core import ToolCall
    from tools_runtime import Executor

    def call(name, arguments=None, context=None, using=runtime, **options):
        executor = Executor([getattr(tools, name)], runtime=using, plugins=False, **options)
        return executor.call(ToolCall("call_1", name, arguments or {}), context)

    return call
