"""Convert tools, calls and results to and from the APIs of model providers.

`openai` (Chat Completions), `responses`, `anthropic`, `gemini` and `mcp` are the formats, with the strict variants
`openai_strict`, `responses_strict` and `anthropic_strict`; `FORMATS` has them by name. They return plain dicts, and
read dicts and the objects of the providers' SDKs. `stream(tools)` assembles the calls of a streamed answer.

    >>> from tools_core import Registry, formats, tool
    >>> registry = Registry()
    >>> @registry.register
    ... @tool
    ... def weather(city: str, days: int = 1) -> str:
    ...     "Weather of a city."
    ...     return f"{city}: sunny for {days} d"
    >>> tools = registry.definitions()
    >>> request = {"tools": formats.openai_strict.definitions(tools)}
    >>> request["tools"][0]["function"]["parameters"]["properties"]["days"]
    {'type': ['integer', 'null'], 'description': 'default: 1'}
    >>> function = {"name": "weather", "arguments": '{"city": "Oslo", "days": null}'}
    >>> message = {"role": "assistant", "tool_calls": [{"id": "call_1", "type": "function", "function": function}]}
    >>> calls = formats.openai_strict.calls(message, tools)
    >>> formats.openai_strict.results([(call, registry.call(call)) for call in calls], tools)
    [{'role': 'tool', 'tool_call_id': 'call_1', 'content': 'Oslo: sunny for 1 d'}]
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tools_core.formats._anthropic import anthropic, anthropic_strict
from tools_core.formats._format import Format, FormatError, legal_names
from tools_core.formats._gemini import gemini
from tools_core.formats._history import argument_object, argument_text
from tools_core.formats._mcp import mcp
from tools_core.formats._openai import openai, openai_strict, responses, responses_strict
from tools_core.formats._stream import AnswerError, CallDelta, Stream

__all__ = [
    "FORMATS",
    "AnswerError",
    "CallDelta",
    "Format",
    "FormatError",
    "Stream",
    "anthropic",
    "anthropic_strict",
    "argument_object",
    "argument_text",
    "gemini",
    "legal_names",
    "mcp",
    "openai",
    "openai_strict",
    "responses",
    "responses_strict",
]

_ALL = (openai, openai_strict, responses, responses_strict, anthropic, anthropic_strict, gemini, mcp)
FORMATS: Mapping[str, Format] = MappingProxyType({item.name: item for item in _ALL})
