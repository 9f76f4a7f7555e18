"""Content blocks: images, audio and files in the result of a tool."""

from __future__ import annotations

import binascii
import os
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar, Self

# The first bytes of common formats (the WHATWG MIME Sniffing standard, sections 6.1 and 6.2).
_SIGNATURES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
    b"ID3": "audio/mpeg",
    b"\xff\xfb": "audio/mpeg",
    b"OggS\x00": "audio/ogg",
    b"fLaC": "audio/flac",
    b"%PDF-": "application/pdf",
}


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Block:
    """Bytes with a MIME type; `Image`, `Audio` and `File` tell the model how to interpret them.

    Args:
        data: The raw content.
        mime_type: Detected from the content if it is None.
        name: The name of the file, if there is one.
    """

    kind: ClassVar[str]
    family: ClassVar[str] = ""

    data: bytes
    mime_type: str
    name: str | None

    def __init__(self, data: bytes, mime_type: str | None = None, *, name: str | None = None) -> None:
        if not isinstance(data, bytes | bytearray | memoryview):
            raise TypeError(f"{type(self).__name__} takes bytes, got {type(data).__name__}; for a file use from_path")
        data = bytes(data)
        mime_type = mime_type or sniff(data) or "application/octet-stream"
        for field, value in (("data", data), ("mime_type", mime_type), ("name", name)):
            object.__setattr__(self, field, value)
        if not self.mime_type.startswith(self.family):
            raise ValueError(
                f"{type(self).__name__} expects a MIME type {self.family}*, got {self.mime_type}; "
                "pass mime_type, or use File"
            )

    @classmethod
    def from_path(cls, path: str | os.PathLike[str], mime_type: str | None = None) -> Self:
        """Read a whole file; OSError when it cannot be read."""
        import mimetypes  # reads the tables of the system

        with open(path, "rb") as file:
            data = file.read()
        return cls(data, mime_type or sniff(data) or mimetypes.guess_type(path)[0], name=os.path.basename(path))

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON with the content in base64."""
        return self._facts(data=binascii.b2a_base64(self.data, newline=False).decode("ascii"))

    def summary(self) -> dict[str, Any]:
        """Describe the block without its content."""
        return self._facts(size=len(self.data))

    def _facts(self, **content: Any) -> dict[str, Any]:
        facts = {"type": self.kind, "mime_type": self.mime_type, **content}
        return facts | {"name": self.name} if self.name else facts

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.mime_type}, {len(self.data)} bytes>"

    def __str__(self) -> str:
        return f"[{self.kind} {self.mime_type}, {len(self.data)} bytes]"


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Image(Block):
    """A picture for the model to see."""

    kind = "image"
    family = "image/"


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Audio(Block):
    """Sound for the model to hear."""

    kind = "audio"
    family = "audio/"


@dataclass(frozen=True, slots=True, init=False, repr=False)
class File(Block):
    """Any other bytes, such as a PDF."""

    kind = "file"


_KINDS: dict[str, type[Block]] = {"image": Image, "audio": Audio, "file": File}


BINARY = (Block, bytes, bytearray, memoryview)


def as_block(value: Any) -> Block:
    """Return a block, or bytes as a `File`."""
    return value if isinstance(value, Block) else File(bytes(value))


def block_from_dict(value: Any) -> Any:
    """Restore blocks from the output of `to_dict()`, at any depth; return any other value unchanged."""
    if isinstance(value, list):
        return [block_from_dict(item) for item in value]
    if not isinstance(value, dict):
        return value
    if isinstance(value.get("data"), str) and value.get("type") in tuple(_KINDS):
        with suppress(AttributeError, TypeError, ValueError):  # a similar dict of the tool
            data = binascii.a2b_base64(value["data"], strict_mode=True)
            block = _KINDS[value["type"]](data, value.get("mime_type"), name=value.get("name"))
            if block.to_dict() == value:
                return block
    return {key: block_from_dict(item) for key, item in value.items()}


def sniff(data: bytes) -> str | None:
    """Detect the MIME type from the first bytes."""
    for signature, mime_type in _SIGNATURES.items():
        if data.startswith(signature):
            return mime_type
    if data[:4] == b"RIFF":
        return {b"WEBP": "image/webp", b"WAVE": "audio/wav"}.get(data[8:12])
    return None
