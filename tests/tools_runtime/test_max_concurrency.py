"""How many calls may run at once is checked in one way, wherever it is said."""

from __future__ import annotations

import sys
from importlib.util import find_spec

import pytest

from tools_core import tool
from tools_runtime import AsyncRuntime, Executor, ProcessRuntime, ThreadRuntime
from tools_runtime.plugins import RateLimit


@tool
def work() -> None:
    """Work."""


def ray(most):
    if find_spec("ray") is None:
        is_tried = sys.version_info < (3, 12)
        pytest.skip("ray is not installed" if is_tried else "Ray is tried on the oldest Python alone")
    from tools_runtime import RayRuntime

    return RayRuntime(max_concurrency=most)


WHERE = {
    "thread": ThreadRuntime,
    "async": AsyncRuntime,
    "process": ProcessRuntime,
    "ray": ray,
    "executor": lambda most: Executor([work], max_concurrency=most, plugins=False),
    "rate limit": lambda most: RateLimit(max_concurrency={"work": most}),
}


@pytest.mark.parametrize("most", [0, -1])
@pytest.mark.parametrize("where", WHERE)
def test_with_less_than_one_no_call_could_run_which_is_refused_at_once(where, most):
    with pytest.raises(ValueError, match=rf"^max_concurrency is 1 or more, or None for no limit; got {most}$"):
        WHERE[where](most)


@pytest.mark.parametrize("where", WHERE)
def test_one_is_enough(where):
    made = WHERE[where](1)
    if where != "rate limit":
        assert made.max_concurrency == 1
        made.close()
