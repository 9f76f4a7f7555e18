"""Estimate the tokens of definitions without a tokenizer, which would be a download.

Providers turn a definition into a compact text for the model, so most of the JSON's punctuation costs nothing. The rule
is that of OpenAI's cookbook: tokens for each tool and each parameter, and the tokens of the texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

from tools_core import Tool, Tools
from tools_core.formats import Format, openai
from tools_eval._tools import tools_of

_WORDS = re.compile(r"[A-Za-z]+|\d{1,3}|[^\sA-Za-z\d]+|\s{2,}")
_LONGEST = 10  # letters of a word that is one token
_TOOL = 9
_PARAMETER = 3
# Their values count, and they themselves do not.
_STRUCTURE = frozenset(
    (
        *("anyOf", "description", "enum", "function", "input_schema", "items", "name", "parameters"),
        *("parametersJsonSchema", "type"),
    )
)
_OMITTED = frozenset(("additionalProperties", "required", "strict", "title"))


def estimate_tokens(tools: Tools | Iterable[Mapping[str, Any]], wire: Format = openai) -> int:
    """Estimate the input tokens that tools, or definitions, cost in each request to a provider, within about 10 %."""
    sources = tools_of(tools) if isinstance(tools, Mapping) or not isinstance(tools, Iterable) else tools
    parts = ([source] if isinstance(source, Mapping | Tool) else tools_of(source) for source in sources)
    return sum(_TOOL + _tokens(definition) for definition in wire.definitions(chain.from_iterable(parts)))


def _tokens_of_text(text: str) -> int:
    """Estimate the tokens of a text: words, groups of digits, and punctuation."""
    lengths = ((len(piece), _LONGEST if piece.isascii() and piece.isalpha() else 3) for piece in _WORDS.findall(text))
    return sum(-(-length // longest) for length, longest in lengths)


def _tokens(value: Any) -> int:
    if isinstance(value, str):
        return _tokens_of_text(value)
    if isinstance(value, list):
        return sum(map(_tokens, value)) + len(value)
    if not isinstance(value, Mapping):
        return 1
    total = 0
    for key, member in value.items():
        if key == "properties" and isinstance(member, Mapping):
            total += sum(_PARAMETER + _tokens_of_text(name) + _tokens(schema) for name, schema in member.items())
        elif key not in _OMITTED:
            total += _tokens(member) + (0 if key in _STRUCTURE else _tokens_of_text(key) + 1)
    return total
