"""Generated arguments for a tool: valid, invalid and hostile ones."""

from tools_testing._arguments._arguments_for import (
    QUIET,
    Kind,
    NoValueError,
    Validator,
    arguments_for,
    fits,
    samples,
)  # fmt: skip
from tools_testing._arguments._invalid import MALFORMED, NOT_JSON

__all__ = [
    "MALFORMED", "NOT_JSON", "QUIET", "Kind", "NoValueError", "Validator", "arguments_for", "fits", "samples",
]  # fmt: skip
