"""An agent loop whose sessions survive interrupts, approvals, crashes and restarts."""

from typing import TYPE_CHECKING

from tools_agent._agent import Agent
from tools_agent._compact import compact
from tools_agent._events import (
    Delta,
    Interrupt,
    PartialOutput,
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
from tools_agent._external import external_tool
from tools_agent._guardrails import Block, Guardrail, Modification, Tripwire
from tools_agent._loop._stream import AsyncStream, Stream
from tools_agent._messages import Assistant, Message, System, ToolResult, Usage, User, message_from_dict
from tools_agent._providers._forbid import forbid_requests
from tools_agent._providers._provider import Provider, ProviderError, Request, cost_of, window_of
from tools_agent._providers._scripted import ScriptedProvider
from tools_agent._response import Interrupted, Response
from tools_agent._session._log import SessionLog
from tools_agent._session._session import Session
from tools_agent._skills import Skill, Skills
from tools_agent._stores._store import Record, SessionConflictError, SessionInfo, Store, StoreError
from tools_agent._window import Window

if TYPE_CHECKING:
    from tools_agent._providers._anthropic import AnthropicProvider
    from tools_agent._providers._fallback import FallbackProvider
    from tools_agent._providers._gemini import GeminiProvider
    from tools_agent._providers._get_provider import get_provider, list_models
    from tools_agent._providers._openai_chat import OpenAIProvider
    from tools_agent._providers._openai_responses import OpenAIResponsesProvider
    from tools_agent._providers._retry import Retry
    from tools_agent._providers._test_model import TestModel
    from tools_agent._providers._text_mode import TextMode
    from tools_agent._robotlab import ToolCallMessage, ToolMessage, ToolResultMessage
    from tools_agent._server_sent_events import event_to_dict, server_sent_events
    from tools_agent._stores._sqlite import SQLiteStore, open_store

__all__ = [
    "Agent",
    "AnthropicProvider",
    "Assistant",
    "AsyncStream",
    "Block",
    "Delta",
    "FallbackProvider",
    "GeminiProvider",
    "Guardrail",
    "Interrupt",
    "Interrupted",
    "Message",
    "Modification",
    "OpenAIProvider",
    "OpenAIResponsesProvider",
    "PartialOutput",
    "Provider",
    "ProviderError",
    "ReasoningDelta",
    "Record",
    "Request",
    "Response",
    "Retry",
    "Retrying",
    "SQLiteStore",
    "ScriptedProvider",
    "Session",
    "SessionConflictError",
    "SessionInfo",
    "SessionLog",
    "Skill",
    "Skills",
    "Store",
    "StoreError",
    "Stream",
    "System",
    "TestModel",
    "TextDelta",
    "TextDone",
    "TextMode",
    "ToolCallDelta",
    "ToolCallDone",
    "ToolCallMessage",
    "ToolFinished",
    "ToolMessage",
    "ToolProgress",
    "ToolResult",
    "ToolResultMessage",
    "ToolStarted",
    "Tripwire",
    "Usage",
    "UsageUpdate",
    "User",
    "Window",
    "compact",
    "cost_of",
    "event_to_dict",
    "external_tool",
    "forbid_requests",
    "get_provider",
    "list_models",
    "message_from_dict",
    "open_store",
    "server_sent_events",
    "window_of",
]

_HOMES = {  # imported when they are first used: a program needs one store and one provider
    "_stores._sqlite": ("SQLiteStore", "open_store"),
    "_providers._anthropic": ("AnthropicProvider",),
    "_providers._fallback": ("FallbackProvider",),
    "_providers._gemini": ("GeminiProvider",),
    "_providers._get_provider": ("get_provider", "list_models"),
    "_providers._openai_chat": ("OpenAIProvider",),
    "_providers._openai_responses": ("OpenAIResponsesProvider",),
    "_providers._retry": ("Retry",),
    "_providers._test_model": ("TestModel",),
    "_providers._text_mode": ("TextMode",),
    "_server_sent_events": ("event_to_dict", "server_sent_events"),
    "_robotlab": (
        "ToolCallMessage",
        "ToolMessage",
        "ToolResultMessage",
    ),
}


def __getattr__(name: str) -> object:
    for home, names in _HOMES.items():
        if name in names:
            from importlib import import_module  # built in

            value: object = getattr(import_module(f"tools_agent.{home}"), name)
            globals()[name] = value  # found directly from now on
            return value
    raise AttributeError(f"module 'tools_agent' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
