"""Arguments of a tool on a command line: `days=3`, `shipping.city=Oslo`, `limits:=[1,2]`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tools_core._cli._schema_text import is_object, schema_at, split_key, types
from tools_core._cli._terminal import CommandError
from tools_core._jsonschema._references import flatten
from tools_core._values._errors import InvalidArguments
from tools_core._values._json import parse, refuse
from tools_core._values._problem import show

if TYPE_CHECKING:
    from collections.abc import Sequence

    Schema = dict[str, Any]

_NUMBERS = {"integer", "number"}


def read_arguments(words: Sequence[str], root: Schema) -> dict[str, Any] | str:
    """Convert `key=value` by the tool's schema `root` and parse `key:=json`; a repeated key makes an array.

    A single word that begins with `{` is returned as it is: JSON text of all arguments. A value that does not fit its
    type stays text, and the tool's own error reports it. CommandError for a word that is not an argument.
    """
    if len(words) == 1 and words[0].lstrip().startswith("{"):
        return words[0]
    given: dict[tuple[str, ...], list[str]] = {}
    arguments: dict[str, Any] = {}
    for word in words:
        key, equals, text = word.partition("=")
        if not equals or not key.rstrip(":"):
            raise CommandError(f"arguments are key=value or key:=json, got {show(word)}", _proposal(word, root))
        if key.endswith(":"):
            _put(arguments, split_key(key[:-1], root, root), _parse(key, text))
        else:
            given.setdefault(split_key(key, root, root), []).append(text)
    for path, texts in given.items():
        _put(arguments, path, _typed(texts, flatten(schema_at(path, root), root), root, ".".join(path)))
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
    made = parse(f'{{"value":{text}}}')
    if made.keys() != {"value"}:
        refuse("invalid_json", "one JSON value")
    return made["value"]


def _put(arguments: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    place = arguments
    for name in path[:-1]:
        inner = place.setdefault(name, {})
        if not is_object(inner):
            raise CommandError(f"{'.'.join(path)} is given beside {name}; give one of them")
        place = inner
    if path[-1] in place:
        raise CommandError(f"{'.'.join(path)} is given twice; give it once")
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


def _proposal(word: str, root: Schema) -> str:
    names = root.get("required") or list(root.get("properties", ()))
    if not names or "=" in word:
        return ""
    import shlex  # only for a mistake

    return f"did you mean {names[0]}={shlex.quote(word)}"
