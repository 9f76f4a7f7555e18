"""Parse the JSON text of arguments strictly, without guesses."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from tools_core._values._errors import InvalidArguments
from tools_core._values._problem import Problem, show

TEXT_LIMIT = 10_000_000  # characters; the largest file that a model may reasonably write in one call
_WHITESPACE = " \t\n\r"


def refuse(reason: str, text: str) -> NoReturn:
    raise InvalidArguments([Problem(None, text)], reason)


def _refuse_constant(name: str) -> NoReturn:
    refuse("not_finite", f"invalid JSON in arguments: {name} is not a JSON number; send a number, null or a string")


def _object_without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        keys = [key for key, _ in pairs]
        repeated = next(key for key in keys if keys.count(key) > 1)
        refuse("duplicate_key", f"invalid JSON in arguments: the key {show(repeated)} appears twice; send it once")
    return value


_loose = json.JSONDecoder(parse_constant=_refuse_constant)
_exact = json.JSONDecoder(parse_constant=_refuse_constant, object_pairs_hook=_object_without_duplicates)


def parse(text: str | bytes, *, exactly: bool = True) -> dict[str, Any]:
    """Parse one JSON object; blank text, `null` and `[]` mean no arguments, as some servers write them.

    A repeated key is refused, because another parser may take the first value; without `exactly`, which takes half
    the time for large objects, the last value counts.

    Raises InvalidArguments with one of the reasons `invalid_json`, `not_an_object`, `not_finite`, `duplicate_key`,
    `too_deep`, `too_large`, `number_too_large`.
    """
    if not isinstance(text, str):
        text = _decode(text)
    if len(text) > TEXT_LIMIT:
        refuse("too_large", f"the arguments are {len(text):,} characters long; the limit is {TEXT_LIMIT:,}")
    text = text.strip(_WHITESPACE)
    if text in ("", "null", "[]"):
        return {}
    try:
        # `decode` would double the time for small objects.
        value, end = (_exact if exactly else _loose).raw_decode(text)
    except json.JSONDecodeError as error:
        _refuse_json(error.msg, text, error.pos)
    except RecursionError:
        refuse("too_deep", "the arguments are nested too deeply; send a flatter object")
    except ValueError:  # int() refuses more than sys.get_int_max_str_digits() digits
        refuse("number_too_large", "invalid JSON in arguments: a number has too many digits; send it as a string")
    if end != len(text):
        _refuse_json("Extra data", text, end)
    if type(value) is dict:
        return value
    if isinstance(value, str) and value.lstrip(_WHITESPACE).startswith("{"):
        text = "the arguments are JSON encoded twice (a string that holds an object); send the object itself"
    else:
        text = f'the arguments must be an object, got {show(value)}; send {{"name": value, ...}}'
    refuse("not_an_object", text)


def _decode(text: bytes) -> str:
    try:
        return bytes(text).decode()
    except UnicodeDecodeError as error:
        refuse("invalid_json", f"invalid JSON in arguments: not UTF-8 at byte {error.start}")


def _refuse_json(message: str, text: str, position: int) -> NoReturn:
    if position >= len(text):
        place = "at the end: it seems cut off"
    else:
        place = f"at character {position}, before {show(text[position : position + 20])}"
    reason = f"{message[:1].lower()}{message[1:]}".removesuffix(" at")
    refuse("invalid_json", f"invalid JSON in arguments: {reason} {place}; send one JSON object")
