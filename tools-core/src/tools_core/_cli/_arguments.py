"""Arguments of a tool on a command line: `days=3`, `shipping.city=Oslo`, `limits:=[1,2]`."""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote
from typing import Any

from tools_core._cli._output import CommandError
from tools_core._cli._schema_text import Schema, schema_at, split_key
from tools_core._jsonschema._types import TYPE_NAMES, accepted_types, flatten
from tools_core._values._errors import InvalidArguments
from tools_core._values._json import parse, refuse
from tools_core._values._problem import show

_NUMBERS = {"integer", "number"}


def read_arguments(words: Sequence[str], schema: Schema) -> dict[str, Any] | str:
    """Convert `key=value` to the types in a tool's input schema and parse `key:=json`; a repeated key makes an array.

    A single word that begins with `{` is returned unchanged: JSON text of all arguments. A value that does not fit its
    type stays text, which the tool reports.

    Raises: CommandError for a word that is not an argument.
    """
    if len(words) == 1 and words[0].lstrip().startswith("{"):
        return words[0]
    texts: dict[tuple[str, ...], list[str]] = {}
    arguments: dict[str, Any] = {}
    for index, word in enumerate(words):
        key, equals, text = word.partition("=")
        if not equals or not key.rstrip(":"):
            hint = _suggestion(words[index:], schema)
            raise CommandError(f"arguments are key=value or key:=json, got {show(word)}", hint)
        if key.endswith(":"):
            _put(arguments, split_key(key[:-1], schema, schema), _parse(key, text))
        else:
            texts.setdefault(split_key(key, schema, schema), []).append(text)
    for path, values in texts.items():
        _put(arguments, path, _typed(values, schema_at(path, schema), schema, ".".join(path)))
    return arguments


def _parse(key: str, text: str) -> Any:
    try:
        return _json_value(text)
    except InvalidArguments as error:
        reason = (error.reason or "").replace("_", " ")
        hint = f"for plain text, write {key[:-1]}=TEXT"
        raise CommandError(f"{key}= must be followed by JSON, got {show(text)} ({reason})", hint) from error


def _json_value(text: str) -> Any:
    """Parse any JSON value as strictly as the arguments of a model, which are always an object."""
    wrapper = parse(f'{{"value":{text}}}')
    if wrapper.keys() != {"value"}:
        refuse("invalid_json", "one JSON value")
    return wrapper["value"]


def _put(arguments: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    parent = arguments
    for name in path[:-1]:
        parent = parent.setdefault(name, {})
        if not isinstance(parent, dict):
            raise CommandError(f"{'.'.join(path)} and {name} are both given; use one of them")
    if path[-1] in parent:
        raise CommandError(f"{'.'.join(path)} is given twice")
    parent[path[-1]] = value


def _typed(texts: list[str], schema: Any, root: Schema, name: str) -> Any:
    """Convert the texts of one key to the type in the schema; a text that does not fit stays text."""
    types = accepted_types(schema, root)
    if len(texts) == 1:
        value = _scalar(texts[0], types)
        if "array" not in types or value is not texts[0] or "string" in types:
            return value
    elif types and "array" not in types:
        raise CommandError(f"{name} is given {len(texts)} times, but takes one value")
    arrays = [option for option in flatten(schema, root) if "array" in accepted_types(option, root)]
    items = {"anyOf": [option.get("items", True) for option in arrays]}
    return [_scalar(text, accepted_types(items, root)) for text in texts]


def _scalar(text: str, types: list[str]) -> Any:
    """Convert `text` to one of the types; return the same object if it stays text."""
    if not types or "string" in types:
        return text
    if text.lower() in ("true", "false") and "boolean" in types:
        return text.lower() == "true"
    try:
        value = _json_value(text)
    except InvalidArguments:
        return text
    name = TYPE_NAMES[type(value)]
    # Also converts a fraction for an integer, which the tool reports.
    return value if name in types or (name in _NUMBERS and not _NUMBERS.isdisjoint(types)) else text


def _suggestion(words: Sequence[str], schema: Schema) -> str:
    """Suggest an argument for the first of the words, which is not one."""
    word, following = words[0], words[1] if len(words) > 1 else "="
    properties = list(schema.get("properties", ()))
    names = schema.get("required") or properties
    if "=" in word or not names:
        return ""
    if word in properties:
        value = "VALUE" if "=" in following else quote(following)
        return f"did you mean {word}={value}"
    return f"did you mean {names[0]}={quote(word)}"
