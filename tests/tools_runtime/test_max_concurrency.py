"""How many calls may run at once is checked in one way, wherever it is said."""

from __future__ import annotations

import re
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


@pytest.mark.parametrize("most", [0, -1, 2.5, "3"])
@pytest.mark.parametrize("where", WHERE)
def test_what_is_no_number_of_calls_is_refused_at_once(where, most):
    told = f"max_concurrency is a whole number, 1 or more, or None for no limit; got {most!r}"
    with pytest.raises(ValueError, match=f"^{re.escape(told)}$"):
        WHERE[where](most)


@pytest.mark.parametrize("where", WHERE)
def test_one_is_enough(where):
    made = WHERE[where](1)
    if where != "rate limit":
        assert made.max_concurrency == 1
        made.close()
