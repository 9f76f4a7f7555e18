"""Detection of text encodings."""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple

SNIFF = 64 * 1024  # the beginning of a file that decides
_BINARY_SNIFF = 8192  # a NUL among these bytes makes a file binary
_CONTROLS = bytes(byte for byte in range(32) if byte not in b"\t\n\f\r\b\x1b")
_MARKS = (  # the longer ones first: UTF-32 begins like UTF-16
    (codecs.BOM_UTF32_LE, "utf-32-le", "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be", "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8-sig", "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le", "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be", "utf-16-be"),
)
# Python, Ruby and editors in one of the first two lines; XML, CSS, HTML.
_DECLARATION = re.compile(
    rb"""
    \A(?:[ \t\f]*(?:\#[^\n]*)?\n)?(?:[ \t\f]*\#|[^\n]*-\*-)[^\n]*?coding[:=][ \t]*([-\w.]+)
    | \A<\?xml[^>]*?\sencoding=["']([-\w.]+)
    | \A@charset[ ]"([-\w.]+)"
    | \A(?=\s*<)[^\0]{,1024}?<meta\s[^>]*?charset=["']?([-\w.]+)
    """,
    re.VERBOSE | re.IGNORECASE,
)
# Names that Python and ripgrep know. Browsers decode some of them with a larger codec.
_NAME = re.compile(r"utf-8|gb(k|2312|18030)|big5|shift-jis|euc-(jp|kr)|koi8-[ru]|cp125\d|iso8859-([1-9]|1[0-5])")
_ALIASES = {"cp932": "shift-jis", "cp949": "euc-kr"}
_CODECS = {"gb2312": "gbk", "shift-jis": "cp932", "euc-kr": "cp949"}


class Encoding(NamedTuple):
    """An encoding by name and codec, and the length of its byte order mark.

    A file that `is_converted` is read as UTF-8, because bytes of its characters may look like ASCII. `settled` is False
    while only ASCII was seen, and later bytes may still decide.
    """

    name: str
    codec: str
    mark: int = 0
    is_converted: bool = False
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
    for mark, name, codec in _MARKS:
        if start.startswith(mark):
            return Encoding(name, codec, len(mark), is_converted=codec != "utf-8")
    if b"\0" in start[:_BINARY_SNIFF]:
        return None
    return _ONLY_ASCII if start.isascii() else _by_content(start, is_whole=len(start) < SNIFF)


def declared(start: bytes) -> Encoding | None:
    """Return the encoding that a file declares, unless it is unknown or wide."""
    if (match := _DECLARATION.match(start)) is None:
        return None
    try:
        name = codecs.lookup(match[match.lastindex or 0].decode("ascii", "replace")).name.replace("_", "-")
    except LookupError:
        return None
    name = _ALIASES.get(name, name)
    return Encoding(name, _CODECS.get(name, name), is_converted=True) if _NAME.fullmatch(name) else None


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
    if (encoding := declared(data)) is not None:
        decoder = codecs.getincrementaldecoder(encoding.codec)("replace")
        if "\ufffd" not in decoder.decode(data, is_whole):
            return encoding
    if len(data) - len(data.translate(None, _CONTROLS)) > len(data) // 20:
        return None
    complete = len(text) - len(text.encode("ascii", "ignore")) - broken
    return UTF_8 if complete >= broken else CP1252
