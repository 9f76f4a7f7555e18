"""Thousands of real function definitions, and a model that fills in schemas."""

from __future__ import annotations

import json
import random
import re
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
JSON_TEXT = "JSON text of "
JSON_TEXT_THAT_FITS = "JSON text that fits the JSON Schema "
FURTHER = "Further members"
BOXED = 'null: not given; to give it, null included: {"value": ...}'
MISSING = object()
OPEN = "x-members-may-be-missing"  # in a schema whose dialect does not write null instead


def normalised(schema):
    """The schema in the words of JSON Schema; a type that means anything is left out."""
    made = {}
    for key, value in schema.items():
        if key == "type":
            made |= {"type": TYPE_OF[value]} if value in TYPE_OF else {}
        elif key == "properties":
            made[key] = {name: normalised(part) for name, part in value.items()}
        elif key in ("items", "additionalProperties") and isinstance(value, dict):
            made[key] = normalised(value)
        elif key != "optional":
            made[key] = value
    if "enum" in made and made.get("type") == "array":  # what an item is one of
        made["items"] = {**made.get("items", {}), "enum": made.pop("enum")}
    if "enum" in made:
        fitting = [
            value for value in made["enum"] if Draft202012Validator({"type": made.get("type", [])}).is_valid(value)
        ]
        if len(fitting) < len(made["enum"]):
            made.pop("type", None)
    return made


@pytest.fixture(scope="session")
def sdk():
    """`sdk("openai.types.chat", "ChatCompletion")`: a type, imported when a test needs it: the SDKs take seconds."""

    def find(module, name):
        return getattr(pytest.importorskip(module, reason=f"{module} is not installed"), name)

    return find


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
                found = entry if "parameters" in entry else entry.get("function", [])
                yield from [found] if isinstance(found, dict) else found


@pytest.fixture(scope="session")
def real_definitions(download):
    """Every real definition, in lists in which no two have one name."""
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


class Model:
    """Fills in a schema at random, and writes given arguments as a dialect's schema wants them.

    It knows of a dialect what its schemas say, descriptions included, and nothing else.
    """

    def __init__(self, root, seed):
        self.root = root
        self.random = random.Random(seed)

    def resolve(self, schema):
        while isinstance(schema, dict) and "$ref" in schema:
            found = self.root
            for part in schema["$ref"].split("/")[1:]:
                found = found[part]
            schema = found
        return schema

    def is_valid(self, value, schema):
        definitions = {"$defs": self.root["$defs"]} if isinstance(self.root, dict) and "$defs" in self.root else {}
        return Draft202012Validator({**definitions, **schema} if isinstance(schema, dict) else schema).is_valid(value)

    # --- at random

    def sample(self, schema, depth=0):
        schema = self.resolve(schema)
        if schema is True or schema == {}:
            return self.random.choice([None, True, 3, 2.5, "word", "", [1, None], {"k": "v"}, "null", '{"a":1}'])
        if "allOf" in schema:
            return self.sample(self.flat(schema), depth)
        text = self.text_schema(schema)
        if text is not None and (depth or "string" in schema["type"]):
            return self.sample_text(schema, text)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self.random.choice(schema["enum"])
        for key in ("anyOf", "oneOf"):
            if key in schema:
                branches = schema[key]
                branch = self.random.choice(branches if depth < 5 else branches[-1:])
                rest = {name: value for name, value in schema.items() if name != key}
                return self.sample(self.flat({"allOf": [rest, branch]}) if rest else branch, depth)
        types = schema.get("type", "object" if "properties" in schema else "string")
        return getattr(self, self.random.choice([types] if isinstance(types, str) else types))(schema, depth)

    def flat(self, schema):
        """The schema with its `allOf` merged in, as far as a sample needs it: the judge has the last word."""
        outer = {key: value for key, value in schema.items() if key != "allOf"}
        parts = [outer, *(self.resolve(part) for part in schema["allOf"])]
        parts = [self.flat(part) if "allOf" in part else part for part in parts if isinstance(part, dict)]
        made = {}
        for part in parts:
            made |= part
        names = [name for part in parts for name in part.get("properties", {})]
        if names:
            made["properties"] = {name: self.combined(parts, name) for name in names}
        made["required"] = [name for part in parts for name in part.get("required", [])]
        return made

    def combined(self, parts, name):
        """What all parts say of one member."""
        said = [
            part["properties"][name] if name in part.get("properties", {}) else part.get("additionalProperties", True)
            for part in parts
        ]
        said = [each for each in said if each is not True]
        return said[0] if len(said) == 1 else False if False in said else {"allOf": said}

    def text_schema(self, schema):
        """The schema of a value that is written as JSON text."""
        words = schema.get("description", "").lower()
        if "string" not in schema.get("type", "") or "enum" in schema:
            return None
        if JSON_TEXT_THAT_FITS.lower() in words:
            start = words.index(JSON_TEXT_THAT_FITS.lower()) + len(JSON_TEXT_THAT_FITS)
            return json.JSONDecoder().raw_decode(schema["description"][start:])[0]
        for said, kind in (("any value", True), ("an object", {"type": "object"}), ("an array", {"type": "array"})):
            if JSON_TEXT.lower() + said in words:
                return kind
        return None

    def sample_text(self, schema, text):
        if "null" in schema["type"] and self.random.random() < 0.3:
            return None
        samples = (Model(text, self.random.random()).sample(text) for _ in range(20))
        made = next((value for value in samples if Draft202012Validator(text).is_valid(value)), MISSING)
        return MISSING if made is MISSING else json.dumps(made)

    def object(self, schema, depth):
        properties, required = schema.get("properties", {}), schema.get("required", [])
        made = {}
        for key in dict.fromkeys([*properties, *required]):
            part = properties.get(key, schema.get("additionalProperties", True))
            if part is False or (key not in required and (depth > 4 or self.random.random() < 0.4)):
                continue
            value = self.sample(part, depth + 1)
            is_unset = isinstance(part, dict) and part.get("default", part) is None
            if value is not None or key in required or not is_unset:
                made[key] = value
        # An object that names its members and says nothing of others means these alone, and so does an empty tool.
        further = schema.get("additionalProperties", not properties and depth > 0)
        if further is not False and depth <= 4:
            for key in self.random.sample(["extra", "x-1", "more"], self.random.randrange(3)):
                if key not in properties:
                    made[key] = self.sample(further, depth + 1)
        return made

    def array(self, schema, depth):
        prefix = schema.get("prefixItems", [])
        least = schema.get("minItems", 0)
        count = self.random.randint(
            max(least, len(prefix)), min(schema.get("maxItems", 99), max(least, len(prefix)) + 2)
        )
        items = schema.get("items", True)
        count = min(count, len(prefix)) if items is False else count
        count = least if depth > 4 else count
        return [self.sample(prefix[n] if n < len(prefix) else items, depth + 1) for n in range(count)]

    def string(self, schema, depth):
        size = self.random.randint(
            schema.get("minLength", 0), min(schema.get("maxLength", 9), schema.get("minLength", 0) + 9)
        )
        known = {"date": "2026-11-20", "date-time": "2026-11-20T10:00:00Z", "email": "a@example.org"}
        return known.get(schema.get("format")) or "".join(self.random.choices('abc{}"1é ', k=size))

    def integer(self, schema, depth):
        least = schema.get("minimum", schema.get("exclusiveMinimum", -9) + 1)
        most = schema.get("maximum", schema.get("exclusiveMaximum", max(least, 9) + 1) - 1)
        step = schema.get("multipleOf", 1)
        return self.random.randint(-(-least // step), most // step) * step

    def number(self, schema, depth):
        return self.random.choice([self.integer(schema, depth), self.integer(schema, depth) / 2 + 0.25])

    def boolean(self, schema, depth):
        return self.random.random() < 0.5

    def null(self, schema, depth):
        return None

    # --- as the schema wants it

    def write_arguments(self, arguments):
        """All arguments of a call; those that are no plain object go into one member."""
        is_wrapped = list(self.root["properties"]) == ["arguments"] and "arguments" not in arguments
        return self.write({"arguments": arguments} if is_wrapped else arguments, self.root)

    def write(self, value, schema):
        """`value` in the form of `schema`, or MISSING when it has none."""
        schema = self.resolve(schema)
        if schema.get("description", "").endswith(BOXED):
            made = self.write({"value": value}, schema["anyOf"][0])
        elif "anyOf" in schema:
            written = (self.write(value, branch) for branch in schema["anyOf"])
            made = next((each for each in written if each is not MISSING), MISSING)
        elif self.text_schema(schema) is not None:
            made = json.dumps(value) if Draft202012Validator(self.text_schema(schema)).is_valid(value) else MISSING
        elif "enum" in schema:
            is_listed = any(type(each) is type(value) and each == value for each in schema["enum"])
            made = value if is_listed else json.dumps(value)
        elif "object" in schema.get("type", ()) and isinstance(value, dict):
            made = self.write_object(value, schema)
        elif "array" in schema.get("type", ()) and isinstance(value, list):
            items = [self.write(item, schema["items"]) for item in value]
            made = MISSING if MISSING in items else items
        else:
            made = value
        return made if made is not MISSING and self.is_valid(made, schema) else MISSING

    def write_object(self, value, schema):
        if not value.keys() <= schema["properties"].keys():  # where names of members have to be words
            names = {key: re.sub(r"\W", "_", key, flags=re.ASCII) for key in value}
            value = {new if new in schema["properties"] else key: value[key] for key, new in names.items()}
        made = {}
        further = {key for key, part in schema["properties"].items() if part.get("description", "").startswith(FURTHER)}
        rest = {key: item for key, item in value.items() if key in further or key not in schema["properties"]}
        for key, part in schema["properties"].items():
            if key in further:
                written = self.write(rest, part) if rest else None
                rest = {}
            else:
                is_absent = key not in value
                written = None if is_absent else self.write(value[key], part)
                may_miss = key not in schema["required"] or (not self.root.get(OPEN) and self.is_valid(None, part))
                if written is MISSING or (is_absent and not may_miss):
                    return MISSING
            if written is not None or (key in value and key not in further) or key in schema["required"]:
                made[key] = written
        return MISSING if rest else made


@pytest.fixture(scope="session")
def model():
    return Model


def as_json_schema(schema):
    """Gemini's dialect as JSON Schema."""
    made = {
        key: value for key, value in schema.items() if key not in ("type", "nullable", "properties", "items", "anyOf")
    }
    if "type" in schema:
        made["type"] = schema["type"].lower()
    if "properties" in schema:
        made["properties"] = {name: as_json_schema(part) for name, part in schema["properties"].items()}
        made |= {"additionalProperties": False, "required": schema.get("required", [])}
    if "items" in schema:
        made["items"] = as_json_schema(schema["items"])
    if "anyOf" in schema:
        made["anyOf"] = [as_json_schema(part) for part in schema["anyOf"]]
    if schema.get("nullable"):
        made["type"] = [made["type"], "null"]
        made |= {"enum": [*made["enum"], None]} if "enum" in made else {}
    return made


@pytest.fixture(scope="session")
def parameters_of():
    """The schema that a format wrote, as JSON Schema."""

    def find(format_, written):
        inner = written.get("function", written)
        if format_ == "gemini":
            return as_json_schema(inner.get("parameters") or {"type": "OBJECT", "properties": {}}) | {OPEN: True}
        return inner["parameters"]

    return find


@pytest.fixture(scope="session")
def answer():
    """A response in which a model calls tools, given as (id, name on the wire, arguments)."""

    def make(format_, calls):
        if format_.startswith("openai"):
            return {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": id_, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
                    for id_, name, arguments in calls
                ],
            }
        if format_.startswith("responses"):
            return [
                {"type": "function_call", "call_id": id_, "name": name, "arguments": json.dumps(arguments)}
                for id_, name, arguments in calls
            ]
        if format_ == "anthropic":
            return [{"type": "tool_use", "id": id_, "name": name, "input": args} for id_, name, args in calls]
        if format_ == "gemini":
            return [{"functionCall": {"id": id_, "name": name, "args": args}} for id_, name, args in calls]
        return [
            {"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": {"name": name, "arguments": args}}
            for id_, name, args in calls
        ]

    return make
