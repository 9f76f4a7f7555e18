"""`Result`: what every call of a tool returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MethodType
from typing import Any, Concatenate, Generic, NoReturn, ParamSpec, Self, TypeVar, overload

from tools_core._values._content import Block, File, block_from_dict
from tools_core._values._errors import ToolError
from tools_core._values._frozen import FrozenDict
from tools_core._values._problem import show

EMPTY: Mapping[str, Any] = FrozenDict()
P = ParamSpec("P")
R = TypeVar("R", bound="Result")
V = TypeVar("V")


class _Factory(Generic[P, V]):
    """A name that makes a Result on the class, and reads a value on an instance: `Result.ok(1)`, `result.ok`."""

    def __init__(self, make: Callable[Concatenate[type[Any], P], Any], read: Callable[[Result], V]) -> None:
        self._make = make
        self._read = read
        self.__doc__ = make.__doc__

    @overload
    def __get__(self, instance: None, owner: type[R]) -> Callable[P, R]: ...
    @overload
    def __get__(self, instance: Result, owner: type[Result]) -> V: ...
    def __get__(self, instance: Any, owner: Any) -> Any:
        return MethodType(self._make, owner) if instance is None else self._read(instance)


def _only_on_the_class(name: str, instead: str) -> Callable[[Result], NoReturn]:
    def refuse(_: Result) -> NoReturn:
        raise AttributeError(f"Result.{name}(...) makes a result; on a result, use {instead}")

    return refuse


def _make_ok(
    cls: type[Result], data: Any = None, *, content: Any = None, metadata: Mapping[str, Any] | None = None
) -> Result:
    """Return a success. `content` is what the model reads, where that differs from `data`.

    On an instance: whether the tool did what it was asked. A halt is ok, too.
    """
    return cls._make(True, data, _frozen(metadata), content)


def _make_error(
    cls: type[Result],
    message: str,
    *,
    type: str = "execution_error",
    metadata: Mapping[str, Any] | None = None,
    exception: BaseException | None = None,
) -> Result:
    """Return a failure; the model reads `message`: what was wrong and what would work.

    `type` is a tool's own, or one of `validation_error` (the arguments do not fit: send better ones),
    `execution_error` (the tool failed), `timeout_error` (it did not end within its limit), `unknown_tool`,
    `approval_required` (a person has to approve the call first), `denied` (a policy or a person denied it),
    `not_found` (what the arguments name does not exist), `conflict` (it exists, or has changed, where it should
    not), `limit_exceeded` (too large, too many, too deep), `cancelled` (by the caller), `interrupted` (the run
    was stopped before the call ended) and `unavailable` (what it needs is not there now).

    On an instance: the message of a failure, else None.
    """
    return cls._make(False, None, _frozen(metadata), None, str(message), str(getattr(type, "value", type)), exception)


def _read_error(result: Result) -> str | None:
    if result._error is None and not result._ok:  # that of its exception, rendered when it is read
        result._error = str(result._exception)
    return result._error


def _make_halt(
    cls: type[Result], data: Any = None, *, content: Any = None, metadata: Mapping[str, Any] | None = None
) -> Result:
    """Return a success after which the conversation ends; an error `Result` as `data` ends it with that failure."""
    halted = {**(metadata or EMPTY), "halted": True}
    if isinstance(data, cls):
        return data.with_metadata(halted)
    return cls._make(True, data, _frozen(halted), content)


def _make_text(cls: type[Result], value: Any) -> Result:
    """Return a success whose output is `str(value)`."""
    return cls._make(True, str(value))


def _make_json(cls: type[Result], value: Any) -> Result:
    """Return a success that the model reads as JSON, a plain string included."""
    from tools_core._values._jsonable import to_json_text  # results of plain text never need it

    return cls._make(True, value, EMPTY, to_json_text(value))


class Result:
    """The outcome of a call: a frozen value, true if the call was ok.

    On the class, `Result.ok(data)`, `Result.error(message)`, `Result.halt(data)`, `Result.text(x)` and
    `Result.json(x)` make results. On an instance, `result.ok` is a bool, and `result.error` the message of a failure
    or None. Results are equal when they serialise alike.
    """

    __slots__ = ("_content", "_error", "_error_type", "_exception", "_metadata", "_ok", "_output")

    _ok: bool
    _output: Any
    _metadata: Mapping[str, Any]
    _content: Any
    _error: str | None
    _error_type: str | None
    _exception: BaseException | None

    ok = _Factory(_make_ok, lambda result: result._ok)
    error = _Factory(_make_error, _read_error)
    halt = _Factory(_make_halt, _only_on_the_class("halt", "`halted`"))
    text = _Factory(_make_text, _only_on_the_class("text", "`content` or str(result)"))
    json = _Factory(_make_json, _only_on_the_class("json", "`to_json()`"))

    def __init__(self) -> None:
        raise TypeError(
            "a Result is made by Result.ok(data), Result.error(message), Result.halt(data), .text(x) or .json(x)"
        )

    @classmethod
    def _make(
        cls,
        ok: bool,
        output: Any = None,
        metadata: Mapping[str, Any] = EMPTY,
        content: Any = None,
        error: str | None = None,
        error_type: str | None = None,
        exception: BaseException | None = None,
    ) -> Self:
        made = object.__new__(cls)
        made._ok = ok
        made._output = output
        made._metadata = metadata
        made._content = content
        made._error = error
        made._error_type = error_type
        made._exception = exception
        return made

    @property
    def output(self) -> Any:
        """The tool's own value; None for an error."""
        return self._output

    @property
    def error_type(self) -> str | None:
        """One of the documented error types, or the tool's own."""
        return self._error_type

    @property
    def metadata(self) -> Mapping[str, Any]:
        """Further facts about the call; read-only."""
        return self._metadata

    @property
    def exception(self) -> BaseException | None:
        """The exception that the tool raised, for the developer: not serialised, and not compared."""
        return self._exception

    @property
    def halted(self) -> bool:
        """Return whether the conversation must end after this result."""
        return self._metadata.get("halted") is True

    @property
    def content(self) -> str | tuple[str | Block, ...]:
        """The content that the model reads: text, JSON for structured data, or blocks, with text as `str`."""
        if not self._ok:
            return self.error or ""
        value = self._output if self._content is None else self._content
        if isinstance(value, _BINARY):
            return (_as_block(value),)
        if isinstance(value, list | tuple) and any(isinstance(item, _BINARY) for item in value):
            return tuple(_as_block(item) if isinstance(item, _BINARY) else _as_text(item) for item in value)
        return _as_text(value)

    def unwrap(self) -> Any:
        """Return the output; for an error, raise what the tool raised, or else a ToolError with the message."""
        if self._ok:
            return self._output
        raise self._exception or ToolError(self.error or "", self._error_type or "execution_error")

    def with_metadata(self, more: Mapping[str, Any]) -> Self:
        """The same result with `more` metadata."""
        return self._make(
            self._ok, self._output, _frozen({**self._metadata, **more}), self._content,
            self.error, self._error_type, self._exception,
        )  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON: `ok`, `output`, `error`, `metadata`, for errors `error_type`, and `content` if it was set."""
        from tools_core._values._jsonable import clean  # only what is stored or sent is serialised

        out: dict[str, Any] = {
            "ok": self._ok,
            "output": clean(self._output),
            "error": self.error,
            "metadata": clean(self._metadata),
        }
        if self._error_type is not None:
            out["error_type"] = self._error_type
        if self._content is not None:
            out["content"] = clean(self._content)
        return out

    @classmethod
    def from_dict(cls, value: Any) -> Self:
        """The result that `to_dict` was taken from; ValueError when `value` is not of that form."""
        known = {"ok", "output", "error", "metadata", "error_type", "content"}
        metadata = (value.get("metadata") or {}) if isinstance(value, Mapping) else None
        is_of_form = isinstance(metadata, Mapping) and isinstance(value.get("ok"), bool) and value.keys() <= known
        if not is_of_form:
            raise ValueError(
                f"a result has ok (true or false) and may have {', '.join(sorted(known - {'ok'}))}; got {show(value)}"
            )
        output, content = block_from_dict(value.get("output")), block_from_dict(value.get("content"))
        return cls._make(value["ok"], output, _frozen(metadata), content, value.get("error"), value.get("error_type"))

    def to_json(self) -> str:
        """`to_dict()` as compact JSON text that UTF-8 can carry."""
        from tools_core._values._jsonable import dumps  # only what is stored or sent is serialised

        return dumps(self.to_dict())

    def __bool__(self) -> bool:
        return self._ok

    def __str__(self) -> str:
        content = self.content
        return content if isinstance(content, str) else "\n".join(map(str, content))

    def __repr__(self) -> str:
        failed = f"error={self.error!r}, type={self._error_type!r}"
        shown = f"ok={self._output!r}" if self._ok else failed
        return f"<Result {shown}{', halted' if self.halted else ''}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Result) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def _identity(self) -> str:
        import json  # to_dict has loaded it

        return json.dumps(self.to_dict(), sort_keys=True)  # as text: 1, 1.0 and true are equal in Python

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (
            self._ok,
            self._output,
            dict(self._metadata),
            self._content,
            self.error,
            self._error_type,
        )


make_result = Result._make  # for the steps of a call, in which `Result.ok` takes a third of the time


def _restore(ok: bool, output: Any, metadata: dict[str, Any], *rest: Any) -> Result:
    return Result._make(ok, output, _frozen(metadata), *rest)


def _frozen(metadata: Mapping[str, Any] | None) -> Mapping[str, Any]:
    return FrozenDict(metadata) if metadata else EMPTY


_BINARY = (Block, bytes, bytearray, memoryview)


def _as_block(value: Any) -> Block:
    return value if isinstance(value, Block) else File(bytes(value))


def _as_text(value: Any) -> str:
    if type(value) is str:
        return value
    if value is None:
        return ""
    from tools_core._values._jsonable import to_json_text  # results of plain text never need it

    text = to_json_text(value)
    if text.startswith('"') and not isinstance(value, str):
        import json  # loaded with _jsonable

        return str(json.loads(text))  # a date or a path alone reads better without quotes
    return text
