"""`Redactor`: decodes output, and replaces the host's secrets in it."""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING

from tools_shell._environment import MIN_SECRET, secret_variables

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_ESCAPE = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[PX^_][^\x1b]*\x1b\\|[ -/]*[0-~])"  # ECMA-48
)
_BACKSPACE = re.compile(r"[^\x08]\x08")
_SYMBOLS = {code: 0x2400 + code for code in range(32) if code not in b"\t\n"} | {0x7F: 0x2421}
_MIN_NAMED_SECRET = 4  # characters, for secrets named by a developer


def encoded(text: str) -> bytes:
    """Encode text from a model, which may contain lone surrogates."""
    return text.encode("utf-8", "surrogatepass")


def printable(text: str) -> str:
    r"""Return output with `\xNN` for each byte that is not UTF-8, which was decoded by `surrogateescape`."""
    return text.encode("utf-8", "surrogateescape").decode(errors="backslashreplace")


def shown(text: str) -> str:
    """Return output as a terminal shows it: without escape sequences, and only the last state of each line.

    Other control characters become visible symbols.
    """
    if _CONTROL.search(text):
        text = "\n".join(_last_state(line) for line in _ESCAPE.sub("", text).split("\n"))
        text = text.translate(_SYMBOLS)
    return printable(text)


def _last_state(line: str) -> str:
    state = line.removesuffix("\r").rpartition("\r")[2]
    while "\b" in state:
        state = _BACKSPACE.sub("", state, count=1) if _BACKSPACE.search(state) else state.replace("\b", "")
    return state


class Redactor:
    """Replaces secrets by `[redacted NAME]`: verbatim, in base64, and URL-encoded."""

    def __init__(self, more: Iterable[str] = (), *environments: Mapping[str, str]) -> None:
        """Redact the secrets in environments, and `more` that have no names."""
        named = [item for environment in environments for item in secret_variables(environment).items()]
        named += [(f"SECRET_{number}", value) for number, value in enumerate(more, 1)]
        labels: dict[str, str] = {}
        for name, value in named:
            for form in _forms(value):
                labels.setdefault(form, f"[redacted {printable(name)}]")
        self._labels = sorted(labels.items(), key=lambda item: -len(item[0]))  # longest first: one may contain another

    def clean(self, text: str) -> str:
        """Return `text` without secrets."""
        for form, label in self._labels:
            text = text.replace(form, label)
        return text

    def begun(self, text: str) -> int:
        """Return the number of characters at the end of `text` that may be the start of a secret."""
        longest = 0
        for form, _ in self._labels:
            end = text[1 - len(form) :]
            at = end.find(form[0])
            while at >= 0 and not form.startswith(end[at:]):
                at = end.find(form[0], at + 1)
            longest = max(longest, len(end) - at if at >= 0 else 0)
        return longest


class RedactedStream:
    """Decodes and redacts a stream chunk by chunk; an incomplete character or secret waits for the next chunk.

    Bytes that are not UTF-8 become lone surrogates.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self._held = ""

    def feed(self, chunk: bytes, *, is_last: bool = False) -> str:
        text = self._redactor.clean(self._held + self._decoder.decode(chunk, is_last))
        length = len(text) - (0 if is_last else self._redactor.begun(text))
        self._held = text[length:]
        return text[:length]


def _forms(secret: str) -> Iterator[str]:
    if len(secret) < _MIN_NAMED_SECRET:
        return
    import base64  # 6 ms, and only needed with a secret
    from urllib.parse import quote, quote_plus

    yield secret
    data = secret.encode(errors="surrogateescape")
    yield from {quote(data, safe=""), quote(data), quote_plus(data)}
    # In base64 of a longer text, the digits depend on the offset modulo 3. The digits at the edges depend on the
    # neighbours and are omitted.
    for shift in range(3):
        digits = base64.b64encode(bytes(shift) + data).decode()
        first, last = (0, 2, 3)[shift], len(digits) - (0, 3, 2)[(shift + len(data)) % 3]
        if last - first >= MIN_SECRET:
            yield digits[first:last]
            yield digits[first:last].replace("+", "-").replace("/", "_")
