"""The root of a schema for the providers that take every other part as it is.

Anthropic and OpenAI refuse a whole request for a union beside or around the arguments of one tool, and Anthropic for an
argument with a name such as `$filter` or `ids[]` ("Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'").
"""

from __future__ import annotations

from tools_core.formats._format import Format, schema_of
from tools_core.formats._names import legal_names
from tools_core.formats._plan import KEEP, WRAPPER, Member, Members, Plan, Unwrap
from tools_core.formats._standalone import standalone
from tools_core.formats._words import text

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    from tools_core.formats._format import Definition

    Schema: TypeAlias = dict[str, Any]

_LONGEST = 64  # characters of an argument's name
_REFUSED = frozenset(("allOf", "anyOf", "enum", "not", "oneOf"))


class Rooted:
    """A tool with a root that is taken: its description and schema, and how to undo in arguments what was changed."""

    __slots__ = ("description", "plan", "schema")

    def __init__(self, definition: Definition, *, has_plain_names: bool = False) -> None:
        """With `has_plain_names` arguments are called by letters, digits, `_`, `.` and `-`."""
        self.description: str = definition.get("description") or ""
        self.schema: Any = schema_of(definition)
        self.plan: Plan | None = None
        if not isinstance(self.schema, dict):
            return
        if self.schema.get("type") != "object" or "$ref" in self.schema or not _REFUSED.isdisjoint(self.schema):
            if self.schema.get("properties") and "$ref" not in self.schema:
                self._say_unions()
            else:
                self._wrap()
        if has_plain_names:
            self._rename()

    def _say_unions(self) -> None:
        """Say in words what the arguments must fit besides; the tool refuses what does not."""
        refused = {key: value for key, value in self.schema.items() if key in _REFUSED}
        if refused:
            words = f"The arguments must fit the JSON Schema {text(standalone(refused, self.schema))}"
            self.description = f"{self.description}\n\n{words}".lstrip()
        kept = {key: value for key, value in self.schema.items() if key not in refused}
        self.schema = {**kept, "type": "object"}

    def _wrap(self) -> None:
        """Put all arguments into one, since nobody can say what they are called."""
        inner = standalone(self.schema, self.schema)
        outer = {"$defs": inner.pop("$defs")} if "$defs" in inner else {}
        self.schema = {"type": "object", "properties": {WRAPPER: inner}, "required": [WRAPPER], **outer}
        self.plan = Unwrap(WRAPPER, KEEP)

    def _rename(self) -> None:
        properties = self.schema.get("properties")
        if not isinstance(properties, dict) or all(map(_is_ordinary, properties)):
            return
        # Anthropic takes of an argument what MCP takes of a tool.
        names = legal_names(properties, "mcp")
        if all(name == legal for name, legal in names.items()):
            return
        made = standalone(self.schema, self.schema)  # nothing refers to an argument by its name any more
        made["properties"] = {names[name]: part for name, part in made["properties"].items()}
        if "required" in made:
            made["required"] = [names.get(name, name) for name in made["required"]]
        if "dependentRequired" in made:
            needs = made["dependentRequired"].items()
            made["dependentRequired"] = {names.get(n, n): [names.get(m, m) for m in some] for n, some in needs}
        if "dependentSchemas" in made:
            made["dependentSchemas"] = {names.get(n, n): part for n, part in made["dependentSchemas"].items()}
        self.schema = made
        self.plan = Members({legal: Member(name, KEEP) for name, legal in names.items()})


class RootedFormat(Format):
    """Takes schemas as they are, but for their root."""

    __slots__ = ()

    _has_plain_names = False

    def _rooted(self, definition: Definition) -> Rooted:
        return Rooted(definition, has_plain_names=self._has_plain_names)

    def _plan(self, definition: Definition) -> Plan | None:
        return self._rooted(definition).plan


def _is_ordinary(name: str) -> bool:
    """Whether it is legal, which nearly every name is, and quickly seen."""
    return name.isidentifier() and name.isascii() and len(name) <= _LONGEST
