"""Content blocks: what a result carries to the model besides text and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

if TYPE_CHECKING:
    import os

# The first bytes of what models are commonly shown (the WHATWG MIME Sniffing standard, sections 6.1 and 6.2).
_SIGNATURES: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"ID3", "audio/mpeg"),
    (b"\xff\xfb", "audio/mpeg"),
    (b"OggS\x00", "audio/ogg"),
    (b"fLaC", "audio/flac"),
    (b"%PDF-", "application/pdf"),
)


class Block:
    """Bytes with a MIME type; `Image`, `Audio` and `File` say what a model should take them for.

    `data` is the raw content, `mime_type` is read off the first bytes when not given.
    """

    __slots__ = ("data", "mime_type", "name")
    kind: ClassVar[str]
    family: ClassVar[str] = ""

    def __init__(self, data: bytes, mime_type: str | None = None, *, name: str | None = None) -> None:
        if not isinstance(data, bytes | bytearray | memoryview):
            raise TypeError(f"{type(self).__name__} takes bytes, got {type(data).__name__}; for a file use from_path")
        self.data = bytes(data)
        self.mime_type = mime_type or sniff(self.data) or "application/octet-stream"
        self.name = name
        if not self.mime_type.startswith(self.family):
            raise ValueError(
                f"{type(self).__name__} needs the MIME type {self.family}…, got {self.mime_type}; "
                f'say it: {type(self).__name__}(data, "{self.family}…"), or use File'
            )

    @classmethod
    def from_path(cls, path: str | os.PathLike[str], mime_type: str | None = None) -> Self:
        """Read a whole file; OSError when it cannot be read."""
        import mimetypes  # reads the system's tables: 5 ms
        import os.path

        with open(path, "rb") as file:
            data = file.read()
        return cls(data, mime_type or sniff(data) or mimetypes.guess_type(path)[0], name=os.path.basename(path))

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON with the content in base64; `block_from_dict` is the inverse."""
        import binascii  # a shared library, wanted only here

        text = binascii.b2a_base64(self.data, newline=False).decode("ascii")
        return {"type": self.kind, "mime_type": self.mime_type, "data": text} | (
            {"name": self.name} if self.name else {}
        )

    def summary(self) -> dict[str, Any]:
        """Describe the block without its content."""
        facts: dict[str, Any] = {"type": self.kind, "mime_type": self.mime_type, "size": len(self.data)}
        return facts | ({"name": self.name} if self.name else {})

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.to_dict() == self.to_dict()

    def __hash__(self) -> int:
        return hash((self.kind, self.mime_type, self.data, self.name))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.mime_type}, {len(self.data)} bytes>"

    def __str__(self) -> str:
        return f"[{self.kind} {self.mime_type}, {len(self.data)} bytes]"


class Image(Block):
    """A picture for the model to see."""

    __slots__ = ()
    kind = "image"
    family = "image/"


class Audio(Block):
    """Sound for the model to hear."""

    __slots__ = ()
    kind = "audio"
    family = "audio/"


class File(Block):
    """Any other bytes, such as a PDF."""

    __slots__ = ()
    kind = "file"


_KINDS: dict[str, type[Block]] = {"image": Image, "audio": Audio, "file": File}


def block_from_dict(value: Any) -> Any:
    """Make blocks again of what their `to_dict()` gave, at any depth; anything else comes back as it is."""
    if isinstance(value, list):
        return [block_from_dict(item) for item in value]
    if not isinstance(value, dict):
        return value
    if isinstance(value.get("data"), str) and value.get("type") in tuple(_KINDS):
        import binascii  # a shared library, wanted only here

        try:
            data = binascii.a2b_base64(value["data"], strict_mode=True)
            block = _KINDS[value["type"]](data, value.get("mime_type"), name=value.get("name"))
            if block.to_dict() == value:  # otherwise it is a similar dict of the tool
                return block
        except (AttributeError, TypeError, ValueError):  # as above
            return value
    return {key: block_from_dict(item) for key, item in value.items()}


def sniff(data: bytes) -> str | None:
    """Name the MIME type that the first bytes give away."""
    for signature, mime_type in _SIGNATURES:
        if data.startswith(signature):
            return mime_type
    if data[:4] == b"RIFF":
        return {b"WEBP": "image/webp", b"WAVE": "audio/wav"}.get(data[8:12])
    return None
