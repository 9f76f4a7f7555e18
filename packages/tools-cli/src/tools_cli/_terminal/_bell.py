"""A signal when a person is away and something waits for them: the bell, or a notification of the desktop."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from threading import Timer
from typing import TYPE_CHECKING, TextIO

from tools_cli._settings import agent_setting

if TYPE_CHECKING:
    import asyncio

WAIT = 5.0  # seconds without a key after which the signal is sent
_TEXT = "ask-tools waits for you"
_OSC_9 = ("iTerm.app", "WezTerm", "ghostty", "WarpTerminal", "kitty")
_OSC_777 = ("foot", "rxvt")


def signal_of(notify: str) -> str:
    """Return the characters that a terminal takes as a signal, for a value of the setting `notify`.

    Terminals that are not known to show notifications, and terminals inside of tmux or screen, get the bell.
    """
    if notify == "off":
        return ""
    name = os.environ.get("TERM_PROGRAM", "")
    terminal = os.environ.get("TERM", "")
    if notify == "desktop" and name != "tmux" and not terminal.startswith(("tmux", "screen")):
        if name in _OSC_9 or terminal in ("xterm-kitty", "xterm-ghostty"):
            return f"\x1b]9;{_TEXT}\x07"
        if terminal.startswith(_OSC_777) or "VTE_VERSION" in os.environ:
            return f"\x1b]777;notify;ask-tools;{_TEXT}\x07"
    return "\a"


class Alarm:
    """Sends the signal of the user's settings to a terminal after a while without a key."""

    def __init__(self, loop: asyncio.AbstractEventLoop, stream: TextIO) -> None:
        self._loop, self._stream = loop, stream
        self._signal = signal_of(agent_setting("notify", "bell"))
        self._timer: asyncio.TimerHandle | None = None

    def set(self) -> None:
        """Begin to wait."""
        self.cancel()
        self._timer = self._loop.call_later(WAIT, self._send)

    def cancel(self) -> None:
        """Do not send the signal: the user is there."""
        if self._timer is not None:
            self._timer.cancel()

    def _send(self) -> None:
        self._stream.write(self._signal)
        self._stream.flush()


@contextmanager
def signal_after_wait(write: Callable[[str], object]) -> Generator[None]:
    """Write the signal of the user's settings if the block takes long."""
    timer = Timer(WAIT, write, [signal_of(agent_setting("notify", "bell"))])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
