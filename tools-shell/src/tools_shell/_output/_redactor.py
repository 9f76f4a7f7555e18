"""`Redactor`: replaces the host's secrets in output."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools_core.text import is_secret_name
from tools_shell._output._text import incomplete_end

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_SHORTEST = 8  # characters; shorter values occur in ordinary output
_BEGINNING = 4  # bytes from which the beginning of a secret at the end of a chunk waits for the next chunk
_ADDRESSES = ("DSN", "URI", "URL")  # may contain a password
_FOLDERS = frozenset(("OLDPWD", "PWD"))


def secret_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables whose name says that they are secret; of an address, only the password.

    Values that occur in ordinary output are skipped: short ones, numbers, plain words and paths.
    """
    found: dict[str, str] = {}
    for name, value in environment.items():
        secret = value.strip()
        if name.upper().replace("-", "_").rpartition("_")[2] in _ADDRESSES:
            secret = _password(secret)
        elif name in _FOLDERS or not (is_secret_name(name) or name.strip("_0123456789").upper() == "KEY"):
            continue
        if _is_distinctive(secret):
            found[name] = secret
    return found


def _password(address: str) -> str:
    from urllib.parse import urlsplit  # 5 ms, and few environments have an address

    try:
        return urlsplit(address).password or ""
    except ValueError:  # not an address after all
        return ""


def _is_distinctive(value: str) -> bool:
    is_path = value.startswith(("/", "~/", "./", "../")) and "=" not in value
    is_word = value.isalpha() and (value.islower() or value.istitle()) and len(value) < 16
    return len(value) >= _SHORTEST and len(set(value)) >= 4 and not (value.isdecimal() or is_path or is_word)


class Redactor:
    """Replaces secrets by `[redacted NAME]`: as they are, in base64, and URL-encoded."""

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        """`values` are secrets by name."""
        labels: dict[bytes, bytes] = {}
        for name, value in (values or {}).items():
            for form in _forms(value.encode(errors="surrogateescape")):
                labels.setdefault(form, b"[redacted %s]" % name.encode(errors="backslashreplace"))
        self._labels = sorted(labels.items(), key=lambda item: -len(item[0]))  # one may contain another
        self._longest = len(self._labels[0][0]) if labels else 0

    @classmethod
    def of_host(cls, more: Iterable[str], environment: Mapping[str, str], added: Mapping[str, str]) -> Redactor:
        """Know the secrets in this process's environment, in the variables added to it, and in `more`."""
        ours, theirs = secret_variables(environment), secret_variables(added)
        replaced = [value for name, value in ours.items() if name in theirs]
        named = {f"SECRET_{number}": value for number, value in enumerate([*more, *replaced], 1)}
        return cls({**ours, **theirs, **named})

    def clean(self, data: bytes) -> bytes:
        """Return `data` without secrets."""
        for form, label in self._labels:
            if form in data:
                data = data.replace(form, label)
        return data

    def clean_text(self, text: str) -> str:
        return self.clean(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")

    def begun(self, data: bytes) -> int:
        """Return the number of bytes at the end of `data` that may begin a secret."""
        end = data[-self._longest :] if self._longest else b""
        lengths = [
            length
            for form, _ in self._labels
            if form[:_BEGINNING] in end
            for length in range(min(len(form) - 1, len(end)), _BEGINNING - 1, -1)
            if end.endswith(form[:length])
        ]
        return max(lengths, default=0)


class RedactedStream:
    """Cleans a stream chunk by chunk; a character or a secret that continues in the next chunk waits for it."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = b""

    def feed(self, chunk: bytes) -> bytes:
        data = self._redactor.clean(self._held + chunk)
        held = max(self._redactor.begun(data), incomplete_end(data))
        self._held = data[len(data) - held :]
        return data[: len(data) - held]

    def end(self) -> bytes:
        """Return what is still held; nothing follows."""
        held, self._held = self._held, b""
        return held


def _forms(secret: bytes) -> Iterator[bytes]:
    if len(secret) < _BEGINNING:
        return
    import base64  # with the other 6 ms, and not needed without a secret
    from urllib.parse import quote, quote_plus

    yield secret
    text = secret.decode("latin-1")
    yield from {quote(text, safe="", encoding="latin-1").encode(), quote(text, encoding="latin-1").encode()}
    yield quote_plus(text, encoding="latin-1").encode()
    # In base64 of a longer text the digits depend on the position: three ways, each without the digits at its edges
    # that depend on the neighbours.
    for shift in range(3):
        digits = base64.b64encode(bytes(shift) + secret)
        first, last = (0, 2, 3)[shift], len(digits) - (0, 3, 2)[(shift + len(secret)) % 3]
        if last - first >= _SHORTEST:
            yield digits[first:last]
            yield digits[first:last].replace(b"+", b"-").replace(b"/", b"_")
