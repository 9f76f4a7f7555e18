"""What may be written down of arguments and results: no secrets, and not too much of anything."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from tools_core.text import is_secret_name
from tools_runtime.plugins._utf8 import encoded

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tools_core import Result

HIDDEN = "[redacted]"
_STRING = 2_000  # characters of a string
_NAME = 200  # characters of a name that are looked at
_ITEMS = 100  # of a list or an object
_DEPTH = 12
_SHORT = 4  # characters from which on a secret is looked for in other texts

_URL = re.compile(r"""://(?:([^\s/?#@]*)@)?[^\s?#]*(?:\?([^\s#"'<>]*))?""")  # who, and the query

_is_secret = lru_cache(4096)(is_secret_name)  # the names of arguments are few


class Redactor:
    """Hides values under names that look secret, and given values wherever they stand."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        if isinstance(values, str):
            raise TypeError("redact is a collection of values, not one string")
        self._is_guarded = False  # whether arguments have secrets, or cannot be read
        self._values = sorted({value for value in values if value}, key=len, reverse=True)

    def copy(self, value: Any) -> Any:
        """A copy that may be written down, as plain JSON."""
        return self._copied(value, _DEPTH)

    def text(self, text: str) -> str:
        """The same for one string."""
        for secret in self._values:
            text = text.replace(secret, HIDDEN)
        if len(text) <= _STRING:
            return text
        import hashlib  # for long strings alone

        digest = hashlib.sha256(encoded(text)).hexdigest()
        return f"{text[:_STRING]}…[{len(text)} characters, sha256 {digest}]"

    def knowing(self, arguments: Any) -> Redactor:
        """A redactor that hides the secrets of these arguments in other texts, too: an error may repeat them."""
        found = {form for secret in _secrets(arguments, _DEPTH) for form in _forms(secret)}
        if arguments is not None and not found:
            return self
        made = Redactor([*self._values, *found])
        made._is_guarded = True
        return made

    def error(self, result: Result) -> str:
        """The message of an error. That of arguments which do not fit shows parts of them, which nobody could find."""
        if self._is_guarded and result.error_type == "validation_error":
            return "<not written: it may repeat what is secret>"
        return self.text(result.error_message or "")

    def _copied(self, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int):
            return int(value) if value.bit_length() <= 64 else f"<integer of {value.bit_length()} bits>"
        if isinstance(value, float):
            return value if value - value == 0 else str(value)
        if depth == 0:
            return "<nested too deeply>"
        if isinstance(value, Mapping):
            return self._object(value, depth)
        if isinstance(value, list | tuple):
            items = [self._copied(item, depth - 1) for item in value[:_ITEMS]]
            return items if len(value) <= _ITEMS else [*items, f"…[{len(value)} items]"]
        return f"<{type(value).__name__}>"

    def _object(self, value: Mapping[Any, Any], depth: int) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for number, (key, item) in enumerate(value.items()):
            if number == _ITEMS:
                made["…"] = f"[{len(value)} members]"
                break
            name = str(key)
            made[self.text(name)] = HIDDEN if _is_hidden(name, item) else self._copied(item, depth - 1)
        return made


def _is_hidden(name: str, value: Any) -> bool:
    # `max_tokens: 100` counts something. A number can be a password, but hardly a list of tokens.
    if value is None or isinstance(value, bool) or (isinstance(value, int | float) and "tokens" in name.lower()):
        return False
    return _is_secret(name[:_NAME])


def _secrets(value: Any, depth: int, hidden: bool = False) -> Iterable[str]:
    if isinstance(value, str):
        if hidden and len(value) >= _SHORT:
            yield value
        elif depth and not hidden:
            yield from _in_text(value, depth)
    elif isinstance(value, int):
        if hidden and 10 ** (_SHORT - 1) <= abs(value) < 2**64:
            yield str(value)
    elif depth and isinstance(value, Mapping):
        for name, item in value.items():
            yield from _secrets(item, depth - 1, hidden or _is_hidden(str(name), item))
    elif depth and isinstance(value, list | tuple):
        for item in value[:_ITEMS]:
            yield from _secrets(item, depth - 1, hidden)


def _in_text(text: str, depth: int) -> Iterable[str]:
    """The secrets in JSON text, of which a tool may be given the object, in URLs and in headers."""
    if text.lstrip()[:1] in ("{", "["):
        with suppress(ValueError, RecursionError):
            yield from _secrets(json.loads(text), depth - 1)
    for who, query in _URL.findall(text):
        yield from _secrets({"password": who.partition(":")[2]}, 1)
        for name, _, value in (part.partition("=") for part in query.split("&")):
            yield from _secrets({name: value}, 1)
    name, colon, value = text.partition(": ")
    if colon and "\n" not in name:
        yield from _secrets({name: value}, 1)  # a header


def _forms(secret: str) -> Iterable[str]:
    """A secret, and how it is written in other texts: quoted by Python or JSON, or without `Bearer` in front."""
    yield secret
    yield from (repr(secret)[1:-1], json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1])
    scheme, _, rest = secret.partition(" ")
    if scheme.lower() in ("basic", "bearer", "token") and len(rest) >= _SHORT:
        yield rest
