"""`TestModel`: a model for tests that calls every tool and needs no script."""

from __future__ import annotations

import json
from typing import Any, ClassVar

from tools_agent._messages import Assistant, User
from tools_agent._providers._provider import JsonObject, ProviderError, Request
from tools_agent._providers._scripted import Reply, ScriptedProvider
from tools_core import ToolCall
from tools_core import schema as json_schema

_MAX_DEPTH = 20
_BOUNDS = ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf")
_FORMATS = {
    "date": "2026-01-31",
    "date-time": "2026-01-31T12:00:00Z",
    "duration": "P1D",
    "email": "user@example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "time": "12:00:00Z",
    "uri": "https://example.com/",
    "uuid": "00000000-0000-4000-8000-000000000000",
}


class TestModel(ScriptedProvider):
    """Call every tool once, with valid arguments, and then reply.

    The arguments are the first example of a tool, or follow from its input schema. The reply is `content`, or a value
    that matches the type of the output. `calls` records the requests.

        >>> from tools_agent import Agent, TestModel
        >>> from tools_core import tool
        >>> @tool
        ... def double(number: int) -> int:
        ...     "Double a number."
        ...     return 2 * number
        >>> agent = Agent(model=TestModel(), tools=[double])
        >>> agent.generate("Hi").content, [message.content for message in agent.session.messages][-2]
        ('Done.', '0')
    """

    __test__: ClassVar = False  # pytest would collect the class

    def __init__(self, content: str = "Done.") -> None:
        super().__init__(default=self._reply_to)
        self._content = content

    def _reply_to(self, request: Request) -> Reply:
        called: set[str] = set()
        for message in request.messages:
            if isinstance(message, User):
                called.clear()
            elif isinstance(message, Assistant):
                called.update(call.name for call in message.tool_calls)
        if calls := [_call(tool) for tool in request.tools if tool["name"] not in called]:
            return calls
        if request.output_schema is None:
            return self._content
        return json.dumps(_valid(request.output_schema, "the output"), ensure_ascii=False)


def _call(tool: JsonObject) -> ToolCall:
    examples = tool.get("examples")
    name = tool["name"]
    return ToolCall(None, name, examples[0] if examples else _valid(tool["input_schema"], f"the tool `{name}`"))


def _valid(schema: JsonObject, owner: str) -> Any:
    value = _value(schema, schema, 0)
    if not json_schema.compile(schema).is_valid(value):
        raise ProviderError(f"TestModel cannot find a value for {owner}; add `examples`, or use ScriptedProvider")
    return value


def _value(schema: Any, root: JsonObject, depth: int) -> Any:
    """Return a small value that matches a schema, if its keywords are simple."""
    if not isinstance(schema, dict) or depth > _MAX_DEPTH:
        return None
    schema = _without_references(schema, root)
    listed = [*schema.get("examples", ()), *(schema[key] for key in ("const", "default") if key in schema)]
    if listed or (listed := schema.get("enum", [])):
        return listed[0]
    for union in ("anyOf", "oneOf"):
        if schema.get(union):
            rest = {key: value for key, value in schema.items() if key != union}
            return _value({**rest, **schema[union][-1 if depth > _MAX_DEPTH // 2 else 0]}, root, depth + 1)
    kind = schema.get("type") or ("object" if "properties" in schema else "null")
    kind = kind if isinstance(kind, str) else kind[0]
    if kind == "object":
        properties = schema.get("properties", {})
        return {name: _value(properties.get(name), root, depth + 1) for name in schema.get("required", ())}
    if kind == "array":
        items = [_value(item, root, depth + 1) for item in schema.get("prefixItems", ())]
        missing = schema.get("minItems", 0) - len(items)
        return items + [_value(schema.get("items"), root, depth + 1)] * missing
    if kind == "string":
        return _FORMATS.get(schema.get("format", ""), "a" * max(1, schema.get("minLength", 0)))
    if kind in ("integer", "number"):
        return _number({"type": kind} | {key: schema[key] for key in _BOUNDS if key in schema})
    return False if kind == "boolean" else None


def _without_references(schema: JsonObject, root: JsonObject) -> JsonObject:
    parts = list(schema.get("allOf", ()))
    if "$ref" in schema:
        parts.append(json_schema.resolve(root, schema["$ref"]))
    rest = {key: value for key, value in schema.items() if key not in ("$ref", "allOf")}
    for part in parts:
        rest = {**_without_references(part, root), **rest} if isinstance(part, dict) else rest
    return rest


def _number(schema: dict[str, Any]) -> float:
    low = schema.get("minimum", schema.get("exclusiveMinimum", 0))
    high = schema.get("maximum", schema.get("exclusiveMaximum", low))
    step = schema.get("multipleOf", 1)
    candidates = (0, low, low + 1, high, high - 1, (low + high) / 2, -(-low // step) * step, (low // step + 1) * step)
    return next(filter(json_schema.compile(schema).is_valid, candidates), 0)
