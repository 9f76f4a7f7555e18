"""`Result`: what every call of a tool returns."""

from __future__ import annotations

from collections.abc import Mapping

from tools_core._values._content import Block, File, block_from_dict
from tools_core._values._frozen import FrozenDict
from tools_core._values._problem import show

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from typing import Any, Self

EMPTY: Mapping[str, Any] = FrozenDict()


class Result:
    """The outcome of a call, made by `Result.ok`, `Result.error`, `Result.halt`, `Result.text` or `Result.json`.

    Nothing of it can be reassigned. Results are equal when they serialise alike.
    """

    __slots__ = ("_content", "_error_message", "_error_type", "_exception", "_is_ok", "_metadata", "_output")

    _is_ok: bool
    _output: Any
    _metadata: Mapping[str, Any]
    _content: Any
    _error_message: str | None
    _error_type: str | None
    _exception: BaseException | None

    def __init__(self) -> None:
        raise TypeError(
            "a Result is made by Result.ok(data), Result.error(message), Result.halt(data), .text(x) or .json(x)"
        )

    @classmethod
    def ok(cls, data: Any = None, *, metadata: Mapping[str, Any] | None = None, content: Any = None) -> Self:
        """A success. `content` replaces what the model reads, where that should differ from `data`."""
        return cls._make(True, data, _frozen(metadata), content)

    @classmethod
    def error(
        cls,
        message: str,
        *,
        type: str = "execution_error",
        metadata: Mapping[str, Any] | None = None,
        exception: BaseException | None = None,
    ) -> Self:
        """A failure that the model reads as `message`: what was wrong and what would work.

        `type` is a tool's own, or one of `validation_error` (the arguments do not fit: send better ones),
        `execution_error` (the tool failed), `timeout_error` (it did not end within its limit), `unknown_tool`,
        `approval_required` (a person has to approve the call first), `denied` (a policy or a person denied it),
        `not_found` (what the arguments name does not exist), `conflict` (it exists, or has changed, where it should
        not), `limit_exceeded` (too large, too many, too deep), `cancelled` (the caller gave up), `interrupted` (the run
        was stopped before the call ended) and `unavailable` (what it needs is not there now).
        """
        return cls._make(False, None, _frozen(metadata), None, str(message), _kind(type), exception)

    @classmethod
    def halt(cls, data: Any = None, *, metadata: Mapping[str, Any] | None = None) -> Self:
        """A success after which the conversation ends; an error `Result` as `data` ends it with that failure."""
        halted = {**(metadata or EMPTY), "halted": True}
        return data.with_metadata(halted) if isinstance(data, cls) else cls.ok(data, metadata=halted)

    @classmethod
    def text(cls, value: Any) -> Self:
        """A success whose output is `str(value)`."""
        return cls._make(True, str(value), EMPTY)

    @classmethod
    def json(cls, value: Any) -> Self:
        """A success that the model reads as JSON, a plain string included."""
        from tools_core._values._jsonable import to_json_text  # results of plain text never need it

        return cls._make(True, value, EMPTY, to_json_text(value))

    @classmethod
    def _make(
        cls,
        is_ok: bool,
        output: Any,
        metadata: Mapping[str, Any],
        content: Any = None,
        error_message: str | None = None,
        error_type: str | None = None,
        exception: BaseException | None = None,
    ) -> Self:
        made = object.__new__(cls)
        made._is_ok = is_ok
        made._output = output
        made._metadata = metadata
        made._content = content
        made._error_message = error_message
        made._error_type = error_type
        made._exception = exception
        return made

    @property
    def is_ok(self) -> bool:
        """Whether the tool did what it was asked; a halt is ok, too."""
        return self._is_ok

    @property
    def output(self) -> Any:
        """The tool's own value; None for an error."""
        return self._output

    @property
    def error_message(self) -> str | None:
        """What was wrong, and what would work."""
        return self._error_message

    @property
    def error_type(self) -> str | None:
        """One of the documented error types, or the tool's own."""
        return self._error_type

    @property
    def metadata(self) -> Mapping[str, Any]:
        """What else there is to say; cannot be changed."""
        return self._metadata

    @property
    def exception(self) -> BaseException | None:
        """What the tool raised, for the developer: never serialised, and no part of equality."""
        return self._exception

    @property
    def is_error(self) -> bool:
        return not self._is_ok

    @property
    def is_halted(self) -> bool:
        """Whether the conversation must end after this result."""
        return self._metadata.get("halted") is True

    @property
    def content(self) -> str | tuple[str | Block, ...]:
        """What the model reads: text, JSON for structured data, or content blocks (text as `str` among them)."""
        if not self._is_ok:
            return self._error_message or ""
        value = self._output if self._content is None else self._content
        if isinstance(value, _BINARY):
            return (_as_block(value),)
        if isinstance(value, list | tuple) and any(isinstance(item, _BINARY) for item in value):
            return tuple(_as_block(item) if isinstance(item, _BINARY) else _as_text(item) for item in value)
        return _as_text(value)

    def with_metadata(self, more: Mapping[str, Any]) -> Self:
        """The same result with `more` metadata."""
        return self._make(
            self._is_ok, self._output, _frozen({**self._metadata, **more}), self._content,
            self._error_message, self._error_type, self._exception,
        )  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON: `ok`, `output`, `error`, `metadata`, for errors `error_type`, and `content` if it was set."""
        from tools_core._values._jsonable import clean  # only what is stored or sent is serialised

        out: dict[str, Any] = {
            "ok": self._is_ok,
            "output": clean(self._output),
            "error": self._error_message,
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

    def __str__(self) -> str:
        content = self.content
        return content if isinstance(content, str) else "\n".join(map(str, content))

    def __repr__(self) -> str:
        failed = f"error={self._error_message!r}, type={self._error_type!r}"
        shown = f"ok={_repr(self._output)}" if self._is_ok else failed
        return f"<Result {shown}{', halted' if self.is_halted else ''}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Result) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def _identity(self) -> str:
        import json  # loaded already, by who serialises

        return json.dumps(self.to_dict(), sort_keys=True)  # as text: 1, 1.0 and true are equal in Python

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (
            self._is_ok,
            self._output,
            dict(self._metadata),
            self._content,
            self._error_message,
            self._error_type,
        )


def success(output: Any) -> Result:
    """`Result.ok(output)`, without a step too many: every call makes one."""
    made = object.__new__(Result)
    made._is_ok = True
    made._output = output
    made._metadata = EMPTY
    made._content = made._error_message = made._error_type = made._exception = None
    return made


def failure(message: str, type: str) -> Result:
    """`Result.error(message, type=type)`, in the same way: every refused call makes one."""
    made = object.__new__(Result)
    made._is_ok = False
    made._metadata = EMPTY
    made._error_message = message
    made._error_type = type
    made._output = made._content = made._exception = None
    return made


def _restore(is_ok: bool, output: Any, metadata: dict[str, Any], *rest: Any) -> Result:
    return Result._make(is_ok, output, _frozen(metadata), *rest)


def _frozen(metadata: Mapping[str, Any] | None) -> Mapping[str, Any]:
    return FrozenDict(metadata) if metadata else EMPTY


def _kind(value: Any) -> str:
    """The type of an error as text, also of a tool that has its types in an Enum, or none."""
    if isinstance(value, str):
        return value
    from tools_core._values._jsonable import clean  # rare

    return "execution_error" if value is None else str(clean(value))


def _repr(value: Any) -> str:
    try:
        return repr(value)
    except Exception:  # noqa: BLE001  (anybody's class, or an integer of too many digits)
        return f"<{type(value).__name__}>"


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
