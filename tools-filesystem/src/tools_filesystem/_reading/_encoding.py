"""Detection of text encodings."""

from __future__ import annotations

import codecs
from typing import NamedTuple

SNIFF = 64 * 1024  # the beginning of a file that decides
_BINARY_SNIFF = 8192  # a NUL among these bytes makes a file binary
_CONTROLS = bytes(byte for byte in range(32) if byte not in b"\t\n\f\r\b\x1b")
_MARKS = (  # the longer ones first: UTF-32 begins like UTF-16
    (codecs.BOM_UTF32_LE, "utf-32-le", "utf-32-le", 4),
    (codecs.BOM_UTF32_BE, "utf-32-be", "utf-32-be", 4),
    (codecs.BOM_UTF8, "utf-8-sig", "utf-8", 1),
    (codecs.BOM_UTF16_LE, "utf-16-le", "utf-16-le", 2),
    (codecs.BOM_UTF16_BE, "utf-16-be", "utf-16-be", 2),
)


class Encoding(NamedTuple):
    """An encoding by name and codec, the length of its byte order mark, and the bytes of a code unit.

    `settled` is False while only ASCII was seen, and later bytes may still decide.
    """

    name: str
    codec: str
    mark: int = 0
    width: int = 1
    settled: bool = True

    def decode(self, data: bytes) -> tuple[str, bool]:
        """Return the text, and whether some bytes became U+FFFD."""
        try:
            return data.decode(self.codec), False
        except UnicodeDecodeError:
            return data.decode(self.codec, "replace"), True


UTF_8 = Encoding("utf-8", "utf-8")
CP1252 = Encoding("cp1252", "cp1252")
_ONLY_ASCII = UTF_8._replace(settled=False)


def detect(start: bytes) -> Encoding | None:
    """Return the encoding of a file that begins with these `SNIFF` bytes; None if it is binary."""
    for mark, name, codec, width in _MARKS:
        if start.startswith(mark):
            return Encoding(name, codec, len(mark), width)
    if b"\0" in start[:_BINARY_SNIFF]:
        return None
    return _ONLY_ASCII if start.isascii() else _by_content(start, is_whole=len(start) < SNIFF)


def settle(encoding: Encoding, shown: bytes) -> Encoding:
    """Return this encoding, or the one of `shown` if the beginning of the file did not decide."""
    if encoding.settled or shown.isascii():
        return encoding
    return _by_content(shown, is_whole=True) or UTF_8


def _by_content(data: bytes, *, is_whole: bool) -> Encoding | None:
    text, _ = codecs.utf_8_decode(data, "replace", is_whole)  # otherwise the last character may be cut off
    broken = text.count("\ufffd")
    if not broken:
        return UTF_8
    if len(data) - len(data.translate(None, _CONTROLS)) > len(data) // 20:
        return None
    complete = len(text) - len(text.encode("ascii", "ignore")) - broken
    return UTF_8 if complete >= broken else CP1252
