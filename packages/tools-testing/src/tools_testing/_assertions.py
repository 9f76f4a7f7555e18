"""Assertions about a `Result`, whose messages show the result."""

from __future__ import annotations

import difflib
import json
import re
import traceback
from typing import TYPE_CHECKING, Any

from tools_core import Result

if TYPE_CHECKING:
    from typing import NoReturn

_ANY: Any = object()
_FRAMES = -5  # the innermost ones of a traceback


def assert_ok(result: Result, output: Any = _ANY) -> Any:
    """Assert that a call succeeded, with this output if one is given; return the output."""
    __tracebackhide__ = True
    _must_be_result(result)
    if not result.ok:
        _fail("expected a success", result)
    if output is not _ANY and result.output != output:
        _fail(f"expected another output\n{difference(output, result.output)}", result)
    return result.output


def assert_error(result: Result, type: str | None = None, *, match: str | None = None) -> str:
    """Assert that a call failed, with this error type and a message that matches a pattern; return the message."""
    __tracebackhide__ = True
    _must_be_result(result)
    if result.ok:
        _fail(f"expected an error{f' of type {type}' if type else ''}", result)
    message = result.error or ""
    if type is not None and result.error_type != type:
        _fail(f"expected an error of type {type}, got {result.error_type}", result)
    if match is not None and not re.search(match, message):
        _fail(f"expected a message that matches {match!r}", result)
    return message


def assert_halted(result: Result, output: Any = _ANY) -> Any:
    """Assert that a call ends the conversation, with this output if one is given; return the output."""
    __tracebackhide__ = True
    _must_be_result(result)
    if not result.halted:
        _fail("expected a halt", result)
    if output is not _ANY and result.output != output:
        _fail(f"expected another output of the halt\n{difference(output, result.output)}", result)
    return result.output


def difference(expected: Any, got: Any) -> str:
    """Return a diff of two values as JSON: `-` was expected, `+` is the result."""
    first, second = (_pretty(value) for value in (expected, got))
    if first == second:  # a difference that JSON does not show
        return f"- {expected!r}\n+ {got!r}"
    lines = difflib.ndiff(first.splitlines(), second.splitlines())
    return "\n".join(line.rstrip() for line in lines)


def _pretty(value: Any) -> str:
    return json.dumps(Result.ok(value).to_dict()["output"], indent=2, ensure_ascii=False, sort_keys=True)


def _must_be_result(result: object) -> None:
    __tracebackhide__ = True
    if not isinstance(result, Result):
        raise TypeError(f"expected a Result, got {type(result).__name__}: pass what tool.call(...) returns")


def _fail(problem: str, result: Result) -> NoReturn:
    __tracebackhide__ = True
    parts = [problem, "the result was", _pretty(result.to_dict())]
    if result.exception is not None:
        frames = traceback.format_exception(result.exception, limit=_FRAMES)
        parts += ["raised by", "".join(frames).rstrip()]
    raise AssertionError("\n".join(parts))
