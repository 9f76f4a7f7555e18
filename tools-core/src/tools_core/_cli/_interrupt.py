"""Ctrl-C during a call: a tool that can be told to end gets the time to say how far it has come."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator
    from types import FrameType

    from tools_core._values._context import Context

_PATIENCE = 4.0  # seconds: what a tool runs may have to be asked to end first, and then be made to


@contextmanager
def cancelled_by_interrupt(context: Context) -> Generator[None]:
    """Cancel the context at the first interrupt; the second one, or no end within some seconds, raises as usual."""
    usual = signal.getsignal(signal.SIGINT)
    if usual is not signal.default_int_handler or threading.current_thread() is not threading.main_thread():
        yield  # somebody has other plans for it
        return
    me = threading.main_thread().ident or 0
    impatient = threading.Timer(_PATIENCE, lambda: signal.pthread_kill(me, signal.SIGINT))
    impatient.daemon = True

    def cancel(_number: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, usual)
        context.cancel()
        impatient.start()

    signal.signal(signal.SIGINT, cancel)
    try:
        yield
    finally:
        impatient.cancel()
        signal.signal(signal.SIGINT, usual)
