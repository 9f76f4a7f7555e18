"""RobotLab's messages: `ToolMessage`, `ToolCallMessage` and `ToolResultMessage`, as views of calls and messages."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import AliasChoices, BaseModel, BeforeValidator, Field, PrivateAttr

from tools_agent._messages import Assistant, Items, ToolResult
from tools_core import InvalidArguments, Result, ToolCall

Role = Literal["system", "user", "assistant", "tool_result"]
StopReason = Annotated[Literal["tool", "stop"], BeforeValidator(lambda value: value or "tool")]


class _View(BaseModel, frozen=True, extra="forbid"):
    """A value with dicts of exactly RobotLab's shape."""

    type: str

    def to_dict(self) -> dict[str, Any]:
        """Return the message as JSON values, in RobotLab's shape; `from_dict` is the exact inverse."""
        return self.model_dump(mode="json")

    def to_json(self) -> str:
        """Return `to_dict()` as JSON text."""
        return json.dumps(self.to_dict())

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Self:
        """Read what `to_dict` returns. Raises ValueError that names the fields that are wrong."""
        return cls.model_validate(value)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]  # as dicts have none


class ToolMessage(_View, frozen=True):
    """A tool call: `ToolMessage(id="call_1", name="weather", input={"city": "Oslo"})`.

    Arguments that are not a JSON object stay text.
    """

    type: Literal["tool"] = "tool"
    id: str
    name: str
    input: Annotated[dict[str, Any] | str, BeforeValidator(lambda value: {} if value is None else value)] = Field(
        default_factory=dict, validation_alias=AliasChoices("input", "arguments")
    )

    @classmethod
    def from_call(cls, call: ToolCall) -> Self:
        """View a ToolCall."""
        try:
            return cls(id=call.id or "", name=call.name, input=call.arguments)
        except InvalidArguments:
            return cls(id=call.id or "", name=call.name, input=call.raw or "")

    def to_call(self) -> ToolCall:
        """Return the call as a ToolCall."""
        return ToolCall(self.id, self.name, self.input)


class _Message(_View, frozen=True):
    """A message, with RobotLab's predicates."""

    role: Role
    stop_reason: StopReason = "tool"

    def to_dict(self) -> dict[str, Any]:
        """Return the message as JSON values, in RobotLab's shape; `from_dict` is the exact inverse."""
        value = super().to_dict()
        stop_reason = value.pop("stop_reason")
        return {**value, "stop_reason": stop_reason}  # the last key, as in RobotLab

    @property
    def is_tool_call(self) -> bool:
        """True for a ToolCallMessage."""
        return self.type == "tool_call"

    @property
    def is_tool_result(self) -> bool:
        """True for a ToolResultMessage."""
        return self.type == "tool_result"

    @property
    def is_text(self) -> bool:
        """False: neither kind carries text."""
        return False

    @property
    def is_assistant(self) -> bool:
        """True if the role is "assistant"."""
        return self.role == "assistant"

    @property
    def is_user(self) -> bool:
        """True if the role is "user"."""
        return self.role == "user"

    @property
    def is_system(self) -> bool:
        """True if the role is "system"."""
        return self.role == "system"

    @property
    def is_tool_stop(self) -> bool:
        """True if the conversation stopped for a tool."""
        return self.stop_reason == "tool"

    @property
    def is_stopped(self) -> bool:
        """True if the conversation has ended."""
        return self.stop_reason == "stop"


class ToolCallMessage(_Message, frozen=True):
    """The tool calls of one reply: `ToolCallMessage(role="assistant", tools=[ToolMessage(...)])`.

    `tools` may be dicts. The text of the reply is not part of it: `content` is None.
    """

    type: Literal["tool_call"] = "tool_call"
    tools: Items[ToolMessage]
    _viewed: Assistant | None = PrivateAttr(None)

    @property
    def content(self) -> None:
        """Always None: the data is in `tools`."""
        return

    @classmethod
    def from_message(cls, message: Assistant) -> Self:
        """View the calls of a reply."""
        view = cls(role="assistant", tools=tuple(map(ToolMessage.from_call, message.tool_calls)))
        view._viewed = message  # type: ignore[misc]  # a private attribute is not frozen
        return view

    def to_message(self) -> Assistant:
        """Return the reply that this is a view of, with its text; else a new one with these calls."""
        calls = tuple(tool.to_call() for tool in self.tools)
        return self._viewed or Assistant(tool_calls=calls, stop_reason=self.stop_reason)


class ToolResultMessage(_Message, frozen=True):
    """The result of one call: `ToolResultMessage(tool=tool, content={"data": ...})`, or `{"error": ...}`."""

    type: Literal["tool_result"] = "tool_result"
    role: Literal["tool_result"] = "tool_result"
    tool: ToolMessage
    content: dict[str, Any]
    _viewed: ToolResult | None = PrivateAttr(None)

    @property
    def is_success(self) -> bool:
        """True if the content has data."""
        return "data" in self.content

    @property
    def is_error(self) -> bool:
        """True if the content has an error."""
        return "error" in self.content

    @property
    def data(self) -> Any:
        """The data, or None."""
        return self.content.get("data")

    @property
    def error(self) -> Any:
        """The error, or None."""
        return self.content.get("error")

    @classmethod
    def from_message(cls, message: ToolResult, call: ToolCall | None = None) -> Self:
        """View a result; `call` supplies the input of the tool."""
        result = message.result.to_dict()
        tool = ToolMessage.from_call(call or ToolCall(message.tool_call_id, message.name))
        view = cls(tool=tool, content={"data": result["output"]} if result["ok"] else {"error": result["error"]})
        view._viewed = message  # type: ignore[misc]  # a private attribute is not frozen
        return view

    def to_message(self) -> ToolResult:
        """Return the original result, or a new one with this content."""
        result = Result.error(str(self.error)) if self.is_error else Result.ok(self.data)
        return self._viewed or ToolResult(tool_call_id=self.tool.id, name=self.tool.name, result=result)
