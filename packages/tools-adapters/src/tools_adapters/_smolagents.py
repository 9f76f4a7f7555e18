"""smolagents: tools for its code agents and tool-calling agents."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from io import BytesIO
from keyword import iskeyword
from typing import Any, Unpack

import PIL.Image
import smolagents
from smolagents.agent_types import AgentImage
from smolagents.local_python_executor import FinalAnswerException

from tools_adapters._bridge import BridgedTool, Options, bridge, parts_of, text_of
from tools_core import Image, ToolError, Tools

_TYPES = frozenset(("string", "boolean", "integer", "number", "array", "object", "null"))


def to_smolagents(tools: Tools, **options: Unpack[Options]) -> list[smolagents.Tool]:
    """Make smolagents tools; see `Options` for `executor`, `context` and `approve`.

    A tool-calling agent reads the content of a result, and code receives its data; a result that is one picture is a
    PIL image. A failure raises ToolError, which the agent shows its model. In code a halt is the final answer, but no
    tool can end a run of a tool-calling agent. All calls of the tools belong to one run, the context's. Without
    `approve` or an executor, a tool that requires approval refuses to run, because smolagents does not ask its user.
    """
    return [AskTool(tool) for tool in bridge(tools, **options)]


class Unchecked(str):
    """The JSON type of an input, for the model to read: tool-calling agents find no value to be of another type.

    So the tool itself validates and repairs the arguments, and its messages reach the model.
    """

    __slots__ = ()

    def __ne__(self, other: object) -> bool:
        return False


class AskTool(smolagents.Tool):
    """A tool of ours, with a `__call__` that does not change the arguments."""

    skip_forward_signature_validation = True
    output_type = "any"

    def __init__(self, bridged: BridgedTool) -> None:
        super().__init__()
        name = bridged.name.replace("-", "_")  # code calls it by this name
        self.name = f"{name}_" if iskeyword(name) else name
        self.description = bridged.description
        self.inputs = _inputs(bridged.schema)
        self.bridged = bridged
        output = bridged.definition.get("output_schema")
        self.output_schema = output if isinstance(output, dict) and output.get("type") == "object" else None

    def __call__(self, *args: Any, sanitize_inputs_outputs: bool = False, **arguments: Any) -> Any:
        """Call the tool; only tool-calling agents set the flag: their models read text, and code works with data."""
        is_code = not sanitize_inputs_outputs
        if len(args) > len(self.inputs):
            raise ToolError(f"{self.name} takes {', '.join(self.inputs) or 'nothing'}; got {len(args)} arguments")
        result = self.bridged.call(dict(zip(self.inputs, args, strict=False)) | arguments)
        is_end = result.halted and is_code
        if not (result.ok or is_end):
            raise ToolError(text_of(result), result.error_type or "execution_error") from result.exception
        parts = parts_of(result, "image")
        if len(parts) == 1 and isinstance(parts[0], Image):
            data = parts[0].data
            value: Any = PIL.Image.open(BytesIO(data)) if is_code else AgentImage(data)
        else:
            value = text_of(result)
            if is_code and not isinstance(result.output, str | None):
                with suppress(ValueError):  # the tool wrote other text for the model
                    value = json.loads(value)
        if is_end:
            raise FinalAnswerException(value)
        return value


def _inputs(schema: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    required = schema.get("required", ())
    inputs: dict[str, dict[str, Any]] = {}
    for name, property_schema in schema["properties"].items():
        value: dict[str, Any] = _inlined(property_schema, schema) if isinstance(property_schema, Mapping) else {}
        # Null adds nothing to an input that can be omitted.
        others = [option for option in value.get("anyOf", ()) if option != {"type": "null"}]
        if len(others) == 1:
            del value["anyOf"]
            value = {**others[0], **value}
        description, given_type = value.pop("description", ""), value.get("type", ())
        types = [given_type] if isinstance(given_type, str) else [option for option in given_type if option != "null"]
        if types and _TYPES.issuperset(types):
            value["type"] = Unchecked(types[0]) if len(types) == 1 else types
        else:  # smolagents has no unions: the description has what the type lacks
            description = f"{description} JSON Schema: {json.dumps(value)}".strip() if value else description
            value = {"type": "any"}
        inputs[name] = {**value, "description": description} | ({} if name in required else {"nullable": True})
    return inputs


def _inlined(schema: Any, root: Mapping[str, Any], parents: tuple[str, ...] = ()) -> Any:
    """Replace references, which smolagents schemas cannot have; a recursive one accepts anything."""
    if isinstance(schema, list):
        return [_inlined(item, root, parents) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    inlined = {key: _inlined(value, root, parents) for key, value in schema.items() if key != "$ref"}
    reference = schema.get("$ref")
    if not isinstance(reference, str) or reference in parents:
        return inlined
    target: Any = root
    for key in reference.removeprefix("#").split("/")[1:]:
        target = target[key]
    return {**_inlined(target, root, (*parents, reference)), **inlined}
