"""References inside one schema document: `#`, `#/$defs/name`."""

from __future__ import annotations

from typing import Any, TypeAlias

Schema: TypeAlias = "dict[str, Any] | bool"


def resolve(root: Schema, reference: str) -> Schema:
    """Return the subschema that a local `$ref` points at; LookupError when there is none."""
    target: Any = root
    for part in parts_of(root, reference):
        if isinstance(target, dict):
            target = target[part]
        elif isinstance(target, list) and part.isdecimal() and part.isascii():
            target = target[int(part)]
        else:
            raise LookupError(reference)
    if isinstance(target, dict | bool):
        return target
    raise LookupError(reference)


def parts_of(root: Schema, reference: str) -> list[str]:
    """Return the unescaped steps of a local `$ref`; LookupError for any other."""
    base, _, pointer = reference.partition("#")
    own = root.get("$id", "").rstrip("#") if isinstance(root, dict) else ""
    if base not in ("", own) or (pointer and not pointer.startswith("/")):
        raise LookupError(reference)
    if "%" in pointer:
        from urllib.parse import unquote  # rarely needed, and costs a millisecond at import

        pointer = unquote(pointer)
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
