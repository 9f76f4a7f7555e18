"""Tools in the shapes of model providers: definitions out, calls in, results out; pure functions over dicts.

`formats.openai`, `openai_strict`, `responses`, `responses_strict`, `anthropic`, `gemini` and `mcp` are the formats, and
`FORMATS` has them by name. Each is loaded when it is first used.

    >>> from tools_core import Registry, formats, tool
    >>> registry = Registry()
    >>> @registry.register
    ... @tool
    ... def weather(city: str, days: int = 1) -> str:
    ...     "Weather of a city."
    ...     return f"{city}: sunny for {days} d"
    >>> definitions = registry.definitions()
    >>> request = {"tools": formats.openai_strict.definitions(definitions)}
    >>> request["tools"][0]["function"]["parameters"]["properties"]["days"]
    {'type': ['integer', 'null'], 'description': 'Default 1'}
    >>> function = {"name": "weather", "arguments": '{"city": "Oslo", "days": null}'}
    >>> message = {"role": "assistant", "tool_calls": [{"id": "call_1", "type": "function", "function": function}]}
    >>> calls = formats.openai_strict.calls(message, definitions)
    >>> formats.openai_strict.results([(call, registry.call(call)) for call in calls], definitions)
    [{'role': 'tool', 'tool_call_id': 'call_1', 'content': 'Oslo: sunny for 1 d'}]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tools_core.formats._errors import FormatError
from tools_core.formats._format import Format
from tools_core.formats._names import legal_names

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from tools_core.formats._anthropic import anthropic
    from tools_core.formats._chat import openai
    from tools_core.formats._gemini import gemini
    from tools_core.formats._mcp import mcp
    from tools_core.formats._openai_strict import openai_strict, responses_strict
    from tools_core.formats._responses import responses

__all__ = [
    "FORMATS",
    "Format",
    "FormatError",
    "anthropic",
    "gemini",
    "legal_names",
    "mcp",
    "openai",
    "openai_strict",
    "responses",
    "responses_strict",
]

_HOMES = {
    "openai": "_chat",
    "openai-strict": "_openai_strict",
    "responses": "_responses",
    "responses-strict": "_openai_strict",
    "anthropic": "_anthropic",
    "gemini": "_gemini",
    "mcp": "_mcp",
}


class _Formats(Mapping[str, Format]):
    """The formats by name."""

    def __getitem__(self, name: str) -> Format:
        from importlib import import_module  # built in; needs no further module

        made: Format = getattr(import_module(f"tools_core.formats.{_HOMES[name]}"), name.replace("-", "_"))
        return made

    def __iter__(self) -> Iterator[str]:
        return iter(_HOMES)

    def __len__(self) -> int:
        return len(_HOMES)

    def __contains__(self, name: object) -> bool:  # the mixin would load the format
        return name in _HOMES

    def __repr__(self) -> str:
        return f"<formats {', '.join(_HOMES)}>"


FORMATS: Mapping[str, Format] = _Formats()


def __getattr__(name: str) -> object:
    wanted = name.replace("_", "-")
    if wanted not in _HOMES or "-" in name:
        raise AttributeError(f"module 'tools_core.formats' has no attribute {name!r}")
    value = globals()[name] = FORMATS[wanted]  # found directly from now on
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
