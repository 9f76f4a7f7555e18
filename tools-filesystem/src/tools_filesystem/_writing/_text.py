"""The content of a text file that is edited in memory; bytes outside the edits do not change."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tools_core import ToolError
from tools_filesystem._reading._encoding import SNIFF, declared, detect

if TYPE_CHECKING:
    from tools_filesystem._reading._encoding import Encoding

MAX_SIZE = 64  # megabytes of a file that is edited


class Text(NamedTuple):
    """A file's content in an encoding in which LF is one byte.

    `codec` encodes new text for `data`; `wide` is the file's own encoding, if `data` was converted.
    """

    data: bytes
    codec: str
    wide: Encoding | None = None

    def encoded(self, text: str) -> bytes:
        """Encode text for the file; UnicodeEncodeError if the encoding lacks a character."""
        return text.encode(self.codec)

    def decoded(self, data: bytes) -> str:
        """Decode bytes of the file for messages."""
        return data.decode(self.codec, "replace")

    def restored(self, data: bytes) -> bytes:
        """Return the file's bytes for changed data, in the encoding it declares; ToolError for other characters."""
        if self.wide is None:
            return data
        encoding = self.wide if self.wide.mark else declared(data[:SNIFF]) or self.wide
        try:
            return data.decode().encode(encoding.codec)
        except UnicodeEncodeError as error:
            message = f"{error.object[error.start]!r} cannot be written in {encoding.name}, which the file declares"
            raise ToolError(message, "validation_error") from error


def text_of(data: bytes, path: str) -> Text:
    """Read a file's content; ToolError if an edit could not keep the other bytes."""
    encoding = detect(data[:SNIFF])
    if encoding is not None and encoding.is_converted:
        text = data.decode(encoding.codec, "replace")
        if text.encode(encoding.codec, "replace") != data:
            raise ToolError(f"{path!r} has bytes that are not {encoding.name}", "conflict")
        return Text(text.encode("utf-8", "surrogatepass"), "utf-8", encoding)
    if data.isascii():
        return Text(data, "utf-8", declared(data[:SNIFF])) if encoding is not None else Text(data, "ascii")
    try:
        data.decode()
    except UnicodeDecodeError:
        judged = encoding if encoding is None or encoding.settled else detect(data)
        return Text(data, "ascii" if judged is None else "utf-8" if judged.codec == "utf-8" else "cp1252")
    return Text(data, "utf-8")
