"""Defaults in the descriptions of parameters, for clients that drop `default` from schemas."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_MAX_LENGTH = 60  # characters of a default
_STATED = re.compile(r"by default|\bdefaults\b|\bdefault( is\b|:| [\d\"'`])|\(default\b", re.IGNORECASE)


def with_defaults(schema: Any) -> Any:
    """Return a schema whose descriptions state each default that is not empty, unless they do so already."""
    if not isinstance(schema, Mapping):
        return schema
    result = dict(schema)
    for keyword in ("properties", "$defs"):
        parts = schema.get(keyword)
        if isinstance(parts, Mapping):
            result[keyword] = {name: with_defaults(part) for name, part in parts.items()}
    if "items" in schema:
        result["items"] = with_defaults(schema["items"])
    text, default = schema.get("description", ""), schema.get("default")
    if default and isinstance(text, str) and not _STATED.search(text):
        value = json.dumps(default, ensure_ascii=False)
        if len(value) <= _MAX_LENGTH:
            result["description"] = f"{text.rstrip().removesuffix('.')} (default: {value}).".lstrip()
    return result
