"""`EventDecoder`: the JSON of server-sent events, as servers of models write them."""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from collections.abc import Iterator
from typing import Any

from tools_agent._providers._errors import unreadable
from tools_agent._providers._provider import JsonObject, ProviderError

_IGNORED = (b":", b"event:", b"id:", b"retry:")


class EventDecoder:
    """Pass the bytes of a response to `feed`, then call `end`.

    Some servers separate events by single line breaks, or ignore that the request asks for a stream and send the whole
    reply as JSON, which is returned as one event.

    Attributes:
        is_done: Whether the server has sent `[DONE]`.
    """

    def __init__(self, provider: str, address: str) -> None:
        self.is_done = False
        self._provider = provider
        self._address = address
        self._line = b""  # incomplete
        self._data: list[bytes] = []  # of an event whose JSON is incomplete
        self._other: list[bytes] = []  # lines that are not part of an event
        self._is_empty = True
        self._is_first = True

    def feed(self, data: bytes) -> Iterator[JsonObject]:
        """Yield the events that are complete."""
        *lines, self._line = (self._line + data).split(b"\n")
        for line in lines:
            yield from self._read(line.strip(b"\r"))

    def end(self) -> Iterator[JsonObject]:
        """Yield the last event, or the whole reply. Raises ProviderError for a response that is something else."""
        yield from self._read(self._line.strip(b"\r"))
        if self._data:
            raise self._invalid(b"data: " + b"\n".join(self._data))
        text = b"\n".join(self._other).strip()
        if not self._is_empty or not text:
            return
        body = _parsed(text)
        events = body if isinstance(body, list) else [body]
        if not all(isinstance(event, dict) for event in events):
            raise self._invalid(text)
        yield from events

    def _read(self, line: bytes) -> Iterator[JsonObject]:
        line = line.removeprefix(BOM_UTF8) if self._is_first else line
        self._is_first = False
        if line.startswith((b"data:", b"error: {")):  # the second form is that of llama.cpp
            self._data.append(line.partition(b":")[2].strip())
            text = b"\n".join(self._data)
            if text.strip(b'"').upper() == b"[DONE]":
                self.is_done = True
            elif (event := _parsed(text)) is not None:
                self._is_empty = False
                yield event if isinstance(event, dict) else {"error": event}
            elif text:
                return
            self._data = []
        elif self._data and not line:
            raise self._invalid(b"data: " + b"\n".join(self._data))
        elif line and not line.startswith(_IGNORED):
            self._other.append(line)

    def _invalid(self, text: bytes) -> ProviderError:
        return unreadable(self._provider, self._address, text.decode(errors="replace"))


def _parsed(text: bytes) -> Any:
    """Return the value of JSON text; None for other text."""
    try:
        return json.loads(text.decode(errors="replace"))
    except (RecursionError, ValueError):
        return None
