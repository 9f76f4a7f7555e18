"""`Result`: the outcome of a tool call."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from types import MethodType
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload

from tools_core._values._content import BINARY, Block, as_block, block_from_dict
from tools_core._values._errors import ToolError
from tools_core._values._frozen import FrozenDict
from tools_core._values._jsonable import check, clean, dumps, to_json_text
from tools_core._values._problem import show

P = ParamSpec("P")
R = TypeVar("R", bound="Result")
V = TypeVar("V")


class _Factory(Generic[P, V]):
    """A name that creates a Result on the class, and reads a value on an instance: `Result.ok(1)`, `result.ok`."""

    def __init__(self, create: Callable[Concatenate[type[Any], P], Any], read: Callable[[Result], V]) -> None:
        self._create = create
        self._read = read
        self.__doc__ = create.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._create.__name__, self._create.__qualname__ = name, f"Result.{name}"  # for help() and messages

    @overload
    def __get__(self, instance: None, owner: type[R]) -> Callable[P, R]: ...
    @overload
    def __get__(self, instance: Result, owner: type[Result]) -> V: ...
    def __get__(self, instance: Any, owner: Any) -> Any:
        return MethodType(self._create, owner) if instance is None else self._read(instance)


def _success(
    cls: type[Result], data: Any = None, *, content: Any = None, metadata: Mapping[str, Any] | None = None
) -> Result:
    """Return a success. `content` is what the model reads, if that differs from `data`.

    On an instance: whether the tool succeeded. A halt is a success, unless it was created from an error.
    """
    return cls(data, metadata and dict(metadata), content)


def _failure(
    cls: type[Result],
    message: str,
    *,
    type: str = "execution_error",
    metadata: Mapping[str, Any] | None = None,
    exception: BaseException | None = None,
) -> Result:
    """Return a failure; the model reads `message`: what went wrong, and what to do.

    `type` is a tool's own, or one of `validation_error` (the arguments do not fit: send better ones),
    `execution_error` (the tool failed), `timeout_error` (it exceeded its limit), `unknown_tool`,
    `approval_required` (a person has to approve the call first), `answer_required` (the tool asked the user),
    `denied` (a policy or a person denied it),
    `not_found` (what the arguments name does not exist), `conflict` (it exists, or has changed, unexpectedly),
    `limit_exceeded` (too large, too many, too deep), `cancelled` (by the caller), `interrupted` (the run
    was stopped during the call) and `unavailable` (a service or program that it needs is missing or down).

    On an instance: the message of a failure, else None.
    """
    return cls(None, metadata and dict(metadata), str(message), str(getattr(type, "value", type)), exception)


def _message(result: Result) -> str | None:
    """Return the message of a failure, else None."""
    if result._error_type is None:
        return None
    if result._content is None:  # the call was rejected: only reading the message renders it
        result._content = str(result._exception or "")
    return str(result._content)


@dataclass(slots=True, eq=False, repr=False)
class Result:
    """The outcome of a call: an immutable value, true if the call succeeded.

    `Result.ok(data)`, `Result.error(message)`, `Result.halt(data)`, `Result.text(value)` and `Result.json(value)`
    create results. On an instance, `result.ok` is a bool, and `result.error` the message of a failure or None.
    Results are equal if their JSON is.
    """

    # Private fields with read-only properties: a frozen dataclass takes five times as long to create.
    _output: Any = None
    _metadata: Mapping[str, Any] | None = None
    _content: Any = None  # of a failure, the message
    _error_type: str | None = None
    _exception: BaseException | None = None

    ok = _Factory(_success, lambda result: result._error_type is None)
    error = _Factory(_failure, _message)

    @classmethod
    def halt(cls, data: Any = None, *, content: Any = None, metadata: Mapping[str, Any] | None = None) -> Self:
        """Return a success after which the conversation ends; with an error `Result` as `data`, that failure.

        `content` is what the model reads, if that differs from `data`.
        """
        result = data if isinstance(data, cls) else cls(data)
        if content is not None:
            result = replace(result, _content=content)
        return result.with_metadata({**(metadata or {}), "halted": True})

    @classmethod
    def text(cls, value: object) -> Self:
        """Return a success whose output is `str(value)`."""
        return cls(str(value))

    @classmethod
    def json(cls, value: Any) -> Self:
        """Return a success that the model reads as JSON, a plain string included.

        Raises:
            TypeError: A part of the value is not JSON serializable; the message has its type and path.
            ValueError: A number is NaN or infinite.
        """
        check(value, allow_nan=False)
        return cls(value, None, to_json_text(value))

    @property
    def output(self) -> Any:
        """The tool's own value; None for an error."""
        return self._output

    @property
    def error_type(self) -> str | None:
        """One of the documented error types, or the tool's own; None for a success."""
        return self._error_type

    @property
    def exception(self) -> BaseException | None:
        """The exception that the tool raised, for the developer: neither serialized nor compared."""
        return self._exception

    @property
    def metadata(self) -> dict[str, Any]:
        """Further facts about the call; read-only, see `with_metadata`."""
        return FrozenDict(self._metadata or {})

    @property
    def halted(self) -> bool:
        """Return whether the conversation must end after this result."""
        return self._metadata is not None and self._metadata.get("halted") is True

    @property
    def content(self) -> str | tuple[str | Block, ...]:
        """The content that the model reads: text, JSON for structured data, or blocks, with text as `str`."""
        if self._error_type is not None:
            return self.error or ""
        value = self._output if self._content is None else self._content
        if isinstance(value, BINARY):
            return (as_block(value),)
        if isinstance(value, list | tuple) and any(isinstance(item, BINARY) for item in value):
            return tuple(as_block(item) if isinstance(item, BINARY) else _as_text(item) for item in value)
        return _as_text(value)

    def unwrap(self) -> Any:
        """Return the output; for an error, raise what the tool raised, or else a ToolError with the message."""
        if self._error_type is None:
            return self._output
        raise self._exception or ToolError(self.error or "", self._error_type)

    def with_metadata(self, metadata: Mapping[str, Any]) -> Self:
        """Return a copy with more metadata."""
        return replace(self, _metadata={**self.metadata, **metadata})

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON: `ok`, `output`, `error`, `metadata`, for errors `error_type`, and `content` if set."""
        out: dict[str, Any] = {
            "ok": self.ok,
            "output": clean(self._output),
            "error": self.error,
            "metadata": clean(self.metadata),
        }
        if self._error_type is not None:
            out["error_type"] = self._error_type
        elif self._content is not None:
            out["content"] = clean(self._content)
        return out

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Self:
        """Restore a result from the output of `to_dict`; ValueError if `value` has another form."""
        fields: dict[str, Any] = {}
        with suppress(TypeError, ValueError):  # refused below
            fields = dict(value)
        ok, output, content = fields.pop("ok", None), fields.pop("output", None), fields.pop("content", None)
        error, error_type = fields.pop("error", None), fields.pop("error_type", None)
        metadata = fields.pop("metadata", None) or {}
        is_success = ok is True and error is error_type is None
        is_failure = ok is False and isinstance(error, str) and isinstance(error_type, str | None)
        if fields or not (is_success or is_failure) or not isinstance(metadata, Mapping):
            raise ValueError(
                "a result has ok, output, error, error_type, metadata and content, and the text of an error only if "
                f"ok is false; got {show(value)}"
            )
        return cls(
            block_from_dict(output),
            dict(metadata),
            block_from_dict(content) if ok else error,
            None if ok else error_type or "execution_error",
        )

    def to_json(self) -> str:
        """Return `to_dict()` as compact JSON text that UTF-8 can encode."""
        return dumps(self.to_dict())

    def __bool__(self) -> bool:
        return self._error_type is None

    def __str__(self) -> str:
        content = self.content
        return content if isinstance(content, str) else "\n".join(map(str, content))

    def __repr__(self) -> str:
        outcome = f"ok={self._output!r}" if self.ok else f"error={self.error!r}, type={self._error_type!r}"
        return f"<Result {outcome}{', halted' if self.halted else ''}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Result) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def _identity(self) -> str:
        return json.dumps(self.to_dict(), sort_keys=True)  # as text: 1, 1.0 and true are equal in Python

    def __reduce__(self) -> tuple[Any, ...]:
        # Without the exception, which may not be picklable.
        return type(self), (self._output, self._metadata, self.error or self._content, self._error_type)


def _as_text(value: Any) -> str:
    if type(value) is str:
        return value
    if value is None:
        return ""
    text = to_json_text(value)
    if text.startswith('"') and not isinstance(value, str):
        return str(json.loads(text))  # a date or a path alone reads better without quotes
    return text
