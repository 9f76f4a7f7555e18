"""Arguments of a tool on a command line: `days=3`, `shipping.city=Oslo`, `limits:=[1,2]`."""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote
from typing import Any

from tools_core._cli._output import CommandError
from tools_core._cli._schema_text import Schema, is_object, schema_at, split_key, types
from tools_core._jsonschema._references import flatten
from tools_core._values._errors import InvalidArguments
from tools_core._values._json import parse, refuse
from tools_core._values._problem import show

_NUMBERS = {"integer", "number"}


def read_arguments(words: Sequence[str], schema: Schema) -> dict[str, Any] | str:
    """Convert `key=value` to the types in a tool's input schema and parse `key:=json`; a repeated key makes an array.

    A single word that begins with `{` is returned as it is: JSON text of all arguments. A value that does not fit its
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
        options = flatten(schema_at(path, schema), schema)
        _put(arguments, path, _typed(values, options, schema, ".".join(path)))
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
    place = arguments
    for name in path[:-1]:
        inner = place.setdefault(name, {})
        if not is_object(inner):
            raise CommandError(f"{'.'.join(path)} and {name} are both given; use one of them")
        place = inner
    if path[-1] in place:
        raise CommandError(f"{'.'.join(path)} is given twice")
    place[path[-1]] = value


def _typed(texts: list[str], options: list[Schema], root: Schema, name: str) -> Any:
    """Convert the texts of one key to the type in the schema; a text that does not fit stays text."""
    arrays = [option for option in options if "array" in types(option)]
    if len(texts) == 1:
        value = _scalar(texts[0], options)
        if not arrays or value is not texts[0] or "string" in types(*options):
            return value
    elif options and not arrays:
        raise CommandError(f"{name} is given {len(texts)} times, but takes one value")
    items = [item for option in arrays for item in flatten(option.get("items"), root)]
    return [_scalar(text, items) for text in texts]


def _scalar(text: str, options: list[Schema]) -> Any:
    """Convert `text` to a type of the options; return the same object if it stays text."""
    kinds = types(*options)
    if not kinds or "string" in kinds:
        return text
    if text.lower() in ("true", "false") and "boolean" in kinds:
        return text.lower() == "true"
    try:
        value = _json_value(text)
    except InvalidArguments:
        return text
    fitting = types({"const": value})
    if fitting & _NUMBERS:  # also a fraction for an integer: the tool reports it
        fitting = _NUMBERS
    return value if kinds & fitting else text


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
