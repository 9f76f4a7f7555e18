"""What may be written down of arguments and results: no secrets, and not too much of anything."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from itertools import islice
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

_TEXT = 100_000  # characters of a text that are searched
_NOTHING = frozenset(("false", "none", "null", "true"))

_URL = re.compile(r"""://(?:([^\s/?#@]*)@)?[^\s?#]*(?:\?([^\s#"'<>]*))?""")  # who, and the query
# In scripts, settings and code: a name, and what follows an equals sign, a colon or an option.
_GIVEN = re.compile(r"""(?<![\w-])(--)?([A-Za-z_][\w-]{0,100})["']?(\s*[:=]\s*|(?(1)\s+|(?!)))""")
_QUOTED = re.compile("\"([^\"\n]+)\"|'([^'\n]+)'")
_WORD = re.compile(r"""[^\s"'`;&|()<>,]++(?!\()""")  # what is called is none
_REST = re.compile("""[^"'\n]{1,4000}""")  # of the line

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
            if _hides_second(value):
                return [self.text(value[0]), HIDDEN]
            items = [self._copied(item, depth - 1) for item in value[:_ITEMS]]
            return items if len(value) <= _ITEMS else [*items, f"…[{len(value)} items]"]
        return f"<{type(value).__name__}>"

    def _object(self, value: Mapping[Any, Any], depth: int) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for number, (key, item) in enumerate(value.items()):
            if number == _ITEMS:
                made["…"] = f"[{len(value)} members]"
                break
            is_hidden = _is_hidden(_name_of(key, value), item)
            made[self.text(str(key))] = HIDDEN if is_hidden else self._copied(item, depth - 1)
        return made


def _is_hidden(name: str, value: Any) -> bool:
    # `max_tokens: 100` counts something. A number can be a password, but hardly a list of tokens.
    if value is None or isinstance(value, bool) or (isinstance(value, int | float) and "tokens" in name.lower()):
        return False
    return _is_secret(name[:_NAME])


def _name_of(key: Any, within: Mapping[Any, Any]) -> str:
    """What a member is called: by its key, or as in `{"name": ..., "value": ...}`."""
    return str(within.get("name", within.get("key", key)) if key == "value" else key)


def _hides_second(value: Any) -> bool:
    """Whether this is a pair of a name and a secret, as headers are given."""
    return len(value) == 2 and isinstance(value[0], str) and _is_hidden(value[0], value[1])


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
        for key, item in value.items():
            yield from _secrets(item, depth - 1, hidden or _is_hidden(_name_of(key, value), item))
    elif depth and isinstance(value, list | tuple):
        second = _hides_second(value)
        for place, item in enumerate(value[:_ITEMS]):
            yield from _secrets(item, depth - 1, hidden or (second and place == 1))


def _in_text(text: str, depth: int) -> Iterable[str]:
    """The secrets in JSON text, of which a tool may be given the object, in URLs, headers, scripts and settings."""
    if text.lstrip()[:1] in ("{", "["):
        with suppress(ValueError, RecursionError):  # it only looked like JSON
            yield from _secrets(json.loads(text), depth - 1)
    text = text[:_TEXT]
    for who, query in _URL.findall(text):
        yield from _secrets({"password": who.partition(":")[2]}, 1)
        for name, _, value in (part.partition("=") for part in query.split("&")):
            yield from _secrets({name: value}, 1)
    named = (match for match in _GIVEN.finditer(text) if _is_secret(match[2]))
    for match in islice(named, _ITEMS):
        yield from _secrets({match[2]: _given(match)}, 1)


def _given(match: re.Match[str]) -> str | None:
    """What is given under a name; not what only says where it is, as `$TOKEN` or `token=token` do."""
    name, sign = match[2], match[3]
    found = _QUOTED.match(match.string, match.end())
    if found is None and sign in (": ", ":\t"):  # a header, or a line of YAML
        found = _REST.match(match.string, match.end())
    elif found is None and sign.strip(" ") in ("=", ""):
        found = _WORD.match(match.string, match.end())
    value = found[found.lastindex or 0].strip() if found is not None else ""
    return None if value.startswith("$") or value == name or value.lower() in _NOTHING else value


def _forms(secret: str) -> Iterable[str]:
    """A secret, and how other texts have it: quoted by Python, JSON or a URL, or not so, or without `Bearer`."""
    from urllib.parse import quote, quote_plus, unquote_plus  # for who has secrets

    yield secret
    yield from (form(encoded(secret), safe="") for form in (quote, quote_plus))
    if len(plain := unquote_plus(secret)) >= _SHORT:
        yield plain
    yield from (repr(secret)[1:-1], json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1])
    scheme, _, rest = secret.partition(" ")
    if scheme.lower() in ("basic", "bearer", "token") and len(rest) >= _SHORT:
        yield rest
