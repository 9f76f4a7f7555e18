"""One schema, compiled once: a fast yes, and a full explanation."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from tools_core._jsonschema._generate import generate
from tools_core._jsonschema._report import Checked
from tools_core._jsonschema._value import DEPTH_LIMIT, is_plain, plain

if TYPE_CHECKING:
    from collections.abc import Callable

    from tools_core._jsonschema._pointer import Schema
    from tools_core._jsonschema._report import Node


def compile_schema(schema: Schema, *, trusted: bool = False) -> Validator:
    """Make the validator of a JSON Schema 2020-12.

    `trusted` is for schemas that this library wrote itself: they are neither examined nor copied.

    Raises:
        SchemaError: the schema is malformed or uses what is not enforced; names the place and the way out.
    """
    if trusted:
        return Validator(schema)
    from tools_core._jsonschema._examine import examine  # only schemas from outside need it

    return Validator(examine(schema))


class Validator:
    """A compiled schema; each way of asking is built when it is first used."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema

    def check(self, value: Any, *, repair: bool = True) -> Checked:
        """Report every problem of `value`, repairing what can be repaired without a loss.

        The `value` of the report is as it was repaired, problems or not. Neither raises nor changes `value`.
        """
        report = Checked(value, repair)
        try:
            given = value if is_plain(value) else plain(value, None, report)
            report.value = self._node(given, None, report)
        except RecursionError:  # the caller's own stack was nearly full
            report.say(None, f"is nested too deeply (limit {DEPTH_LIMIT})")
            return report
        # A repair for one keyword can break another: only what is valid as repaired counts.
        if report.repairs and (report.problems or not self._is_valid(report.value)):
            unrepaired = self.check(value, repair=False)
            if not report.problems or len(unrepaired.problems) <= len(report.problems):
                return unrepaired
        if len(report.problems) > 1:
            report.problems = list(dict.fromkeys(report.problems))
        return report

    def _is_valid(self, value: Any) -> bool:
        return bool(self.accepts(value)) or not self.check(value, repair=False).problems

    @cached_property
    def accepts(self) -> Callable[[Any], int]:
        """`accepts(value)`: above 0 only if `value` is valid exactly as it stands; 0 means "ask `check`"."""
        return generate(self._schema)

    @cached_property
    def _node(self) -> Node:
        from tools_core._jsonschema._nodes import Nodes  # valid arguments never load what explains

        return Nodes(self._schema).node(self._schema)
