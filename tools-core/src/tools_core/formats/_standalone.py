"""A part of a schema that is shown by itself."""

from __future__ import annotations

from tools_core._jsonschema._pointer import resolve

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from typing import Any


def standalone(schema: Any, root: Any) -> Any:
    """A copy of `schema` that brings along what its references point at."""
    targets: dict[str, str] = {}
    made = _copied(schema, targets)
    definitions: dict[str, Any] = {}
    for reference in iter(lambda: next((each for each in targets if targets[each] not in definitions), None), None):
        definitions[targets[reference]] = None  # before its own references are followed
        definitions[targets[reference]] = _copied(_found(root, reference), targets)
    return made | {"$defs": definitions} if definitions else made


def _found(root: Any, reference: str) -> Any:
    try:
        return resolve(root, reference)
    except LookupError:
        return True


def _copied(value: Any, targets: dict[str, str]) -> Any:
    if isinstance(value, list):
        return [_copied(item, targets) for item in value]
    if not isinstance(value, dict):
        return value
    made = {key: _copied(item, targets) for key, item in value.items() if key[:1] != "\0"}
    made.pop("$defs", None)
    reference = made.get("$ref")
    if isinstance(reference, str):
        made["$ref"] = f"#/$defs/{targets.setdefault(reference, name_of(reference, targets.values()))}"
    return made


def name_of(reference: str, taken: Any) -> str:
    """A name for what a reference points at."""
    short = "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "_" for c in reference.rpartition("/")[2])
    name = short.strip("_") or "root"
    while name in taken:
        name += "_"
    return name
