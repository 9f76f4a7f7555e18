"""Ordinary schemas, which nearly all are, written at the speed of a copy.

Each function writes what the dialect's rewriter would, or gives None: then that has to do it. Ordinary are objects that
name their members, lists, and scalars with a description, a default, bounds of a number and a choice of texts.
"""

from __future__ import annotations

from tools_core.formats._words import default_words

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from typing import Any

    Schema = dict[str, Any]

_SCALARS = frozenset(("boolean", "integer", "number", "string"))
_UPPER = {kind: kind.upper() for kind in _SCALARS}
_KNOWN = frozenset(("default", "description", "enum", "type"))
_BOUNDS = ("maximum", "minimum")
_KNOWN_NUMBER = _KNOWN.union(_BOUNDS)
_ANNOTATED = frozenset(("description",))
_TYPED = frozenset(("description", "type"))
_KNOWN_ARRAY = frozenset(("default", "description", "items", "type"))
_KNOWN_OBJECT = frozenset(("additionalProperties", "description", "properties", "required", "type"))
_LISTS = (list, tuple)
_MOST = 200  # properties and enum values of a schema, far below every provider's limits
_LONGEST = 64  # characters of a name, and of an enum value: as above


def strict_object(schema: Any, left: int = _MOST) -> Schema | None:
    """An object in OpenAI's strict dialect."""
    required = _required_of(schema, left)
    if required is None:
        return None
    properties = schema["properties"]
    count = len(properties)
    left -= count
    made: Schema = {}
    for name, part in properties.items():
        if type(part) is not dict or len(name) > _LONGEST:
            return None
        kind = part.get("type")
        if type(kind) is str and kind in _SCALARS and (len(part) == 1 or (len(part) == 2 and part.get("description"))):
            # The commonest of all, without a call.
            made[name] = {**part} if name in required else {**part, "type": [kind, "null"]}
        else:
            written = _strict_part(part, kind, left // (count + 1), is_needed=name in required)
            if written is None:
                return None
            made[name] = written
    out = {"type": "object", "properties": made, "required": list(made), "additionalProperties": False}
    if "description" in schema:
        out["description"] = schema["description"]
    return out


def _strict_part(part: Schema, kind: Any, left: int, *, is_needed: bool) -> Schema | None:
    if type(kind) is not str and kind is not None:
        return None
    if kind in _SCALARS:
        made = _scalar({"type": kind if is_needed else [kind, "null"]}, part, left)
        if not is_needed and made is not None and "enum" in made:
            made["enum"].append(None)
        return made
    if kind == "array":
        items = part.get("items")
        item = _strict_part(items, items.get("type"), left - 1, is_needed=True) if type(items) is dict else None
        if item is None or not part.keys() <= _KNOWN_ARRAY:
            return None
        made = {"type": "array", "items": item}
        return _described(made if is_needed else {"anyOf": [made, {"type": "null"}]}, part)
    if not part.get("properties"):
        return _free({"type": "string" if is_needed else ["string", "null"]}, part, kind)
    made = strict_object(part, left)
    if made is None or is_needed:
        return made
    outer = {"description": made.pop("description")} if "description" in made else {}
    return {"anyOf": [made, {"type": "null"}], **outer}


def gemini_object(schema: Any, left: int = _MOST) -> Schema | None:
    """An object in Gemini's dialect."""
    required = _required_of(schema, left)
    if required is None:
        return None
    properties = schema["properties"]
    count = len(properties)
    left -= count
    made: Schema = {}
    for name, part in properties.items():
        if type(part) is not dict or len(name) > _LONGEST or not (name.isidentifier() and name.isascii()):
            return None
        kind = part.get("type")
        if type(kind) is str and kind in _SCALARS and (len(part) == 1 or (len(part) == 2 and part.get("description"))):
            made[name] = {**part, "type": _UPPER[kind]}
        else:
            written = _gemini_part(part, kind, left // (count + 1))
            if written is None:
                return None
            made[name] = written
    out: Schema = {"type": "OBJECT", "properties": made}
    if required:
        out["required"] = [name for name in made if name in required]
    if "description" in schema:
        out["description"] = schema["description"]
    return out


def _gemini_part(part: Schema, kind: Any, left: int) -> Schema | None:
    if type(kind) is not str and kind is not None:
        return None
    if kind in _SCALARS:
        made = _scalar({"type": _UPPER[kind]}, part, left)
        return None if made is not None and "" in made.get("enum", ()) else made
    if kind == "array":
        items = part.get("items")
        item = _gemini_part(items, items.get("type"), left - 1) if type(items) is dict else None
        if item is None or not part.keys() <= _KNOWN_ARRAY:
            return None
        return _described({"type": "ARRAY", "items": item}, part)
    if not part.get("properties"):
        return _free({"type": "STRING"}, part, kind)
    return gemini_object(part, left)


def _required_of(schema: Any, left: int) -> Any:
    """The names required of an ordinary object; None when it is not ordinary."""
    if type(schema) is not dict or schema.get("type") != "object" or not schema.keys() <= _KNOWN_OBJECT:
        return None
    properties, required = schema.get("properties"), schema.get("required", ())
    if type(properties) is not dict or len(properties) > left or type(required) not in _LISTS:
        return None
    if left <= 0 or schema.get("additionalProperties", False) is not False or schema.get("description", True) == "":
        return None
    for name in required:
        if name not in properties:
            return None
    return required


def _scalar(made: Schema, part: Schema, left: int) -> Schema | None:
    """`made` with what a scalar's description, bounds and choice of texts become; None when it has more than those."""
    if not part.keys() <= _KNOWN:
        if part["type"] not in ("integer", "number") or not part.keys() <= _KNOWN_NUMBER:
            return None
        made.update((key, part[key]) for key in _BOUNDS if key in part)
    if "enum" in part:
        values = part["enum"]
        if part["type"] != "string" or type(values) is not list or not values or len(values) > left:
            return None
        for value in values:
            if type(value) is not str or len(value) > _LONGEST:
                return None
        made["enum"] = [*values]
    return _described(made, part)


def _described(made: Schema, part: Schema) -> Schema | None:
    """`made` with the description and the default; None for words that are no text, or none."""
    description, default = part.get("description"), part.get("default")
    if default is not None:
        words = default_words(default)
        made["description"] = f"{description} ({words})" if description else words[:1].upper() + words[1:]
    elif description:
        made["description"] = description
    elif description is not None:
        return None
    return made


def _free(made: Schema, part: Schema, kind: Any) -> Schema | None:
    """`made` with the words for a value without a schema of its own; None when it has one."""
    if kind is None and part.keys() <= _ANNOTATED:
        said = "JSON text of any value"
    elif kind == "object" and part.keys() <= _TYPED:
        said = "JSON text of an object"
    else:
        return None
    description = part.get("description")
    made["description"] = f"{description} ({said})" if description else said
    return made
