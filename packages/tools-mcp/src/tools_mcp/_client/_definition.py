"""Definitions of a server's tools as JSON: their hash, and how two of them differ."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any, TypeAlias

Definition: TypeAlias = dict[str, Any]  # a `Tool` of the protocol: name, description, inputSchema, ...

PARTS = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")


def digest(definition: Definition) -> str:
    """Return the SHA-256 of a definition, from canonical JSON of the parts that a model or a policy reads."""
    parts = {part: definition[part] for part in PARTS if definition.get(part) is not None}
    return sha256(json.dumps(parts, sort_keys=True, separators=(",", ":")).encode("ascii")).hexdigest()


def changed_parts(pinned: Definition, listed: Definition) -> list[str]:
    """Return the parts that differ."""
    return [part for part in PARTS if pinned.get(part) != listed.get(part)]


def differences(pinned: dict[str, Definition], listed: dict[str, Definition]) -> list[str]:
    """Return a line for each tool that is new, missing or changed, and below it the lines of what has changed."""
    found: list[str] = []
    for name in sorted(pinned.keys() | listed.keys()):
        if name not in listed:
            found.append(f"- {name}")
        elif name not in pinned:
            found += [f"+ {name}", *(f"    + {line}" for line in _lines(listed[name]))]
        elif digest(pinned[name]) != digest(listed[name]):
            from difflib import ndiff  # only for what has changed

            parts = ", ".join(changed_parts(pinned[name], listed[name]))
            changes = ndiff(_lines(pinned[name]), _lines(listed[name]))
            found += [f"! {name}: {parts}", *(f"    {line}" for line in changes if line[:1] in "+-")]
    return found


def _lines(definition: Definition) -> list[str]:
    parts = {part: definition[part] for part in PARTS if part != "name" and part in definition}
    description = str(parts.pop("description", "")).splitlines()
    return [*description, *(json.dumps(parts, indent=1, sort_keys=True).splitlines() if parts else ())]
