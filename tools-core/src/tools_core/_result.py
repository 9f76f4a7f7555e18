"""`Result`: what every call of a tool returns."""

from __future__ import annotations

from tools_core._content import Block, block_from_dict
from tools_core._frozen import FrozenDict

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, NoReturn, Self

EMPTY: Mapping[str, Any] = FrozenDict()

# What a result can fail with; a tool may use a type of its own besides.
ERROR_TYPES = (
    "validation_error",  # the arguments do not fit the schema: send better ones
    "execution_error",  # the tool failed
    "timeout_error",  # it did not end within its limit
    "unknown_tool",  # no tool has that name
    "denied",  # policy, or a person, said no
    "not_found",  # what the arguments name does not exist
    "conflict",  # it exists, or has changed, where it should not
    "limit_exceeded",  # too large, too many, too deep
    "cancelled",  # the caller gave up
    "interrupted",  # the run was stopped before the call ended
    "unavailable",  # the tool, or what it needs, is not there now
)


class _Fields:
    """The mutable twin that a `Result` is filled as, because a frozen object is slow to fill."""

    __slots__ = ("_content", "error_message", "error_type", "exception", "is_ok", "metadata", "output")

    def __init__(
        self,
        is_ok: bool,
        output: Any,
        metadata: Mapping[str, Any],
        content: Any = None,
        error_message: str | None = None,
        error_type: str | None = None,
        exception: BaseException | None = None,
    ) -> None:
        self.is_ok = is_ok
        self.output = output
        self.metadata = metadata
        self._content = content
        self.error_message = error_message
        self.error_type = error_type
        self.exception = exception


class Result(_Fields):
    """The outcome of a call, made by `Result.ok`, `Result.error`, `Result.halt`, `Result.text` or `Result.json`.

    `output` is the tool's own value, `content` is what the model reads of it, `exception` is for the developer: it is
    never serialised and no part of equality. Results are equal when they serialise alike. Nothing can be reassigned.
    """

    __slots__ = ()
    is_ok: bool
    output: Any
    metadata: Mapping[str, Any]
    error_message: str | None
    error_type: str | None
    exception: BaseException | None

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
        """A failure that the model reads as `message`: what was wrong and what would work."""
        return cls._make(False, None, _frozen(metadata), None, str(message), type, exception)

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
        from tools_core._jsonable import to_json_text  # results of plain text never need it

        return cls._make(True, value, EMPTY, to_json_text(value))

    @classmethod
    def _make(cls, *fields: Any, **named: Any) -> Self:
        made = _Fields(*fields, **named)
        made.__class__ = cls
        return made  # type: ignore[return-value]

    @property
    def is_error(self) -> bool:
        return not self.is_ok

    @property
    def is_halted(self) -> bool:
        """Whether the conversation must end after this result."""
        return self.metadata.get("halted") is True

    @property
    def content(self) -> str | tuple[str | Block, ...]:
        """What the model reads: text, JSON for structured data, or content blocks (text as `str` among them)."""
        if not self.is_ok:
            return self.error_message or ""
        value = self.output if self._content is None else self._content
        if isinstance(value, Block):
            return (value,)
        if isinstance(value, list | tuple) and any(isinstance(item, Block) for item in value):
            return tuple(item if isinstance(item, Block) else _as_text(item) for item in value)
        return _as_text(value)

    def with_metadata(self, more: Mapping[str, Any]) -> Self:
        """The same result with `more` metadata."""
        return self._make(
            self.is_ok, self.output, _frozen({**self.metadata, **more}), self._content,
            self.error_message, self.error_type, self.exception,
        )  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON: `ok`, `output`, `error`, `metadata`, for errors `error_type`, and `content` if it was set."""
        from tools_core._jsonable import clean  # only what is stored or sent is serialised

        out: dict[str, Any] = {
            "ok": self.is_ok,
            "output": clean(self.output),
            "error": self.error_message,
            "metadata": clean(self.metadata),
        }
        if self.error_type is not None:
            out["error_type"] = self.error_type
        if self._content is not None:
            out["content"] = clean(self._content)
        return out

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Self:
        """The result that `to_dict` was taken from; ValueError when `value` is not of that form."""
        known = {"ok", "output", "error", "metadata", "error_type", "content"}
        if not isinstance(value.get("ok"), bool) or not value.keys() <= known:
            raise ValueError(
                f"a result has ok (true or false) and may have {', '.join(sorted(known - {'ok'}))}; got {list(value)}"
            )
        return cls._make(
            value["ok"], _revive(value.get("output")), _frozen(value.get("metadata")), _revive(value.get("content")),
            value.get("error"), value.get("error_type"),
        )  # fmt: skip

    def to_json(self) -> str:
        """`to_dict()` as compact JSON text that UTF-8 can carry."""
        from tools_core._jsonable import dumps  # only what is stored or sent is serialised

        return dumps(self.to_dict())

    def __str__(self) -> str:
        content = self.content
        return content if isinstance(content, str) else "\n".join(map(str, content))

    def __repr__(self) -> str:
        failed = f"error={self.error_message!r}, type={self.error_type!r}"
        shown = f"ok={self.output!r}" if self.is_ok else failed
        return f"<Result {shown}{', halted' if self.is_halted else ''}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Result) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def _identity(self) -> str:
        import json  # loaded already, by who serialises

        return json.dumps(self.to_dict(), sort_keys=True)  # as text: 1, 1.0 and true are equal in Python

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a Result cannot be changed: make another, or use with_metadata (tried to set {name})")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a Result cannot be changed (tried to delete {name})")

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (
            self.is_ok,
            self.output,
            dict(self.metadata),
            self._content,
            self.error_message,
            self.error_type,
        )


def success(output: Any) -> Result:
    """`Result.ok(output)`, for the path of every call."""
    made = _Fields(True, output, EMPTY)
    made.__class__ = Result
    return made  # type: ignore[return-value]


def failure(message: str, type: str) -> Result:
    """`Result.error(message, type=type)`, for the path of every refused call."""
    made = _Fields(False, None, EMPTY, None, message, type)
    made.__class__ = Result
    return made  # type: ignore[return-value]


def _restore(is_ok: bool, output: Any, metadata: dict[str, Any], *rest: Any) -> Result:
    return Result._make(is_ok, output, _frozen(metadata), *rest)


def _frozen(metadata: Mapping[str, Any] | None) -> Mapping[str, Any]:
    return FrozenDict(metadata) if metadata else EMPTY


def _as_text(value: Any) -> str:
    if type(value) is str:
        return value
    if value is None:
        return ""
    from tools_core._jsonable import to_json_text  # results of plain text never need it

    text = to_json_text(value)
    if text.startswith('"') and not isinstance(value, str):
        import json  # loaded with _jsonable

        return str(json.loads(text))  # a date or a path alone reads better without quotes
    return text


def _revive(value: Any) -> Any:
    return [block_from_dict(item) for item in value] if isinstance(value, list) else block_from_dict(value)
