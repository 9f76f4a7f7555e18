"""The core's own validator of a schema, reached through a tool that has it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from tools_core import tool

if TYPE_CHECKING:
    from collections.abc import Mapping


class Validator:
    """Validates arguments against one input schema.

    Raises DefinitionError for a schema that the core does not support.
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._exact = tool(_echo, name="echo", input_schema=schema, repair=False)
        self._repairing = tool(_echo, name="echo", input_schema=schema)
        self.schema: dict[str, Any] = self._exact.definition["input_schema"]

    def accepts(self, arguments: Any) -> bool:
        """Return whether the arguments are valid without a repair."""
        return self._exact.call(arguments).ok

    def refuses(self, arguments: Any) -> bool:
        """Return whether the arguments are invalid and no repair helps."""
        return not self._repairing.call(arguments).ok


def fits(schema: Mapping[str, Any], value: Any) -> bool:
    """Return whether a JSON value fits a schema; True for one that refers to its own root."""
    if re.search(r'"\$ref": "#(?!/\$defs/)', json.dumps(schema)):
        return True  # the root is another one below
    properties = {"value": {key: part for key, part in schema.items() if key != "$defs"}}
    return Validator({"type": "object", "properties": properties, "$defs": schema.get("$defs", {})}).accepts(
        {"value": value}
    )


def _echo(**arguments: Any) -> None:
    """Do nothing."""
