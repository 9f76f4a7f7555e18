"""`ask-tools eval --suggest`: cases from the examples and parameters of tools, for a person to edit."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tools_core import Tool
from tools_eval._words import sentences

_HEADER = """\
# Suggested by `ask-tools eval --suggest`. Write each question as your users ask it, not as the description says it,
# and replace each "?" with a value.
"""
_NO_CALL = """\
[[case]]
name = "thanks need no call"
question = "Thanks, that is all."
no_call = true
"""
_SAMPLES: dict[Any, Any] = {"integer": 1, "number": 1, "boolean": True, "array": [], "object": {}}


def suggest_cases(patterns: Sequence[str], tools: Mapping[str, Tool]) -> str:
    """Return the TOML text of a case file: a case for each example of a tool, or one for its required parameters."""
    blocks = [block for name, tool in tools.items() for block in _cases(name, tool)]
    return "\n".join([f"{_HEADER}tools = {_toml(patterns)}\n", *blocks, _NO_CALL])


def _cases(name: str, tool: Tool) -> Iterator[str]:
    purpose = [*sentences(tool.description), tool.name][0].rstrip(".:")
    for number, arguments in enumerate(tool.examples or [_required(tool.input_schema)], 1):
        suffix = f" {number}" if len(tool.examples) > 1 else ""
        values = "".join(f", {key} {json.dumps(value, ensure_ascii=False)}" for key, value in arguments.items())
        members = {"tool": name} | ({"arguments": _conditions(arguments)} if arguments else {})
        question = _toml(purpose + values)
        yield f"[[case]]\nname = {_toml(name + suffix)}\nquestion = {question}\nexpect = {_toml(members)}\n"


def _conditions(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments as conditions: a table needs `equals`."""
    return {key: {"equals": value} if isinstance(value, Mapping) else value for key, value in arguments.items()}


def _required(schema: Mapping[str, Any]) -> dict[str, Any]:
    members = {name: schema["properties"][name] for name in schema.get("required", ())}
    return {
        name: [*member.get("examples", ()), *member.get("enum", ()), _SAMPLES.get(member.get("type"), "?")][0]
        for name, member in members.items()
    }


def _toml(value: Any) -> str:
    """Return a JSON value as TOML on one line, without nulls, which TOML lacks."""
    if isinstance(value, Mapping):
        keys = {key: key if re.fullmatch(r"[\w-]+", key, re.ASCII) else json.dumps(key) for key in value}
        members = (f"{keys[key]} = {_toml(item)}" for key, item in value.items() if item is not None)
        return f"{{ {', '.join(members)} }}" if value else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value)
