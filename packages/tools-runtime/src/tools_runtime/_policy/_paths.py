"""Absolute paths of the arguments that a schema declares as paths."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_IS_PATH = re.compile(r'"format": "(file-|directory-)?path"')  # pydantic writes the longer names


def schema_paths(schema: Mapping[str, Any], arguments: Mapping[str, Any], workspace: str) -> Sequence[str] | None:
    """Return the real paths of the arguments whose schemas mention paths; None if a default is unknown.

    All texts inside such an argument count, so that no part of a nested schema has to be understood.
    """
    if not _IS_PATH.search(json.dumps(schema)):
        return ()
    properties = schema.get("properties", {})
    in_all = {key: value for key, value in schema.items() if key not in ("properties", "$defs")}
    values: list[Any] = []
    for name in properties.keys() | arguments.keys():
        text = json.dumps([properties.get(name), in_all])
        if not _IS_PATH.search(text + json.dumps(schema.get("$defs")) if '"$ref"' in text else text):
            continue
        if name not in arguments and "default" not in properties[name]:
            return None
        values.append(arguments[name] if name in arguments else properties[name]["default"])
    try:
        return tuple(dict.fromkeys(path for text in _texts(values) for path in _readings(text, workspace)))
    except (ValueError, OSError):
        return None


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)


def _readings(text: str, workspace: str) -> Iterator[str]:
    """Yield all files that a tool may open: `~` expanded or not, `..` resolved before links or after them."""
    for name in (text, os.path.expanduser(os.path.expandvars(text))):
        absolute = os.path.join(workspace, name)
        for path in (absolute, os.path.normpath(absolute)):
            folder, last = os.path.split(path.rstrip("/"))
            yield os.path.realpath(path)
            if last not in ("", ".", ".."):  # the name itself, which may be a link to another place
                yield os.path.join(os.path.realpath(folder), last)
