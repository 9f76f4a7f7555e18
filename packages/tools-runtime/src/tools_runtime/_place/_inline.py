"""One call after the other, in the calling thread."""

from __future__ import annotations

from tools_runtime._place._runtime import Runtime


class InlineRuntime(Runtime):
    """Makes each call in the thread that asks for its result, and not before it is asked for.

    A coroutine is cancelled at its limit. A synchronous tool cannot be stopped here: it runs to its end, and a result
    that came too late has `metadata["timeout_enforced"]` False. In an event loop synchronous tools run in a worker
    thread, still one after the other, and are abandoned at their limit.
    """

    name = "inline"
    stops = "cancelled"
