"""`Redactor`: hide secrets in logs and recordings."""

from __future__ import annotations

import json
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Mapping, Sequence
from functools import lru_cache
from html import escape
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, quote_plus

from tools_core.text import is_secret_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

HIDDEN = "[redacted]"
_LONGEST = 2_000  # characters of a string
_SEARCHED = 10_000  # characters of a string that are searched
_MAX_TOTAL = 100_000  # characters of all strings together
_DEEPEST = 12

# Well-known forms, by their start. A letter before it may belong to an escape of JSON: `\nsk-...`.
_TOKENS = r"""(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf])|(?<=\\u[0-9a-fA-F]{4}))(?P<secret>
    A[BCKS][CI]A[A-Z0-9]{12,} | AIza[\w-]{30,} | ya29\.[\w.-]{16,} | GOCSPX-[\w-]{16,} | 1//0[\w-]{20,}  # AWS, Google
    | gh[oprsu]_\w{8,} | github_pat_\w{8,} | gl(?:pat|dt|rt|rtr|ptt|cbt|soat|agent|ft|imt|ffct|oas)-[\w.-]{8,}
    | sk-[\w-]{8,} | [rs]k_(?:live|test)_\w{8,} | whsec_[\w+/=]{16,} | gsk_\w{16,} | xai-\w{16,}
    | pplx-\w{16,} | r8_\w{16,} | hf_\w{16,} | api_org_\w{16,} | npm_\w{16,} | pypi-[\w-]{16,}
    | dckr_pat_[\w-]{16,} | hvs\.[\w-]{16,}
    | xox[a-z](?:\.xox[a-z])?-[\w-]{8,} | xapp-[\w-]{8,} | https://hooks\.slack\.com/services/[\w/]{16,}
    | SG\.[\w-]{16,}\.[\w-]{16,} | SK[0-9a-f]{32} | key-[0-9a-f]{32} | \d{8,10}:AA[\w-]{30,}
    | do[oprt]_v1_\w{16,} | shp(?:at|ca|pa|ss)_\w{16,} | sq0[a-z]{3}-[\w-]{16,} | dapi[0-9a-f]{32} | lin_api_\w{16,}
    | ntn_\w{16,} | PMAK-[\w-]{16,} | gl(?:sa|c)_[\w=]{16,} | sntry[su]_[\w=.-]{16,} | sbp_\w{16,}
    | tskey-[\w-]{16,} | A[TC][AC]TT3[\w=-]{16,} | nvapi-[\w-]{16,}
    | https://discord(?:app)?\.com/api/webhooks/\d+/[\w-]{16,}
    | dp\.(?:pt|st)\.[\w.]{16,} | AGE-SECRET-KEY-1\w{16,} | eyJ[\w-]{8,999}\.[\w-]+(?:\.[\w-]*)?)"""
_DATABASES = "postgres(?:ql)?|mysql|mariadb|mssql|oracle|mongodb|rediss?|amqps?|ldaps?|s?ftps?|smtps?|imaps?|clickhouse"
# The group `secret` is hidden.
_PATTERNS = tuple(
    re.compile(pattern, re.DOTALL | re.VERBOSE)
    for pattern in (
        r"""(?P<secret>-----BEGIN[ ][A-Z0-9 ]*PRIVATE[ ]KEY(?:[ ]BLOCK)?-----.*?
            (?:-----END[ ][A-Z0-9 ]*PRIVATE[ ]KEY(?:[ ]BLOCK)?-----|\Z))""",
        _TOKENS,
        r"""(?:\b|(?<=\\[nrtbf]))(?i:(?:bearer|basic)\s+)(?P<secret>[^\s"',;]+)""",  # of an Authorization header
        # Passwords of databases often have characters that an address should escape.
        rf"""(?:\b|(?<=\\[nrtbf]))(?:{_DATABASES})(?:\+[\w.]+)?:\\?/\\?/[^\s/?\#@:]*:(?P<secret>[^\s"'<>]{{1,300}})@""",
        r":\\?/\\?/[^\s/?\#@:]*:(?P<secret>[^\s/?\#]+)@",
        r":\\?/\\?/(?P<secret>[^\s/?\#@:]{20,})@",
        r"""(?i:[?&](?:sig|signature|x-(?:amz|goog)-(?:signature|security-token))=)(?P<secret>[^\s&\#"']+)""",
        r"""\b(?:login|user|account)\s+\S+\s+password\s+(?P<secret>\S+)""",  # netrc
        # curl -u user:password; but not the numbers of docker -u 1000:1000
        r"""(?<!\S)(?:-[A-Za-z]{0,9}u\s*|--(?:proxy-)?user[\s=]+)(?!\d+:\d)(?P<quote>["'])?[^\s"':]+:
            (?P<secret>(?(quote)[^"'\n]+|[^\s"']+))""",
    )
)
# An option, or a name in code, settings or JSON, and what follows it: quoted, the rest of the line after a colon and a
# blank, a list of texts, or a word. In JSON inside of JSON a quote has as many backslashes at its end as at its start.
_NAME = re.compile(
    r"""(?:(?<![\w\\-])|(?<=\\[nrtbf])|(?<=\\)(?![nrtbf]))(?:--(?P<option>[A-Za-z][\w-]{0,100})(?:=|[ \t]+)
        | (?:set[ \t]+-[A-Za-z]{1,4}|setx|setenv)[ \t]+(?P<variable>\w{1,100})[ \t]+
        | (?<=<)(?P<tag>[A-Za-z_][\w-]{0,100})>
        | (?P<name>[A-Za-z_][\w-]{0,100})\\*["']?[ \t]*[:=][ \t]*)""",
    re.VERBOSE,
)
_VALUE = re.compile(
    r"""\[redacted\](?=[\\\]}"'\n]|,\s*\\*["'{[]|\Z) | (?<=>)[^<>\n]+ | \[[ \t]*\\*["'][^\]\n]*\]
        | (?P<quote>(?P<slashes>\\*)")(?P<text>(?:(?!(?<!\\)(?P=slashes)")[^\n])*)(?P=quote)
        | (?P<single>')(?P<inside>(?:[^'\\\n]|\\.)*)' | (?<=:[ \t])[^"'\n]+ | [^\s"'`;&|()<>,]+""",
    re.VERBOSE,
)
_is_secret = lru_cache(4096)(is_secret_name)


class Redactor:
    """Hides the values of names that look secret, what looks like a secret itself, and given values."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        if isinstance(values, str):
            raise TypeError("redact is a collection of values, not one string")
        forms = {form for value in values if value for form in _forms(value)}
        self._values = sorted(forms, key=len, reverse=True)

    def text(self, text: str, longest: int = _LONGEST) -> str:
        """Return a text without secrets, cut after so many characters."""
        length = len(text)
        if length > _SEARCHED:
            head, *tail = text[:_SEARCHED].rsplit(None, 1)
            text = head if tail and len(tail[0]) < _LONGEST else text[:_SEARCHED]  # it may end in a part of a secret
        text = self.clean(text)
        return text if len(text) <= longest and length <= _SEARCHED else f"{text[:longest]}…[{length} characters]"

    def clean(self, text: str, *, named: bool = True) -> str:
        """Return a whole text without secrets; unless `named`, what follows the name of a secret stays."""
        for value in self._values:
            text = text.replace(value, HIDDEN)
        for pattern in _PATTERNS:
            text = pattern.sub(_hide, text)
        return _hide_named(text) if named else text

    def clean_json(self, value: Any, *, named: bool = True) -> Any:
        """Return whole JSON data without secrets; unless `named`, the names of members do not matter."""
        if isinstance(value, str):
            return self.clean(value, named=named)
        if isinstance(value, Mapping):
            return {
                key: HIDDEN
                if named and _may_hide(key, item) and _is_hidden(key, value)
                else self.clean_json(item, named=named)
                for key, item in value.items()
            }
        if isinstance(value, list | tuple):
            return [
                HIDDEN if named and _is_announced(value, place) else self.clean_json(item, named=named)
                for place, item in enumerate(value)
            ]
        return value

    def copy(self, value: Any) -> Any:
        """Return a copy as plain JSON without secrets, of limited size."""
        return self._copied(value, _DEEPEST, [_MAX_TOTAL])

    def _copied(self, value: Any, depth: int, room: list[int]) -> Any:
        if room[0] < 0:
            return "<too much>"
        if isinstance(value, str):
            room[0] -= len(value)
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
            return {
                self.text(str(key), 200): self._member(item, _is_hidden(key, value), depth, room)
                for key, item in value.items()
            }
        if isinstance(value, list | tuple):
            return [self._member(item, _is_announced(value, place), depth, room) for place, item in enumerate(value)]
        return f"<{type(value).__name__}>"

    def _member(self, item: Any, is_secret: object, depth: int, room: list[int]) -> Any:
        if is_secret and _may_hide("", item):
            return HIDDEN
        return self._copied(item, depth - 1, room)


def _forms(value: str) -> Iterator[str]:
    """Yield a secret as it is, and as it is written in JSON, in JSON inside of JSON, in addresses, HTML and base64."""
    texts = [value, *(json.dumps(value, ensure_ascii=is_ascii)[1:-1] for is_ascii in (True, False))]
    yield from texts
    yield from (json.dumps(text)[1:-1] for text in texts)
    data = value.encode(errors="surrogateescape")
    yield from (quote(data, safe=""), quote_plus(data), quote(data), escape(value))
    yield from (text.replace("/", "\\/") for text in texts)
    yield from (encode(data).decode().rstrip("=") for encode in (b64encode, urlsafe_b64encode))


def _may_hide(key: Any, value: Any) -> bool:
    """Return whether a member has a value to hide; the numbers of tokens are none."""
    is_count = isinstance(value, int | float) and str(key).lower().endswith("tokens")
    return not (value is None or isinstance(value, bool) or is_count)


def _hide(match: re.Match[str]) -> str:
    text, start = match[0], match.start()
    return text[: match.start("secret") - start] + HIDDEN + text[match.end("secret") - start :]


def _hide_named(text: str) -> str:
    parts, end = [], 0
    for name in _NAME.finditer(text):
        if name.start() < end or not _is_secret(name[name.lastgroup or "name"]):
            continue
        value = _VALUE.match(text, name.end())
        if value is None:
            continue
        group = "text" if value["quote"] else "inside" if value["single"] else 0  # quotes stay
        if value[group] != HIDDEN:
            parts += [text[end : value.start(group)], HIDDEN]
            end = value.end(group)
    return "".join([*parts, text[end:]])


def _is_hidden(key: Any, within: Mapping[Any, Any]) -> bool:
    """Return whether a member is a secret by its key, or by its name as in `{"name": ..., "value": ...}`."""
    return _is_secret(str(within.get("name", key) if key == "value" else key)[:200])


def _is_announced(items: Sequence[Any], place: int) -> bool:
    """Return whether the item before announces a secret: `["--password", "x"]`, `["Authorization", "x"]`."""
    before, item = items[place - 1] if place else None, items[place]
    if not isinstance(before, str) or not isinstance(item, str | int):
        return False
    if before.startswith("-"):
        is_user = before in ("-u", "--user", "--proxy-user") and ":" in str(item)
        return is_user or ("=" not in before and _is_secret(before[:200]))
    return len(items) == 2 and _is_secret(before[:200])
