"""Foreign text made safe to show and to log: `visible` escapes what hides or acts, `is_secret_name` finds secrets."""

from __future__ import annotations

from itertools import pairwise

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    import re
    from collections.abc import Callable

# Control characters except tab and line feed, and characters that Unicode lets a terminal ignore: bidi overrides,
# zero-width characters, fillers, tags, lone surrogates.
_HIDDEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U00013430-\U0001343f\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff\ud800-\udfff"
)
# One joiner or emoji selector is ordinary after a letter of a script that joins letters, or after a pictograph.
_BEFORE = "\u0620-\u115e\u1161-\u17b3\u17b6-\u180a\u1810-\u1c7f\u20d0-\u2fff\U0001f000-\U0001faff"
_JOINED = f"(?<=[{_BEFORE}])[\u200c\u200d\ufe0f]|(?<=\ufe0f)\u200d"

_SECRETS = frozenset(
    (
        *("AUTH", "AUTHORIZATION", "BEARER", "COOKIE", "COOKIES", "CREDENTIAL", "CREDENTIALS", "CREDS", "JWT", "PASS"),
        *("PASSCODE", "PASSPHRASE", "PAT", "PIN", "PRIVATE", "PSK", "PWD", "SIGNATURE"),
    )
)
# Ends of words, as in PGPASSWORD; two words may be written as one, as in api_keys.
_ENDINGS = (
    *("ACCESSKEY", "APIKEY", "ENCRYPTIONKEY", "PASSWD", "PASSWORD", "PRIVATEKEY", "SECRET", "SECRETKEY"),
    *("SIGNINGKEY", "TOKEN"),
)
# Last words of names whose value is not the secret itself.
_ABOUT = frozenset(
    (
        *("ALGORITHM", "CLASS", "COUNT", "DIR", "DIRECTORY", "FILE", "FORMAT", "LENGTH", "METHOD", "MODE", "NAME"),
        *("PATH", "PROVIDER", "SIZE", "SOCK", "SOCKET", "TIMEOUT", "TTL", "TYPE", "VERSION"),
    )
)
_COUNTS = frozenset(("MAX", "MIN", "NUM", "TOTAL"))  # of tokens
_OPEN_KEYS = frozenset(("CACHE", "FOREIGN", "PARTITION", "PUBLIC", "SORT"))


def visible(text: str, *, keep_layout: bool = False) -> str:
    r"""Return text on one line, with escapes for characters that are invisible or control a terminal: `\x1b[2J`.

    With `keep_layout`, tabs, line ends and all kinds of blanks stay as they are.
    """
    return replace_hidden(text, lambda char: char.encode("unicode_escape").decode("ascii"), keep_layout=keep_layout)


def replace_hidden(text: str, escape: Callable[[str], str], *, keep_layout: bool) -> str:
    """Do what `visible` does, with escapes of another kind."""
    if text.isascii() and text.isprintable():
        return text
    import re  # 6 ms, and most of what is shown needs no escape

    if not keep_layout:
        text = "".join(escape(char) if _is_odd(char) else char for char in text)
    kept = f"\r\n|{_JOINED}" if keep_layout else _JOINED

    def replace(match: re.Match[str]) -> str:
        return match[0] if match[1] else escape(match[0])

    return re.sub(f"({kept})|[{_HIDDEN}]", replace, text)


def _is_odd(char: str) -> bool:
    """Return whether a character is invisible or looks like a blank; joiners depend on the text before them."""
    return char == "\u2800" or not (char.isprintable() or char in "\u200c\u200d")


def is_secret_name(name: str) -> bool:
    """Return whether a variable, argument or header of this name is likely to be a secret: `apiKey`, `PGPASSWORD`.

    `key` alone does not count, nor do names of facts about secrets: `max_tokens`, `SSH_AUTH_SOCK`, `public_key`.
    """
    import re  # as above

    words = [word.upper() for word in re.findall("[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]
    if not words or words[-1] in _ABOUT or words[-2:] == ["KEY", "ID"]:
        return False
    if words[-1] == "TOKENS" and words[0] in _COUNTS:
        return False
    together = [before + word for before, word in pairwise(words)]
    if any(word in _SECRETS or word.removesuffix("S").endswith(_ENDINGS) for word in [*words, *together]):
        return True
    places = [place for place, word in enumerate(words) if word == "KEY"]
    return len(words) > 1 and any(not place or words[place - 1] not in _OPEN_KEYS for place in places)
