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

from tools_core._jsonschema._describe import describe as _describe
from tools_core._jsonschema._references import Schema, flatten, resolve
from tools_core._jsonschema._report import Report
from tools_core._jsonschema._types import accepted_types
from tools_core._jsonschema._validator import Validator, compile_schema
from tools_core._values._errors import SchemaError
from tools_core._values._problem import Problem

__all__ = [
    "Problem",
    "Report",
    "Schema",
    "SchemaError",
    "Validator",
    "accepted_types",
    "compile",
    "describe",
    "flatten",
    "resolve",
]


def compile(schema: Schema) -> Validator:  # noqa: A001  (as re.compile)
    """Compile a schema, an object or a boolean; later changes to it have no effect.

    Raises:
        SchemaError: The schema is malformed or has a keyword that is not enforced; the message says what works.
    """
    return compile_schema(schema)


def describe(schema: Schema, root: Schema | None = None) -> str:
    """Describe the expected value in words; `root` is the document of a subschema, for its references."""
    return _describe(schema, schema if root is None else root)
