"""Secrets of the host are taken out of what a command writes, also where a window cuts through one."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from tools_core.text import is_secret_name
from tools_shell._text import encoded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_Span: TypeAlias = tuple[int, int, bytes]  # from, to, and what stands there instead

_SHORTEST = 8  # characters: what is shorter stands in ordinary output, too
_LINE = 16  # characters of a line of a longer secret, such as a key, from which on it is one by itself
_COLUMNS = 76  # of a line of base64
_PART = 4  # bytes: from here on a part of a secret at the edge of a window counts as one
_ADDRESSES = ("DSN", "URI", "URL")  # they may carry a password
# With what a `repr` has on either side of it.
_LEFT_OUT = rb"""((?:['"]\)?)?\s\[\.\.\. [a-z0-9 ]* left out \.\.\.\]\s(?:bytearray\()?(?:b?['"])?)"""
_FOLDERS = frozenset(("OLDPWD", "PWD"))


def secret_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables whose value is a secret by their name; of an address that is its password.

    Values that ordinary output is full of are left out: short ones, numbers, plain words and paths.
    """
    found: dict[str, str] = {}
    for name, value in environment.items():
        secret = value.strip()
        if name.upper().replace("-", "_").rpartition("_")[2] in _ADDRESSES:
            secret = _password(secret)
        elif name in _FOLDERS or not (is_secret_name(name) or name.strip("_0123456789").upper() == "KEY"):
            continue
        if _is_telling(secret):
            found[name] = secret
    return found


def _password(address: str) -> str:
    from urllib.parse import urlsplit  # 5 ms, and few environments have an address

    try:
        return urlsplit(address).password or ""
    except ValueError:  # no address after all
        return ""


def _is_telling(value: str) -> bool:
    """Whether a value stands for itself alone, so that nothing else is lost with it."""
    is_path = value.startswith(("/", "~/", "./", "../")) and "=" not in value
    is_word = value.isalpha() and (value.islower() or value.istitle()) and len(value) < 16
    return len(value) >= _SHORTEST and len(set(value)) >= 4 and not (value.isdecimal() or is_path or is_word)


class Redactor:
    """Replaces secrets by `[redacted NAME]`, as they are and in the forms of base64 and of addresses."""

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        """`values` are secrets by name; one shorter than 4 bytes is not looked for: it stands in any output."""
        forms = [
            (form, b"[redacted %s]" % name.encode(errors="backslashreplace"))
            for name, value in (values or {}).items()
            for spelling in _spellings(value)
            for form in _forms(spelling.encode(errors="surrogateescape"))
        ]
        # The longest first, since one may be a part of another.
        self._needles = sorted(dict(reversed(forms)).items(), key=lambda item: -len(item[0]))
        self.longest = len(self._needles[0][0]) if self._needles else 0

    @classmethod
    def of_host(cls, more: Iterable[str], environment: Mapping[str, str], added: Mapping[str, str]) -> Redactor:
        """Know the secrets in this process's environment, in the variables that it adds, and those of a caller."""
        ours, theirs = secret_variables(environment), secret_variables(added)
        replaced = [value for name, value in ours.items() if name in theirs]
        named = {f"SECRET_{number}": value for number, value in enumerate([*more, *replaced], 1)}
        return cls({**ours, **theirs, **named})

    def clean(
        self, data: bytes, before: bytes = b"", after: bytes = b"", *, begins: bool = False, ends: bool = False
    ) -> bytes:
        """Return `data`, which stands between `before` and `after`, without secrets; `longest` bytes of both suffice.

        With `begins` the stream begins with `before`, with `ends` it ends with `after`. Elsewhere something is missing,
        which may be the other half of a secret: what looks like a half of 4 bytes or more is taken out, too.
        """
        if not self._needles or not data:
            return data
        whole = before + data + after
        spans = list(self._spans(whole))
        if not begins:
            spans += self._heads(whole)
        if not ends:
            spans += self._tails(whole)
        if not begins and not ends and len(whole) >= _PART:  # a window that is smaller than a secret
            spans += [(0, len(whole), label) for needle, label in self._needles if whole in needle]
        return _replaced(data, len(before), sorted(spans)) if spans else data

    def begun(self, data: bytes) -> int:
        """How many bytes at the end of `data` may be the beginning of a secret whose rest is still to come."""
        return max((end - start for start, end, _ in self._tails(data)), default=0)

    def clean_text(self, text: str) -> str:
        """Return a whole text without secrets, and without halves of them where it says that something is left out."""
        if not self._needles:
            return text
        parts = [encoded(text)]
        if " left out ...]" in text:
            import re  # for what the kernel has cut, which knows no secrets

            parts = re.split(_LEFT_OUT, parts[0])
        last = len(parts) - 1
        cleaned = [
            part if number % 2 else self.clean(part, begins=number == 0, ends=number == last)
            for number, part in enumerate(parts)
        ]
        return b"".join(cleaned).decode("utf-8", "surrogatepass")

    def _spans(self, whole: bytes) -> Iterator[_Span]:
        """Where secrets stand."""
        for needle, label in self._needles:
            at = whole.find(needle)
            while at >= 0:
                yield at, at + len(needle), label
                at = whole.find(needle, at + 1)

    def _heads(self, data: bytes) -> Iterator[_Span]:
        """Where the end of a secret stands at the beginning."""
        for needle, label in self._needles:
            for length in range(min(len(needle) - 1, len(data)), _PART - 1, -1):
                if data.startswith(needle[-length:]):
                    yield 0, length, label
                    break

    def _tails(self, data: bytes) -> Iterator[_Span]:
        """Where the beginning of a secret stands at the end."""
        for needle, label in self._needles:
            for length in range(min(len(needle) - 1, len(data)), _PART - 1, -1):
                if data.endswith(needle[:length]):
                    yield len(data) - length, len(data), label
                    break


def _replaced(data: bytes, first: int, spans: list[_Span]) -> bytes:
    """Put labels for the spans, which may overlap each other and the edges of `data`."""
    parts, position = [], 0
    for start, end, label in spans:
        if end - first <= position or start - first >= len(data):
            continue
        if start - first >= position:
            parts += [data[position : start - first], label]
        elif not parts:  # it begins before `data`
            parts.append(label)
        position = end - first
    return b"".join([*parts, data[position:]])


def _spellings(secret: str) -> Iterator[str]:
    """The secret as it stands, without what an address or a program text makes of it, and line by line."""
    yield secret
    if "%" in secret:
        from urllib.parse import unquote

        yield unquote(secret)
    yield from _quoted(secret)
    for line in secret.splitlines():  # a terminal, say, ends each in another way
        if len(line) >= _LINE and not line.startswith("-----") and _is_telling(line.strip()):
            yield line.strip()


def _quoted(secret: str) -> Iterator[str]:
    """The secret inside of quotes, as Python, JSON and the shell write it, which put a backslash before some of it."""
    import json  # with the other 6 ms, and without a secret not needed
    import re

    yield from {repr(secret)[1:-1], ascii(secret)[1:-1]}
    yield from {json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
    yield from {secret.replace("'", "'\\''"), secret.replace("'", "'\"'\"'")}
    yield re.sub(r'[$`"\\]', r"\\\g<0>", secret)  # `declare -p`
    yield re.sub(r"[^\w%+\-./:=@#~]", r"\\\g<0>", secret)  # `printf %q`


def _forms(secret: bytes) -> Iterator[bytes]:
    """How a secret is written; one that is too short to be told apart has no form."""
    if len(secret) < _PART:
        return
    import base64  # with the other 6 ms, and without a secret not needed
    from urllib.parse import quote, quote_plus

    yield secret
    text = secret.decode("latin-1")
    yield from {quote(text, safe="", encoding="latin-1").encode(), quote(text, encoding="latin-1").encode()}
    yield quote_plus(text, encoding="latin-1").encode()
    # What stands in front shifts the digits of base64: there are three ways, each without what the neighbours change.
    for shift in range(3):
        digits = base64.b64encode(bytes(shift) + secret)
        first, last = (0, 2, 3)[shift], len(digits) - (0, 3, 2)[(shift + len(secret)) % 3]
        inner = digits[first:last]
        if len(inner) >= _SHORTEST:
            yield inner
            yield inner.replace(b"+", b"-").replace(b"/", b"_")
        if shift == 0 and len(inner) > _COLUMNS:  # the program `base64` breaks it into lines
            parts = (inner[place : place + _COLUMNS] for place in range(0, len(inner), _COLUMNS))
            yield from (part for part in parts if len(part) >= _SHORTEST)
