"""`ask-tools list --tokens` and `show --tokens`: the cost of definitions in each request to a model."""

from __future__ import annotations

from collections.abc import Sequence

from tools_core._cli._output import one_line, write_json, write_table
from tools_core._cli._tools import Match
from tools_core._tools._tool import Tool
from tools_core.formats import anthropic, gemini, openai

TOKENS_HELP = "estimate the tokens of each definition for OpenAI, Anthropic and Gemini"
_FORMATS = (openai, anthropic, gemini)


def write_tokens(tools: Sequence[tuple[Match, Tool]], *, as_json: bool) -> None:
    """Print the tokens of each tool, the most expensive first, and their sums."""
    counts = {match.name: [item.tokens([tool]) for item in _FORMATS] for match, tool in tools}
    counts = dict(sorted(counts.items(), key=lambda count: -count[1][0]))
    totals = [sum(tokens[index] for tokens in counts.values()) for index in range(len(_FORMATS))]
    providers = [item.name for item in _FORMATS]
    if as_json:
        rows = [{"name": name, **dict(zip(providers, tokens, strict=True))} for name, tokens in counts.items()]
        write_json({"tools": rows, "total": dict(zip(providers, totals, strict=True))})
    else:
        table = [["TOOL", *(f"~{provider}" for provider in providers)]]
        table += [[one_line(name), *map(str, tokens)] for name, tokens in counts.items()]
        write_table([*table, ["total", *map(str, totals)]])
