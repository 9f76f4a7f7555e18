"""`Setup`: the state of one toolset, and the wait for its `setup` from several threads and event loops."""

from __future__ import annotations

import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from tools_core._values._errors import ToolError

if TYPE_CHECKING:
    from tools_core._tools._function import FunctionTool


class Setup:
    """The tools of one toolset, and whether its `setup` ran."""

    def __init__(self) -> None:
        self.tools: dict[str, FunctionTool[..., Any]] = {}
        self.is_set_up = False
        self.lock = threading.RLock()
        self._setup: Any = None  # the future of an asynchronous `setup` that is running
        self._loop: Any = None  # its event loop

    @property
    def is_needed(self) -> bool:
        """Return whether `setup` has to run; not for code that it runs itself, such as a tool of its toolset."""
        return not self.is_set_up and self not in _current.get()

    async def is_first(self, caller: object) -> bool:
        """Return whether the caller may run an asynchronous `setup`; if not, wait for the end of the running one.

        Raises: ToolError if the running one needs an event loop that the call blocks.
        """
        import asyncio  # 29 ms; only coroutines need it
        from concurrent.futures import Future  # with it

        with self.lock:
            running = self._setup
            if running is None:
                self._setup, self._loop = Future[None](), asyncio.get_running_loop()
                self._setup.set_running_or_notify_cancel()  # a caller that waits cannot cancel it
                return True
            if self._loop is caller and asyncio.get_running_loop() is not caller:
                raise ToolError("its toolset is being set up in this event loop: use `await tool.acall(...)`")
        await asyncio.wrap_future(running)  # it may run in another event loop
        return False

    def end(self) -> None:
        """Let waiting callers continue; if the `setup` failed, the next of them runs it again."""
        with self.lock:
            running, self._setup, self._loop = self._setup, None, None
        running.set_result(None)


# The toolsets whose `setup` has started the current code.
_current: ContextVar[tuple[Setup, ...]] = ContextVar("current", default=())


@contextmanager
def setting_up(state: Setup) -> Generator[None]:
    token = _current.set((*_current.get(), state))
    try:
        yield
    finally:
        _current.reset(token)


def running_loop() -> object:
    """Return the event loop that runs in this thread; None without one."""
    asyncio = sys.modules.get("asyncio")  # no loop runs before it is imported
    return asyncio._get_running_loop() if asyncio else None
