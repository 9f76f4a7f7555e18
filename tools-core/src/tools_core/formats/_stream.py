"""`Stream`: the calls of a streamed answer, assembled from its chunks."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field
from typing import Any

from tools_core._values._tool_call import ToolCall


class AnswerError(ValueError):
    """An answer that failed or was cut off: do not run its calls."""


@dataclass(frozen=True, slots=True)
class CallDelta:
    """An addition to the call at `index`: an id and a name of the wire, or text of its arguments."""

    index: int
    id: str | None
    name: str | None
    arguments: str


class Stream:
    """Feed every chunk of one answer, as the provider or its SDK sends it, then read `calls`."""

    def __init__(self, read: Callable[[Stream, Any], None], finish: Callable[[list[Any]], list[ToolCall]]) -> None:
        self._read = read
        self._finish = finish
        self._parts: list[_Part] = []
        self._open: dict[Any, _Part] = {}
        self._deltas: list[CallDelta] = []
        self._end: str | None = None
        self._is_cut = False
        self.complete_keys: set[Any] = set()  # of calls without further parts

    def feed(self, chunk: Any) -> list[CallDelta]:
        """Read one chunk, and return what it adds to calls.

        Raises TypeError for anything but a chunk, and AnswerError if it reports a failure.
        """
        self._deltas = []
        chunk = data(chunk)
        if (failure := failure_of(chunk)) is not None:
            raise AnswerError(failure)
        self._read(self, chunk)
        return self._deltas

    @property
    def calls(self) -> list[ToolCall]:
        """The calls of the complete answer; AnswerError if it is incomplete.

        An answer that ended at a limit is complete unless it ended inside a call.
        """
        if self._end is None:
            last = f" (last call: {self._parts[-1]})" if self._parts else ""
            raise AnswerError(f"the stream has not ended{last}; feed all of its chunks, or ask the model again")
        partial = next((part for part in self._parts if self._is_cut and not part.is_complete()), None)
        if partial:
            raise AnswerError(f"the answer was cut off ({self._end}) in the call {partial}; raise the limit")
        return self._finish([(part.id, part.name, part.arguments) for part in self._parts])

    @property
    def members(self) -> list[dict[str, Any]]:
        """Other members of each call, such as signatures."""
        return [part.members for part in self._parts]

    def begin(self, key: Any, id: object, name: str, arguments: Any = None) -> None:
        """Start the call that later chunks identify by `key`; complete arguments replace earlier parts."""
        id_ = _text_id(id)
        part = next((part for part in self._parts if (part.key, part.id) == (key, id_)), None) or self._open.get(key)
        if part is not None and id_ and part.id not in (None, id_) and part.is_complete():  # one key for all calls
            part = self._open[key] = self._start((key, id_))
        part = part or self._start(key)
        self._set_name(part, id_, name)
        self._replace(part, arguments)

    def replace(self, key: Any, arguments: Any) -> None:
        """Replace the text of a call by its complete arguments; those of other items are ignored."""
        if key in self._open:
            self._replace(self._open[key], arguments)

    def _replace(self, part: _Part, arguments: Any) -> None:
        if arguments is not None and (arguments != "" or not part.texts):
            if not part.arguments:
                self._report(part, arguments=_as_text(arguments))
            part.value, part.texts = arguments, []

    def add(self, key: Any, text: str) -> None:
        """Add text to the arguments of a call; text of other items is ignored.

        Some servers begin with `{}`, whatever follows, or repeat all text so far in each piece.
        """
        part = self._open.get(key)
        if part is None:
            return
        if part.texts == ["{}"] and text.lstrip().startswith("{"):
            part.texts = []
        elif part.texts and text.startswith(part.texts[0]):
            so_far = "".join(part.texts)
            text = text.removeprefix(so_far) if len(so_far) > 1 else text
        if text:
            part.texts.append(text)
            self._report(part, arguments="" if part.texts == ["{}"] else text)

    def piece(self, key: Any, id: object, name: str, arguments: Any, members: Mapping[str, Any] | None = None) -> None:
        """Read a piece of a call, whatever identifies it; `members` are its other members.

        Some servers repeat the id and the name in each piece, give all calls one key, or send neither keys nor ids.
        """
        id_, text = _text_id(id), _as_text(arguments)
        part = self._find(key, id_, name)
        key = key if part is None else part.key
        if part is not None and id_ and part.id not in (None, id_):
            same = next((other for other in self._parts if other.key == key and other.id == id_), None)
            if same is None and not name and not part.is_complete():
                id_ = None  # a new id in each piece
            else:
                part = same
        elif part is not None and name not in ("", part.name):
            part = None
        elif part is not None and (name or part.is_named_again) and part.is_complete():
            if id_ and text == _as_text(part.arguments):
                return  # a repetition of the whole call
            part.is_named_again = not text.strip()
            part = part if part.is_named_again else self._start(key, part.name)
        if part is None and (name or id_):
            part = self._start(key)
        if part is not None:
            self._open[key] = part
            self._set_name(part, id_, name)
            part.members |= members or {}
            self.add(key, text)

    def find(self, id: object, name: str, arguments: Any, used: Container[Any]) -> tuple[Any, str | None] | None:
        """Return the key and the id of a call that comes again, which may have another id, unless its key is used."""
        parts = [part for part in self._parts if part.key not in used]
        same_id = (part for part in parts if part.id and part.id == _text_id(id))
        same_call = (part for part in parts if part.name == name and _value_of(part.arguments) == _value_of(arguments))
        part = next(same_id, None) or next(same_call, None)
        return None if part is None else (part.key, part.id)

    def end(self, reason: str, *, is_cut: bool = False) -> None:
        """Record the end of the answer; `is_cut` if a limit ended it."""
        self._end, self._is_cut = reason, is_cut

    def _find(self, key: Any, id: str | None, name: str) -> _Part | None:
        """Return the last call with a key; for a piece without a key, the call with its id, or the last one."""
        part = self._open.get(key)
        if part is None and key is None and (id or not name):
            return next((part for part in reversed(self._parts) if id in (None, part.id)), None)
        if part is None and not (id or name) and self._parts and not self._parts[-1].is_complete():
            return self._parts[-1]  # the rest of a call whose earlier pieces have another key
        return part

    def _start(self, key: Any, name: str = "") -> _Part:
        part = self._open[key] = _Part(key, len(self._parts), name=name)
        self._parts.append(part)
        if name:
            self._report(part, name=name)
        return part

    def _set_name(self, part: _Part, id: str | None, name: str) -> None:
        is_new = (id or part.id) != part.id or (name or part.name) != part.name
        part.id, part.name = id or part.id, name or part.name
        if is_new:
            self._report(part, id=part.id, name=part.name or None)

    def _report(self, part: _Part, id: str | None = None, name: str | None = None, arguments: str = "") -> None:
        if id or name or arguments:
            self._deltas.append(CallDelta(part.index, id, name, arguments))


@dataclass
class _Part:
    """A call whose arguments are still arriving."""

    key: Any
    index: int
    id: str | None = None
    name: str = ""
    value: Any = None
    texts: list[str] = field(default_factory=list)
    members: dict[str, Any] = field(default_factory=dict)
    is_named_again: bool = False  # after its arguments were complete: more text is another call

    @property
    def arguments(self) -> Any:
        return "".join(self.texts) or self.value

    def is_complete(self) -> bool:
        """Return whether the arguments are complete; empty ones may not have arrived."""
        arguments = self.arguments
        try:
            return isinstance(json.loads(arguments), dict) if isinstance(arguments, str) else bool(arguments)
        except (RecursionError, ValueError):
            return False

    def __str__(self) -> str:
        return f"`{self.name}`" + (f", {self.id}" if self.id else "")


def failure_of(answer: Any) -> str | None:
    """Return what a provider says about a failure, in any of the shapes that servers use; None for an answer."""
    if not isinstance(answer, Mapping):
        return None
    kind, error = answer.get("type") or answer.get("object"), answer.get("error")
    if error and kind not in ("message", "tool_use"):
        body = error
    elif kind in ("error", "response.failed"):
        body = (answer.get("response") or {}).get("error") or answer
    elif set(answer) == {"detail"}:
        body = answer["detail"]
    else:
        return None
    body = data(body)
    message = (body.get("message") or body.get("detail")) if isinstance(body, Mapping) else body
    text = message if isinstance(message, str) else json.dumps(body, default=str)
    return f"the provider failed: {text}"


def check_cut(reason: object, name: str, arguments: Any) -> None:
    """Raise AnswerError if an answer that ended at a limit has incomplete arguments in its last call."""
    if not _Part(None, 0, value=arguments).is_complete():
        raise AnswerError(f"the answer was cut off ({reason}) in the call `{name}`; raise the limit")


def _text_id(id: object) -> str | None:
    """Return an id as text: some servers number their calls, or send empty ids."""
    return None if id in (None, "") else str(id)


def _as_text(arguments: Any) -> str:
    """Return arguments as JSON text; some servers send them as an object."""
    return arguments if isinstance(arguments, str) else "" if arguments is None else json.dumps(arguments)


def _value_of(arguments: Any) -> Any:
    """Return the JSON value of arguments, which may have other spaces each time, or the text if it is not JSON."""
    try:
        return json.loads(arguments) if isinstance(arguments, str) else arguments or {}
    except (RecursionError, ValueError):
        return arguments.strip() or {}


def data(value: Any) -> Any:
    """Return the dict of an SDK's object; anything else unchanged."""
    return value.model_dump(warnings=False) if hasattr(value, "model_dump") else value
