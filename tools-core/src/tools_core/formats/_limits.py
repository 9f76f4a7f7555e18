"""How large a strict schema may be."""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from typing import Any

    from tools_core.formats._dialect import Dialect, Place

# OpenAI's guide to structured outputs, "Limitations on nesting depth and size".
PROPERTIES = 5_000
LEVELS = 10
ENUM_VALUES = 1_000
LONG_ENUM, LONG_ENUM_TEXT = 250, 15_000  # values of one enum, beyond which its text is limited
TEXT = 120_000  # characters of the names of properties and definitions, and of enum and const values


class _Count:
    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.properties = self.values = self.characters = 0

    def refuse(self, what: str, limit: int, place: Place) -> None:
        problem = f"{what}; the limit is {limit:,}: make the tool smaller, or send it without strict"
        raise self.dialect.error(problem, place)

    def visit(self, schema: dict[str, Any], place: Place, level: int) -> None:
        properties = schema.get("properties")
        if properties is not None:
            level += 1
            if level > LEVELS:
                self.refuse(f"objects are nested {level} levels deep", LEVELS, place)
            self.properties += len(properties)
            for name, part in properties.items():
                self.characters += len(name)
                self.visit(part, (*place, "properties", name), level)
        if "items" in schema:
            self.visit(schema["items"], (*place, "items"), level)
        for number, part in enumerate(schema.get("anyOf", ())):
            self.visit(part, (*place, "anyOf", str(number)), level)
        if "enum" in schema or "const" in schema:
            self.visit_values(schema.get("enum") or [schema["const"]], place)

    def visit_values(self, values: list[Any], place: Place) -> None:
        size = sum(len(value) for value in values if isinstance(value, str))
        self.values += len(values)
        self.characters += size
        if len(values) > LONG_ENUM and size > LONG_ENUM_TEXT:
            self.refuse(f"an enum of {len(values):,} values has {size:,} characters", LONG_ENUM_TEXT, place)


def check_limits(schema: dict[str, Any], dialect: Dialect) -> None:
    """Refuse, by FormatError, a schema that the provider would refuse for its size."""
    count = _Count(dialect)
    count.visit(schema, (), 0)
    for name, part in schema.get("$defs", {}).items():
        count.characters += len(name)
        count.visit(part, ("$defs", name), 0)
    if count.properties > PROPERTIES:
        count.refuse(f"there are {count.properties:,} properties", PROPERTIES, ())
    if count.values > ENUM_VALUES:
        count.refuse(f"there are {count.values:,} enum values", ENUM_VALUES, ())
    if count.characters > TEXT:
        count.refuse(f"names and enum values have {count.characters:,} characters", TEXT, ())
