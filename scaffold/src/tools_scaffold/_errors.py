"""The exception of this package, and how messages quote values."""

from __future__ import annotations


class ScaffoldError(ValueError):
    """The package or tool cannot be generated as requested; nothing was written."""


def show(value: object) -> str:
    """Quote a value for a message: one line, escaped, at most 60 characters."""
    text = str(value)
    return repr(text if len(text) <= 60 else f"{text[:59]}…")


def check_line(option: str, text: str) -> None:
    """Refuse text that cannot be written as it is into a docstring, a TOML string and Markdown."""
    if not text.strip() or not text.isprintable() or len(text) > 200 or set(text) & set('"\\'):
        raise ScaffoldError(f"--{option} must be one line of at most 200 characters, without quotes and backslashes")
