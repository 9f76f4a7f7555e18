"""What `ask-tools check` finds in one definition."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tools_core._cli._schema_text import parameters
from tools_core._definition._naming import check_name
from tools_core._jsonschema import compile_schema
from tools_core._values._errors import DefinitionError
from tools_core.formats import FORMATS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tools_core._tools._tool import Tool


class Findings:
    """Judges tools among all the names that there are; with `strict`, a strict format, by its rules too."""

    def __init__(self, names: Sequence[str], strict: str | None = None) -> None:
        self._names = names
        self._strict = strict

    def of(self, name: str, tool: Tool) -> tuple[list[str], list[str]]:
        """Return errors and warnings."""
        definition = tool.definition
        errors = list(_illegal(definition))
        if errors:
            return errors, []
        errors += self._clashes(name)
        warnings = [*_undescribed(definition), *self._lookalikes(name)]
        if self._strict and not self._is_strict(definition):
            warnings.append(f"{self._strict} sends it without strict: open objects, or keywords that strict lacks")
        return errors, warnings

    def _clashes(self, name: str) -> Iterator[str]:
        bare = name.rpartition(":")[2]
        others = [each for each in self._names if each != name and each.rpartition(":")[2] == bare]
        if others:
            yield f"`{bare}` is also the name of {', '.join(others)}: only the long names lead to them"

    def _lookalikes(self, name: str) -> Iterator[str]:
        bare = name.rpartition(":")[2]
        for other in self._names:
            other_bare = other.rpartition(":")[2]
            if other_bare != bare and _folded(other_bare) == _folded(bare):
                yield f"a model may take `{bare}` for `{other}`"

    def _is_strict(self, definition: Mapping[str, Any]) -> bool:
        [written] = FORMATS[self._strict or ""].definitions([definition])
        return bool(written.get("function", written)["strict"])


def _illegal(definition: Mapping[str, Any]) -> Iterator[str]:
    """What no model could be shown; a tool may compute its definition, so it is looked at as it came."""
    try:
        check_name(definition["name"], "it")
        compile_schema(definition["input_schema"])
        json.dumps(definition, allow_nan=False)
    except (DefinitionError, TypeError, ValueError, RecursionError) as error:
        yield f"its definition is not legal: {error}"


def _undescribed(definition: Mapping[str, Any]) -> Iterator[str]:
    if not definition["description"].strip():
        yield "it has no description: a model has only the name to go by"
    schema = definition["input_schema"]
    for name, _, _, about in parameters(schema, schema):
        if not about.strip():
            yield f"parameter `{name}` has no description"


def _folded(name: str) -> str:
    return name.lower().replace("-", "_")
