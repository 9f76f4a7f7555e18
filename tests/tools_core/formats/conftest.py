"""Thousands of real function definitions, and answers in which models call tools."""

from __future__ import annotations

import json
import zipfile
from pathlib import PurePath

import pytest
from jsonschema import Draft202012Validator

# The definitions come from several languages; some name types of Python, Java and JavaScript.
TYPES = {
    "array": ["array", "Array", "ArrayList", "tuple"],
    "boolean": ["boolean", "Boolean"],
    "integer": ["integer", "long"],
    "number": ["number", "float", "double"],
    "object": ["object", "dict", "HashMap", "Hashtable"],
    "string": ["string", "String", "char"],
}
TYPE_OF = {name: kind for kind, names in TYPES.items() for name in names}


def normalised(schema):
    """Return the schema with the types of JSON Schema; a type for any value is removed."""
    result = {}
    for key, value in schema.items():
        if key == "type":
            result |= {"type": TYPE_OF[value]} if value in TYPE_OF else {}
        elif key == "properties":
            result[key] = {name: normalised(part) for name, part in value.items()}
        elif key in ("items", "additionalProperties") and isinstance(value, dict):
            result[key] = normalised(value)
        elif key != "optional":
            result[key] = value
    if "enum" in result and result.get("type") == "array":  # the choices of an item
        result["items"] = {**result.get("items", {}), "enum": result.pop("enum")}
    if "enum" in result:
        fits = Draft202012Validator({"type": result.get("type", [])}).is_valid
        if not all(map(fits, result["enum"])):
            result.pop("type", None)
    return result


def definitions_in(wheel):
    """Yield every function that the questions and the documents of the wheel define."""
    with zipfile.ZipFile(wheel) as archive:
        for path in sorted(map(PurePath, archive.namelist())):
            if path.parts[:2] != ("bfcl_eval", "data") or "possible_answer" in path.parts or path.suffix != ".json":
                continue
            for line in archive.read(str(path)).decode("utf-8").splitlines():
                if line[:1] != "{" or line[-1:] != "}":  # a file of another kind
                    break
                entry = json.loads(line)
                entry = entry if "parameters" in entry else entry.get("function", [])
                yield from [entry] if isinstance(entry, dict) else entry


@pytest.fixture(scope="session")
def real_definitions(download):
    """Every real definition, in lists of definitions with different names."""
    wheel = download("bfcl-eval==2026.3.23", "--only-binary=:all:")
    unique = {json.dumps(definition, sort_keys=True): definition for definition in definitions_in(wheel)}
    batches = []
    for raw in unique.values():
        schema = normalised(raw["parameters"])
        batch = next((batch for batch in batches if raw["name"] not in batch), None)
        if batch is None:
            batches.append(batch := {})
        batch[raw["name"]] = {"name": raw["name"], "description": raw["description"], "input_schema": schema}
    return [list(batch.values()) for batch in batches]


@pytest.fixture(scope="session")
def sdk():
    """`sdk("openai.types.chat", "ChatCompletion")`: a type, imported when a test needs it: the SDKs take seconds."""

    def find(module, name):
        return getattr(pytest.importorskip(module, reason=f"{module} is not installed"), name)

    return find


@pytest.fixture(scope="session")
def answer():
    """Return a response with calls, which are tuples of an id, a name on the wire and arguments."""

    def make(format_, calls):
        if format_.startswith("openai"):
            functions = [(id_, {"name": name, "arguments": json.dumps(args)}) for id_, name, args in calls]
            items = [{"id": id_, "type": "function", "function": function} for id_, function in functions]
            return {"role": "assistant", "content": None, "tool_calls": items}
        if format_.startswith("responses"):
            return [
                {"type": "function_call", "call_id": id_, "name": name, "arguments": json.dumps(args)}
                for id_, name, args in calls
            ]
        if format_.startswith("anthropic"):
            return [{"type": "tool_use", "id": id_, "name": name, "input": args} for id_, name, args in calls]
        if format_ == "gemini":
            return [{"functionCall": {"id": id_, "name": name, "args": args}} for id_, name, args in calls]
        return [{"id": id_, "method": "tools/call", "params": {"name": n, "arguments": a}} for id_, n, a in calls]

    return make
