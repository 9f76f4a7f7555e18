"""Earlier calls in the form that all providers accept."""

from __future__ import annotations

import json
import re
from hashlib import sha256
from typing import Any

from tools_core._values._errors import InvalidArguments
from tools_core._values._tool_call import ToolCall
from tools_core.formats._format import plain_json

_LEGAL_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


def legal_id(id: str | None) -> str:
    """Return an id of at most 64 letters, digits, `_` and `-`: a legal one unchanged, else a digest of it."""
    text = id or ""
    return text if _LEGAL_ID.fullmatch(text) else sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def argument_object(call: ToolCall) -> dict[str, Any]:
    """Return the arguments of a call as an object; text that is not one becomes its member `invalid_json`."""
    try:
        arguments = call.arguments
        json.dumps(arguments, allow_nan=False)
    except (InvalidArguments, RecursionError, TypeError, ValueError):
        arguments = {"invalid_json": repr(call.raw_arguments) if call.raw is None else call.raw}
    sendable: dict[str, Any] = plain_json(arguments)
    return sendable


def argument_text(call: ToolCall) -> str:
    """Return the arguments of a call as the text of a JSON object; valid text is unchanged."""
    arguments, text = argument_object(call), (call.raw or "").strip()
    # Some servers refuse halves of surrogate pairs, and a text that has them in escapes.
    is_valid = text[:1] == "{" and "invalid_json" not in arguments and text.isascii() and "\\ud" not in text.lower()
    return text if is_valid else json.dumps(arguments, ensure_ascii=False)
