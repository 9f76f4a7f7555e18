"""`exchange`: the messages between this process and the MCP server of a tool."""

from __future__ import annotations

import json
import logging
from collections import deque
from contextlib import contextmanager
from time import time
from typing import TYPE_CHECKING, NamedTuple

from tools_studio._snippets import pretty

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from tools_core import Tool

_LOGGER = logging.getLogger("tools_mcp.messages")  # at DEBUG: server, direction and JSON of each message
_MAX_MESSAGES = 200


class Message(NamedTuple):
    """A message as it was sent; `direction` is -> to the server, or <- from it."""

    at: float
    direction: str
    text: str


class _Collector(logging.Handler):
    def __init__(self, server: str, receive: Callable[[Message], object]) -> None:
        super().__init__(logging.DEBUG)
        self._server, self._receive = server, receive

    def emit(self, record: logging.LogRecord) -> None:
        if isinstance(record.args, tuple) and record.args[:1] == (self._server,):
            _, direction, text = map(str, record.args)
            self._receive(Message(time(), direction, _indented(text)))


@contextmanager
def exchange(tool: Tool, notify: Callable[[], object]) -> Generator[deque[Message]]:
    """Collect the messages of a tool's server, the latest ones of many; other calls of the server add theirs."""
    messages: deque[Message] = deque(maxlen=_MAX_MESSAGES)
    module = tool.__module__
    if not module.startswith("mcp:"):
        yield messages
        return

    def receive(message: Message) -> None:
        messages.append(message)
        notify()

    collector = _Collector(module.removeprefix("mcp:"), receive)
    _LOGGER.setLevel(logging.DEBUG)
    _LOGGER.addHandler(collector)
    try:
        yield messages
    finally:
        _LOGGER.removeHandler(collector)


def _indented(text: str) -> str:
    try:
        return pretty(json.loads(text))
    except ValueError:
        return text
