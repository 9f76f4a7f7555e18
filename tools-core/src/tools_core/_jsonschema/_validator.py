"""`Validator`: a schema, compiled once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from tools_core._jsonschema._compiler import Compiler
from tools_core._jsonschema._examine import examine
from tools_core._jsonschema._generate import generate, member_counter
from tools_core._jsonschema._plain_json import MAX_DEPTH, is_plain, to_plain
from tools_core._jsonschema._references import Schema
from tools_core._jsonschema._report import Node, Report


def compile_schema(schema: Schema, *, trusted: bool = False) -> Validator:
    """Compile a JSON Schema 2020-12.

    Args:
        schema: The schema; later changes to it have no effect.
        trusted: The library wrote the schema itself: it is neither examined nor copied.

    Raises:
        SchemaError: The schema is malformed or has a keyword that is not enforced.
    """
    return Validator(schema if trusted else examine(schema))


class Validator:
    """A compiled schema. Both evaluators are built at their first use."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema

    def check(self, value: Any, *, repair: bool = True) -> Report:
        """Report every problem of `value`, and repair mistakes that can be repaired without a loss.

        The report has the repaired value even if there are problems. Never raises, and never changes `value`.
        """
        report = Report(value, repair)
        try:
            plain = value if is_plain(value) else to_plain(value, None, report)
            report.value = self._node(plain, None, report)
        except RecursionError:  # the caller's own stack was nearly full
            report.add_problem(None, f"is nested too deeply (limit {MAX_DEPTH})")
            return report
        # A repair for one keyword can break another: discard repairs that do not make the value valid.
        if report.repairs and (report.problems or not self.is_valid(report.value)):
            unrepaired = self.check(value, repair=False)
            if not report.problems or len(unrepaired.problems) <= len(report.problems):
                return unrepaired
        if len(report.problems) > 1:
            report.problems = list(dict.fromkeys(report.problems))
        return report

    def is_valid(self, value: Any) -> bool:
        """Return whether `value` is valid without a repair."""
        return self.accepts(value) or not self.check(value, repair=False).problems

    @cached_property
    def accepts(self) -> Callable[[Any], bool]:
        """The generated evaluator: True only for a valid value, False if `check` has to decide."""
        return generate(self._schema)

    @cached_property
    def count_members(self) -> Callable[[Any], int]:
        """Count the members of all objects in a valid value."""
        return member_counter(self._schema, self._schema)

    @cached_property
    def _node(self) -> Node:
        return Compiler(self._schema).node(self._schema)
