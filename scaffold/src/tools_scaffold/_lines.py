"""Text whose lines end in one way, so that it can be changed and keep it."""

from __future__ import annotations

from tools_scaffold._errors import ScaffoldError, shown


def decode(data: bytes, path: str) -> tuple[str, str]:
    """Return text with line feeds, and how its lines end; ScaffoldError for what would not survive that."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ScaffoldError(f"{shown(path)} is not UTF-8; nothing was changed") from error
    ending = "\r\n" if "\r\n" in text else "\n"
    plain = text.replace("\r\n", "\n")
    if "\r" in plain or plain.replace("\n", ending) != text:
        raise ScaffoldError(f"the lines of {shown(path)} end in different ways; nothing was changed")
    return plain, ending


def encode(text: str, ending: str) -> bytes:
    """The inverse of `decode`."""
    return text.replace("\n", ending).encode("utf-8")
