"""A cluster of two nodes on this machine, for all tests."""

import os
import secrets
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SETTINGS = {
    "RAY_AUTH_MODE": "token",  # no other user of this machine gets in
    "RAY_AUTH_TOKEN": secrets.token_hex(32),
    "RAY_USAGE_STATS_ENABLED": "0",
    "PYTHONPATH": os.pathsep.join([str(HERE / "modules"), str(HERE.parent / "kits")]),
    "PYTHONWARNINGS": "ignore",
    # A lost node is noticed within a few seconds.
    "RAY_health_check_period_ms": "500",
    "RAY_health_check_timeout_ms": "1000",
    "RAY_health_check_failure_threshold": "3",
}


@pytest.fixture(scope="session")
def cluster():
    """Return a cluster at the address in `RAY_ADDRESS`."""
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory(prefix="ray", dir="/tmp") as folder:
        for name, value in SETTINGS.items():
            patch.setenv(name, value)  # Ray reads them during its import
        patch.setenv("RAY_TMPDIR", folder)
        patch.syspath_prepend(HERE / "modules")
        if find_spec("ray") is None:
            pytest.skip("ray is not installed" if sys.version_info < (3, 12) else "Ray is tested on Python 3.11 alone")
        import ray
        from ray.cluster_utils import Cluster

        small = {"object_store_memory": 80 << 20, "include_dashboard": False}
        cluster = Cluster(
            initialize_head=True,
            head_node_args={**small, "num_cpus": 2, "resources": {"first": 4}},
        )
        cluster.second = cluster.add_node(**small, num_cpus=1, resources={"second": 4})
        patch.setenv("RAY_ADDRESS", cluster.address)
        yield cluster
        ray.shutdown()
        cluster.shutdown()


@pytest.fixture(scope="session")
def tools(cluster):
    import tools_of_ray_tests

    return tools_of_ray_tests


@pytest.fixture(scope="session")
def runtime(cluster):
    from tools_ray import RayRuntime

    with RayRuntime(num_cpus=0.5) as ray_runtime:
        yield ray_runtime


@pytest.fixture
def call(runtime, tools):
    """Run a call of a tool, or of the tool with this name."""
    from tools_runtime import Executor

    def call(tool, arguments=None, context=None, using=runtime, **options):
        tool = getattr(tools, tool) if isinstance(tool, str) else tool
        with Executor([tool], runtime=using, plugins=False, **{"default_timeout": 60.0, **options}) as executor:
            return executor.call_tool(tool.name, arguments or {}, context)

    return call
