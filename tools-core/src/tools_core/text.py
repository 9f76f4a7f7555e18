"""Print and log untrusted text safely: `visible` escapes hidden characters, `is_secret_name` recognizes secrets."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from itertools import islice, pairwise

# Control characters except tab and line feed, and characters that a terminal may ignore by the rules of Unicode: bidi
# overrides, zero-width characters, fillers, tags, lone surrogates.
_HIDDEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U00013430-\U0001343f\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff\ud800-\udfff"
)
# A single joiner or emoji selector is ordinary after a pictograph, or after a letter of a script that joins letters.
_BEFORE = "\u0620-\u115e\u1161-\u17b3\u17b6-\u180a\u1810-\u1c7f\u20d0-\u2fff\U0001f000-\U0001faff"
_JOINED = f"(?<=[{_BEFORE}])[\u200c\u200d\ufe0f]|(?<=\ufe0f)\u200d"

_SECRETS = frozenset(
    (
        *("AUTH", "AUTHORIZATION", "BEARER", "COOKIE", "COOKIES", "CREDENTIAL", "CREDENTIALS", "CREDS", "JWT", "PASS"),
        *("PASSCODE", "PASSPHRASE", "PAT", "PIN", "PRIVATE", "PSK", "PWD", "SIGNATURE"),
    )
)
# Ends of words, as in PGPASSWORD; two adjacent words also count as one, as in api_keys.
_ENDINGS = (
    *("ACCESSKEY", "APIKEY", "ENCRYPTIONKEY", "PASSWD", "PASSWORD", "PRIVATEKEY", "SECRET", "SECRETKEY"),
    *("SIGNINGKEY", "TOKEN"),
)
# Last words of names whose values describe a secret instead of containing it.
_FACTS = frozenset(
    (
        *("ALGORITHM", "CLASS", "COUNT", "DIR", "DIRECTORY", "FILE", "FORMAT", "LENGTH", "METHOD", "MODE", "NAME"),
        *("PATH", "PROVIDER", "SIZE", "SOCK", "SOCKET", "TIMEOUT", "TTL", "TYPE", "VERSION"),
    )
)
_COUNTS = frozenset(("MAX", "MIN", "NUM", "TOTAL"))  # of tokens
_OPEN_KEYS = frozenset(("CACHE", "FOREIGN", "PARTITION", "PUBLIC", "SORT"))


def visible(text: str, *, keep_layout: bool = False) -> str:
    r"""Return text on one line, with escapes for characters that are invisible or control a terminal: `\x1b[2J`.

    With `keep_layout`, tabs, line breaks and all kinds of spaces stay unchanged.
    """
    return replace_hidden(text, lambda char: char.encode("unicode_escape").decode("ascii"), keep_layout=keep_layout)


def replace_hidden(text: str, escape: Callable[[str], str], *, keep_layout: bool) -> str:
    """Escape the same characters as `visible`, each with the function `escape`."""
    if text.isascii() and text.isprintable():
        return text
    if not keep_layout:
        text = "".join(escape(char) if _is_blank(char) else char for char in text)
    ordinary = f"\r\n|{_JOINED}" if keep_layout else _JOINED

    def replace(match: re.Match[str]) -> str:
        return match[0] if match[1] else escape(match[0])

    return re.sub(f"({ordinary})|[{_HIDDEN}]", replace, text)


def _is_blank(char: str) -> bool:
    """Return whether a character is invisible or looks like a space; for joiners, that depends on the text before."""
    return char == "\u2800" or not (char.isprintable() or char in "\u200c\u200d")


def is_blank(text: str) -> bool:
    """Return whether text has whitespace and invisible characters alone, such as zero-width spaces."""
    return all(char.isspace() or unicodedata.category(char) in ("Cc", "Cf") for char in text)


def sendable(text: str) -> str:
    """Return text that UTF-8 can encode: surrogate pairs are joined, and U+FFFD replaces lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def is_secret_name(name: str) -> bool:
    """Return whether a variable, argument or header with this name probably contains a secret: `apiKey`, `PGPASSWORD`.

    `key` alone does not count, and neither do facts about secrets: `max_tokens`, `SSH_AUTH_SOCK`, `public_key`.
    """
    words = [word.upper() for word in re.findall("[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]
    if not words or words[-1] in _FACTS or words[-2:] == ["KEY", "ID"]:
        return False
    if words[-1] == "TOKENS" and words[0] in _COUNTS:
        return False
    pairs = [first + second for first, second in pairwise(words)]
    if any(word in _SECRETS or word.removesuffix("S").endswith(_ENDINGS) for word in [*words, *pairs]):
        return True
    indexes = [index for index, word in enumerate(words) if word == "KEY"]
    return len(words) > 1 and any(index == 0 or words[index - 1] not in _OPEN_KEYS for index in indexes)


def closest(word: str, words: Iterable[str], limit: int = 3) -> list[str]:
    """Return the words that are most similar to `word`, the most similar first, whatever their case."""
    # Shortened, because the cost grows with the product of the lengths.
    candidates = {candidate.casefold()[:60]: candidate for candidate in islice(words, 1_000)}
    return [candidates[match] for match in get_close_matches(word.casefold()[:60], candidates, limit)]
