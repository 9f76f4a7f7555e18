"""JSON Schema 2020-12 for tools: compile a schema, check values, describe what a schema expects.

    >>> from tools_core import schema
    >>> validator = schema.compile({"type": "object", "properties": {"day": {"type": "integer"}}, "required": ["day"]})
    >>> validator.is_valid({"day": 3})
    True
    >>> for problem in validator.check({"day": "monday"}).problems:
    ...     print(problem.path, "|", problem.text)
    day | must be an integer, got "monday"
    >>> report = validator.check({"day": "3"})
    >>> report.value, report.repairs
    ({'day': 3}, ['day: "3" -> 3'])
    >>> schema.describe({"type": ["integer", "null"]})
    'an integer or null'

The same engine validates the arguments of every tool. Schemas that it cannot enforce raise SchemaError.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tools_core._jsonschema._compiler import Compiler
from tools_core._jsonschema._describe import describe as _describe
from tools_core._jsonschema._examine import examine
from tools_core._jsonschema._foreign import enforceable
from tools_core._jsonschema._generate import generate
from tools_core._jsonschema._plain_json import MAX_DEPTH, plain_size, to_plain
from tools_core._jsonschema._report import Node, Report
from tools_core._jsonschema._types import Schema, accepted_types, flatten, resolve
from tools_core._values._errors import SchemaError
from tools_core._values._problem import Path, Problem

__all__ = [
    "Problem",
    "Report",
    "Schema",
    "SchemaError",
    "Validator",
    "accepted_types",
    "compile",
    "describe",
    "enforceable",
    "flatten",
    "resolve",
]


def compile(schema: Schema) -> Validator:  # noqa: A001  (as re.compile)
    """Compile a schema, an object or a boolean; later changes to it have no effect.

    Raises:
        SchemaError: The schema is malformed or has a keyword that is not enforced; the message says what works.
    """
    return Validator(examine(schema))


def describe(schema: Schema, root: Schema | None = None) -> str:
    """Describe the expected value in words; `root` is the document of a subschema, for its references."""
    return _describe(schema, schema if root is None else root)


class Validator:
    """A compiled schema, as `compile` returns it. Both evaluators are built at their first use."""

    accepts: Callable[[Any], int]  # the size of a valid value, see `plain_size`; 0 if `check` has to decide

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self.accepts = self._first_accepts  # attributes are faster than cached properties
        self._node: Node = self._first_node

    def check(self, value: Any, *, repair: bool = True) -> Report:
        """Report every problem of `value`, and repair mistakes that can be repaired without a loss.

        The report has the repaired value even if there are problems. Never raises, and never changes `value`.
        """
        report = Report(value, repair)
        try:
            plain = value if plain_size(value) else to_plain(value, None, report)
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
        return bool(self.accepts(value)) or not self.check(value, repair=False).problems

    def _first_accepts(self, value: Any) -> int:
        self.accepts = generate(self._schema)
        return self.accepts(value)

    def _first_node(self, value: Any, path: Path, report: Report) -> Any:
        self._node = Compiler(self._schema).node(self._schema)
        return self._node(value, path, report)
