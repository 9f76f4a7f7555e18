"""`ask-tools check --score`: how well a definition tells a model what it needs, by a rubric without a model.

The weights follow the scorecard of argent (action verb 2, scenario 3.5, returns 1.5, errors 1, neighbours 1.5, length
0.5), halved for the scenario, with points for parameters and examples, which Anthropic's guide to tool use asks for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

from tools_core import Tool, Tools
from tools_core.schema import resolve
from tools_eval._neighbours import Neighbours
from tools_eval._tokens import estimate_tokens
from tools_eval._tools import tools_of
from tools_eval._words import sentences, tool_words

WEIGHTS = {
    "purpose": 20,  # argent: 2
    "when": 20,  # argent: 3.5
    "neighbours": 15,  # argent: 1.5
    "returns": 15,  # argent: 1.5
    "limits": 10,  # argent: 1, errors
    "parameters": 10,  # Anthropic: describe each parameter
    "examples": 5,  # Anthropic: examples of nested and optional arguments
    "length": 5,  # argent: 0.5
}
_SIMILAR = 0.22  # share of common words of two tools that a model may confuse
_MAX_TOKENS = 500

Problem: TypeAlias = tuple[str, str] | None  # the reason and the fix


class Finding(NamedTuple):
    """A criterion that a definition does not meet: the lost points, the reason and the fix."""

    criterion: str
    points: int
    reason: str
    fix: str


class Score(NamedTuple):
    """The points of a definition, of 100, and an estimate of its tokens in each request."""

    tool: str
    points: int
    tokens: int
    findings: list[Finding]


def score(tools: Tools, neighbours: Tools = ()) -> list[Score]:
    """Score definitions. `neighbours` are other tools that a model sees at the same time."""
    rated = tools_of(tools)
    offered = {tool.name: tool for tool in [*rated, *tools_of(neighbours)]}
    index = Neighbours(tool.definition for tool in offered.values())
    return [_score(tool, index) for tool in rated]


def check_score(tools: Mapping[str, Tool], installed: Mapping[str, Tool]) -> dict[str, dict[str, Any]]:
    """Return the scores for `ask-tools check --score`, by name."""
    scores = score(tools.values(), installed.values())
    return {
        name: {
            "score": result.points,
            "tokens": result.tokens,
            "findings": [finding._asdict() for finding in result.findings],
        }
        for name, result in zip(tools, scores, strict=True)
    }


def _score(tool: Tool, others: Neighbours) -> Score:
    definition = tool.definition
    text = "" if _PLACEHOLDER.match(definition["description"]) else definition["description"].strip()
    parameters = _parameters(definition["input_schema"])
    tokens = estimate_tokens([tool])
    problems: dict[str, Problem] = {
        "purpose": _purpose(text),
        "when": _when(text),
        "neighbours": _neighbours(definition, others),
        "returns": _returns(text, tool),
        "limits": _limits(text, parameters),
        "parameters": _undescribed(parameters),
        "examples": _examples(text, tool, parameters),
        "length": _length(definition["description"].strip(), tokens),
    }
    findings = [Finding(name, WEIGHTS[name], *problem) for name, problem in problems.items() if problem]
    return Score(tool.name, 100 - sum(finding.points for finding in findings), tokens, findings)


_PLACEHOLDER = re.compile(r"\W*(describe here|todo|fixme|tbd)\b", re.IGNORECASE)  # as of `ask-tools new`
_NO_VERBS = ("a", "an", "function", "helper", "i", "it", "that", "the", "there", "this", "tool", "utility", "we", "you")
_WHEN = re.compile(r"\b(after|before|for|if|instead|prefer|rather|to \w+[^.]*, use|unless|use|when)\b", re.IGNORECASE)
_RETURNS = re.compile(
    r"\b(gets?|lists?|prints?|reads?|reports?|returns?|shows?|get an?|an? \w+ (per|for each)|result)\b", re.IGNORECASE
)
_LIMITS = re.compile(
    r"\b(at most|but not|cannot|errors?|exactly|fails?|limit|may not|must|needs?|never|no|not|only|refuse[ds]?|skips?"
    r"|unless|up to|without|\d[\d,]*)\b",
    re.IGNORECASE,
)
_EXAMPLE = re.compile(r"e\.g\.|such as|for example|\blike\b|[`'\"][^`'\"]+[`'\"]", re.IGNORECASE)


def _purpose(text: str) -> Problem:
    first = [*sentences(text), ""][0]
    words = re.findall(r"[\w-]+", first)
    if len(words) < 2:
        return "it does not say what the tool does", "begin with a verb and its object: `Forecast the weather.`"
    if words[0].lower() in _NO_VERBS:
        return f"it begins with {words[0]!r}", "begin with the verb: `Search ...`, not `This tool searches ...`"
    if len(first) > 250:
        return f"its first sentence has {len(first)} characters", "say the purpose in one short sentence first"
    return None


def _when(text: str) -> Problem:
    if _WHEN.search(text):
        return None
    return "it does not say when to use the tool", "add a sentence with `Use it for ...` or `To ..., use OTHER_TOOL.`"


def _neighbours(definition: Mapping[str, Any], others: Neighbours) -> Problem:
    name, text = definition["name"], definition["description"]
    if (similar := others.similar_name(name)) is not None:
        return f"its name is almost {similar}", "choose a name that a model cannot confuse"
    other = others.closest(definition, _SIMILAR)
    if other is None or others.are_named_in(text, name) or name in other["description"]:
        return None
    words_of_tool = tool_words(definition)
    common = ", ".join(sorted(words_of_tool[stem] for stem in words_of_tool.keys() & tool_words(other).keys()))
    return f"{other['name']} has the same words: {common}", f"say when to use {other['name']} instead"


def _returns(text: str, tool: Tool) -> Problem:
    is_action = tool.annotations.get("read_only") is not True and not tool.annotations.get("open_world")
    if (is_action and tool.annotations) or tool.definition.get("output_schema") or _RETURNS.search(text):
        return None
    return "it does not say what comes back", "add `Returns ...`"


def _limits(text: str, parameters: Mapping[str, Any]) -> Problem:
    texts = [text, *(str(schema.get("description", "")) for schema in parameters.values())]
    if not parameters or any(_LIMITS.search(part) for part in texts):
        return None
    return "it names no limit or error", "say what the tool refuses, skips or truncates, and what then happens"


def _undescribed(parameters: Mapping[str, Any]) -> Problem:
    names = [name for name, schema in parameters.items() if len(str(schema.get("description", "")).split()) < 2]
    if not names:
        return None
    return f"without a description: {', '.join(names)}", "describe each parameter, with its format and unit"


def _examples(text: str, tool: Tool, parameters: Mapping[str, Any]) -> Problem:
    complex_names = [name for name, schema in parameters.items() if schema.get("type") in ("array", "object")]
    texts = [text, *(str(schema.get("description", "")) for schema in parameters.values())]
    if tool.examples or not (complex_names or len(parameters) > 5) or any(map(_EXAMPLE.search, texts)):
        return None
    subject = complex_names[0] if complex_names else f"{len(parameters)} parameters"
    return f"it has no example for {subject}", "add `examples=[...]`, or `such as ...` in a description"


def _length(text: str, tokens: int) -> Problem:
    if len(text) < 40:
        return f"its description has {len(text)} characters", "write two or three sentences"
    if tokens > _MAX_TOKENS:
        return f"it costs {tokens} tokens in each request", f"shorten it to {_MAX_TOKENS} tokens"
    return None


def _parameters(schema: dict[str, Any]) -> dict[str, dict[str, Any]]:
    properties = schema.get("properties", {}).items()
    members = ((name, member if isinstance(member, dict) else {}) for name, member in properties)  # it may be true
    resolved = ((name, member, resolve(schema, member["$ref"]) if "$ref" in member else {}) for name, member in members)
    return {name: {**(target if isinstance(target, dict) else {}), **member} for name, member, target in resolved}
