"""Messages of a conversation: `System`, `User`, `Assistant` and `ToolResult`."""

from __future__ import annotations

import json
import string
from base64 import b64decode
from collections.abc import Container, Mapping, Sequence
from hashlib import sha256
from types import GenericAlias
from typing import Annotated, Any, Literal, Self, TypeVar, get_args
from uuid import uuid4

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, PlainSerializer, PlainValidator, TypeAdapter

from tools_core import Audio, File, Image, Result, ToolCall

T = TypeVar("T")
_ALPHABET = string.digits + string.ascii_letters


class _AsTuple:
    """Keeps a sequence as a tuple, so that lists are accepted, by type checkers as well."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> Any:
        return handler.generate_schema(GenericAlias(tuple, (get_args(source)[0], ...)))


Items = Annotated[Sequence[T], _AsTuple()]


def _call(value: Any) -> ToolCall:
    return value if isinstance(value, ToolCall) else ToolCall.from_dict(value)


def _result(value: Any) -> Result:
    return value if isinstance(value, Result) else Result.from_dict(value)


def _file(value: Any) -> Image | Audio | File:
    if isinstance(value, Image | Audio | File):
        return value
    if not isinstance(value, Mapping) or not isinstance(value.get("data"), str):
        raise ValueError(  # noqa: TRY004  (pydantic expects ValueError)
            "a file is an Image, Audio or File, or a dict with its data in base64 and its media_type"
        )
    mime_type = value.get("mime_type") or value.get("media_type")
    block = _BLOCKS.get(value.get("type") or str(mime_type).partition("/")[0], File)
    return block(b64decode(value["data"], validate=True), mime_type, name=value.get("name"))


_BLOCKS: dict[str, type[Image | Audio | File]] = {"image": Image, "audio": Audio, "file": File}
Call = Annotated[ToolCall, PlainValidator(_call), PlainSerializer(ToolCall.to_dict, return_type=dict)]
Outcome = Annotated[Result, PlainValidator(_result), PlainSerializer(Result.to_dict, return_type=dict)]
Attachment = Annotated[
    Image | Audio | File, PlainValidator(_file), PlainSerializer(lambda block: block.to_dict(), return_type=dict)
]


class Usage(BaseModel):
    """Tokens that a reply, or a run, has cost; sums with `+`.

    `is_estimated` if a server did not report them, so that some are estimates.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    is_estimated: bool = False

    @property
    def total_tokens(self) -> int:
        """Input and output together; providers count tokens of the cache as input."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        sums = {name: getattr(self, name) + getattr(other, name) for name in Usage.model_fields}
        return Usage(**sums | {"is_estimated": self.is_estimated or other.is_estimated})


class Message(BaseModel, frozen=True, extra="forbid"):
    """A message: it has an id and a role, and converts to JSON and back without loss."""

    id: str = Field(default_factory=lambda: f"msg_{uuid4().hex}")
    role: str

    def to_dict(self) -> dict[str, Any]:
        """Return the message as JSON values; `message_from_dict` is the exact inverse."""
        return self.model_dump(mode="json")

    def to_json(self) -> str:
        """Return the message as JSON text."""
        return json.dumps(self.to_dict())

    def replace(self, **changes: Any) -> Self:
        """Return a copy with other values. Raises ValueError for an unknown field or a value that does not fit."""
        return type(self).model_validate({**dict(self), **changes})


class System(Message, frozen=True):
    """Instructions for the model."""

    role: Literal["system"] = "system"
    content: str


class User(Message, frozen=True):
    """A message of the user, with images or other files."""

    role: Literal["user"] = "user"
    content: str = ""
    files: Items[Attachment] = ()


class Assistant(Message, frozen=True):
    """One reply of the model: its text and its tool calls, together.

    `items` are the reply's parts as the provider sent them (reasoning, signatures, kinds unknown here), kept so that
    the same provider at the same address, `provider` and `server`, receives its own turn back. Others receive `content`
    and `tool_calls`. `stop_reason` is one of "stop", "tool", "length", "refusal", "content_filter", or the
    provider's own word.
    """

    role: Literal["assistant"] = "assistant"
    content: str = ""
    tool_calls: Items[Call] = ()
    items: Items[dict[str, Any]] = ()
    provider: str | None = None
    server: str | None = None
    model: str | None = None
    stop_reason: str | None = None
    usage: Usage | None = None
    output: Any = None


class ToolResult(Message, frozen=True, coerce_numbers_to_str=True):
    """The result of one tool call. Its id follows from the call's, so that a call cannot have two results."""

    role: Literal["tool"] = "tool"
    tool_call_id: str
    name: str
    result: Outcome

    @property
    def content(self) -> str:
        """The text that the model reads: the result, or the error message."""
        return str(self.result)

    @property
    def error(self) -> str | None:
        """The message of a failure, else None."""
        return self.result.error

    @property
    def error_type(self) -> str | None:
        """The kind of a failure, such as "timeout_error", else None."""
        return self.result.error_type


AnyMessage = Annotated[System | User | Assistant | ToolResult, Field(discriminator="role")]
_ADAPTER: TypeAdapter[System | User | Assistant | ToolResult] = TypeAdapter(AnyMessage)


def message_from_dict(value: Mapping[str, Any] | str | bytes) -> System | User | Assistant | ToolResult:
    """Return the message of a dict or JSON text, the inverse of `to_dict` and `to_json`.

    Raises ValueError for invalid JSON, and pydantic's ValidationError, a ValueError, for invalid fields.
    """
    return _ADAPTER.validate_python(json.loads(value) if isinstance(value, str | bytes) else value)


def estimate_tokens(message: Message) -> int:
    """Return roughly how many tokens a message has: a quarter of its bytes, and 1,500 for a file that is not text."""
    size = _size(str(getattr(message, "content", "")))
    if isinstance(message, Assistant):
        size += sum(len(call.name) + _size(call.raw or json.dumps(call.raw_arguments)) for call in message.tool_calls)
    for file in getattr(message, "files", ()):
        size += len(file.data) if file.mime_type.startswith("text/") else 6_000
    return 8 + size // 4


def _size(text: str) -> int:
    """Return the bytes of a text: letters of other scripts cost more tokens."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def with_unique_ids(reply: Assistant, call_ids: Container[str | None] = ()) -> Assistant:
    """Return a reply whose calls have ids that are not in `call_ids` and differ from each other.

    Some servers send no ids, or count from 0 in each reply.
    """
    calls: list[ToolCall] = []
    ids: set[str] = set()
    for call in reply.tool_calls:
        id = call.id if call.id and call.id not in call_ids and call.id not in ids else short_id(uuid4().hex)
        ids.add(id)
        calls.append(call if id == call.id else ToolCall(id, call.name, call.raw_arguments))
    is_same = all(new is old for new, old in zip(calls, reply.tool_calls, strict=True))
    return reply if is_same else reply.replace(tool_calls=calls)


def short_id(text: str) -> str:
    """Return an id of 9 letters and digits, which all providers accept, that follows from a text."""
    number = int.from_bytes(sha256(text.encode("utf-8", "surrogatepass")).digest())
    return "".join(_ALPHABET[number // 62**place % 62] for place in range(9))


def edited_result(old: Result, attributes: dict[str, Any]) -> Result:
    """Return a result with other attributes; metadata, such as that of a halt, stays."""
    unknown = attributes.keys() - {"result", "content", "error", "error_type", "metadata"}
    if unknown or not attributes or ("result" in attributes and len(attributes) > 1):
        raise ValueError(
            "update of a result takes content, error, error_type and metadata, or result alone; "
            f"got {', '.join(attributes) or 'none of them'}"
        )
    result = attributes.get("result", old)
    metadata = attributes.get("metadata", old.metadata)
    if not isinstance(result, Result) or not isinstance(metadata, Mapping):
        raise ValueError("result is a Result, and metadata of a result a dict")  # noqa: TRY004  (documented)
    if "result" in attributes:
        return result
    error = attributes.get("error", old.error)
    kind = attributes.get("error_type", error and (old.error_type or "execution_error"))
    if error is None:
        if kind is not None or (old.error is not None and "content" not in attributes):
            raise ValueError("a result without an error has content, and no error_type: pass content=, or error=")
        content = {} if "content" in attributes else {"content": old.to_dict().get("content")}
        return Result.ok(attributes.get("content", old.output), metadata=metadata, **content)
    if "error" in attributes and "content" in attributes:
        raise ValueError("the result of a failed call has an error or content, not both")
    message = attributes.get("content", error)
    if not isinstance(message, str) or not isinstance(kind, str):
        raise ValueError(f"error and error_type of a result are text, got {message!r} and {kind!r}")  # noqa: TRY004  (a ValueError, as other wrong values)
    return Result.error(message, type=kind, metadata=metadata)
