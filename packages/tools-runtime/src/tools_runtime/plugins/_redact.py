"""`Redactor`: hide secrets in logs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from tools_core.text import is_secret_name

if TYPE_CHECKING:
    from collections.abc import Iterable

HIDDEN = "[redacted]"
_LONGEST = 2_000  # characters of a string
_SEARCHED = 10_000  # characters of a string that are searched
_MAX_TOTAL = 100_000  # characters of all strings together
_DEEPEST = 12

# The group `secret` is hidden.
_PATTERNS = tuple(
    re.compile(pattern, re.DOTALL | re.VERBOSE)
    for pattern in (
        r"(?P<secret>-----BEGIN[ ][A-Z ]*PRIVATE[ ]KEY-----.*?(?:-----END[ ][A-Z ]*PRIVATE[ ]KEY-----|\Z))",
        r"""(?<![A-Za-z0-9])(?P<secret>A[KS]IA[A-Z0-9]{8,} | gh[oprsu]_\w{8,} | github_pat_\w{8,} | glpat-[\w-]{8,}
            | sk-[\w-]{8,} | xox[a-z]-[\w-]{8,} | AIza[\w-]{30,} | eyJ[\w-]{8,999}\.[\w-]+(?:\.[\w-]*)?)""",
        r"""(?i:\b(?:bearer|basic)\s+)(?P<secret>[^\s"',;]+)""",  # of an Authorization header
        r"://[^\s/?\#@:]*:(?P<secret>[^\s/?\#]+)@",
        r"://(?P<secret>[^\s/?\#@:]{20,})@",
        # curl -u user:password; but not the numbers of docker -u 1000:1000
        r"""(?<!\S)(?:-[A-Za-z]{0,9}u\s*|--(?:proxy-)?user[\s=]+)(?!\d+:\d)(?P<quote>["'])?[^\s"':]+:
            (?P<secret>(?(quote)[^"'\n]+|[^\s"']+))""",
    )
)
# An option, or a name in code, settings or JSON, and what follows it: quoted, the rest of the line after a colon and a
# blank, or a word.
_NAME = re.compile(
    r"""(?<![\w-])(?:--(?P<option>[A-Za-z][\w-]{0,100})(?:=|[ \t]+)
        | (?P<name>[A-Za-z_][\w-]{0,100})\\*["']?[ \t]*[:=][ \t]*)""",
    re.VERBOSE,
)
_VALUE = re.compile(r"""\\*"[^"\n]*"|'[^'\n]*'|(?<=:[ \t])[^"'\n]+|[^\s"'`;&|()<>,]+""")
_is_secret = lru_cache(4096)(is_secret_name)


class Redactor:
    """Hides the values of names that look secret, what looks like a secret itself, and given values."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        if isinstance(values, str):
            raise TypeError("redact is a collection of values, not one string")
        self._values = sorted(filter(None, values), key=len, reverse=True)

    def text(self, text: str, longest: int = _LONGEST) -> str:
        """Return a text without secrets, cut after so many characters."""
        length = len(text)
        if length > _SEARCHED:
            head, *tail = text[:_SEARCHED].rsplit(None, 1)
            text = head if tail and len(tail[0]) < _LONGEST else text[:_SEARCHED]  # it may end in a part of a secret
        for value in self._values:
            text = text.replace(value, HIDDEN)
        for pattern in _PATTERNS:
            text = pattern.sub(_hide, text)
        text = _hide_named(text)
        return text if len(text) <= longest and length <= _SEARCHED else f"{text[:longest]}…[{length} characters]"

    def copy(self, value: Any) -> Any:
        """Return a copy as plain JSON without secrets."""
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
        if is_secret and not (item is None or isinstance(item, bool)):
            return HIDDEN
        return self._copied(item, depth - 1, room)


def _hide(match: re.Match[str]) -> str:
    text, start = match[0], match.start()
    return text[: match.start("secret") - start] + HIDDEN + text[match.end("secret") - start :]


def _hide_named(text: str) -> str:
    parts, end = [], 0
    for name in _NAME.finditer(text):
        if name.start() < end or not _is_secret(name["option"] or name["name"]):
            continue
        value = _VALUE.match(text, name.end())
        if value is not None and value[0] != HIDDEN:
            parts += [text[end : name.end()], HIDDEN]
            end = value.end()
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
