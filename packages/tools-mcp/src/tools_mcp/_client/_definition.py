"""Definitions of a server's tools as JSON: their names here, and how two of them differ."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeAlias

from tools_core.formats import legal_names

if TYPE_CHECKING:
    from collections.abc import Iterable

Definition: TypeAlias = dict[str, Any]  # a `Tool` of the protocol, with the parts that a model or a policy reads

PARTS = ("name", "description", "inputSchema", "title", "outputSchema", "annotations")


def read_object(path: str) -> dict[str, Any]:
    """Return the object in a JSON file, empty where the file is missing; ValueError that names the file."""
    try:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from error
    if not isinstance(data, dict):
        raise ValueError(f"{path} cannot be read: it is not a JSON object")  # noqa: TRY004  (of the file)
    return data


def tool_names(remote: Iterable[str], prefix: str = "") -> dict[str, str]:
    """Return a legal name for each name that the server uses; legal names stay."""
    full_names = {name: prefix + name for name in remote}
    gemini = legal_names(full_names.values(), "gemini")  # begin with a letter or _
    openai = legal_names(gemini.values(), "openai")
    return {name: openai[gemini[full_name]] for name, full_name in full_names.items()}


def differences(accepted: dict[str, Definition], listed: dict[str, Definition]) -> list[str]:
    """Return the differences between accepted and listed definitions as lines that begin with + or -."""
    from difflib import unified_diff  # discovery does not need it

    changes = list(unified_diff(_lines(accepted), _lines(listed), n=0, lineterm=""))[2:]
    return [f"{line[0]} {line[1:]}" for line in changes if not line.startswith("@@")]


def _lines(definitions: dict[str, Definition]) -> list[str]:
    """Return lines `tool: DESCRIPTION`, a line `tool(parameter): SCHEMA` for each parameter, and one for the rest."""
    lines: list[str] = []
    for name, definition in sorted(definitions.items()):
        if "description" in definition:
            lines += [f"{name}: {line}" for line in definition["description"].split("\n")]
        rest = {part: definition[part] for part in PARTS[2:] if part in definition}
        parameters = rest.get("inputSchema", {}).get("properties")
        if parameters and isinstance(parameters, dict):
            rest["inputSchema"] = {key: value for key, value in rest["inputSchema"].items() if key != "properties"}
            lines += [f"{name}({key}): {_json(parameters[key])}" for key in sorted(parameters)]
        lines += [f"{name} {_json(rest)}"]
    return lines


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)
