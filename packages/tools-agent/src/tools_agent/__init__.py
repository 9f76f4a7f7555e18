"""An agent loop whose sessions survive interrupts, approvals, crashes and restarts."""

from tools_agent._events import (
    Delta,
    Interrupt,
    ReasoningDelta,
    Retrying,
    TextDelta,
    TextDone,
    ToolCallDelta,
    ToolCallDone,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    UsageUpdate,
)
from tools_agent._log._store import Record, SessionConflictError, SessionInfo, Store, StoreError
from tools_agent._messages import Assistant, Message, System, ToolResult, Usage, User, message_from_dict
from tools_agent._providers._provider import Provider, ProviderError, Request
from tools_agent._providers._scripted import ScriptedProvider

__all__ = [
    "Assistant",
    "Delta",
    "Interrupt",
    "Message",
    "Provider",
    "ProviderError",
    "ReasoningDelta",
    "Record",
    "Request",
    "Retrying",
    "ScriptedProvider",
    "SessionConflictError",
    "SessionInfo",
    "Store",
    "StoreError",
    "System",
    "TextDelta",
    "TextDone",
    "ToolCallDelta",
    "ToolCallDone",
    "ToolFinished",
    "ToolProgress",
    "ToolResult",
    "ToolStarted",
    "Usage",
    "UsageUpdate",
    "User",
    "message_from_dict",
]
