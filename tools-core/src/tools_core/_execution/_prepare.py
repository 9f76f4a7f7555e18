"""Prepare a call: read, validate, repair and convert the arguments, and derive the context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from tools_core._definition._spec import Spec
from tools_core._execution._outcome import Stopped
from tools_core._jsonschema._report import Report
from tools_core._values._context import Context, process_context
from tools_core._values._errors import InvalidArguments
from tools_core._values._json import parse
from tools_core._values._problem import Problem, show
from tools_core._values._tool_call import ToolCall


class Runnable(Protocol):
    """The parts of a Tool that a call uses."""

    _spec: Spec
    name: str
    timeout: float | None
    repair: bool
    manages_timeout: bool

    def execute(self, *args: Any, **kwargs: Any) -> Any:
        """Do the work."""


def prepare(
    tool: Runnable, arguments: Any, context: Any, keywords: dict[str, Any]
) -> tuple[dict[str, Any], Context | None, Sequence[str]]:
    """Return the arguments of the body, the context of this call if it needs one, and the repairs.

    Raises:
        InvalidArguments: The arguments cannot be read, or do not fit the schema.
        Stopped: The context is cancelled, or its deadline has passed.
    """
    spec = tool._spec
    if context is not None and not isinstance(context, Context):
        keywords, context = {**keywords, "context": context}, None  # an argument of that name
    if type(arguments) is dict and not keywords:
        values, size = arguments, spec.validator.accepts(arguments)
    else:
        values, size = _read(spec, arguments, keywords)
    repairs: Sequence[str] = ()
    if not size:
        report = spec.validator.check(values, repair=tool.repair)
        if report.problems:
            raise _invalid(spec, report)
        values, repairs = report.value, report.repairs
    if spec.convert is not None:
        values = spec.convert(values, ())
    if context is None and spec.context is None and tool.timeout is None:
        return values, None, repairs
    call_id = arguments.id if isinstance(arguments, ToolCall) else None
    inner = (context or process_context()).for_call(tool.timeout, call_id)
    inner.tool = tool.name
    if inner.cancelled or inner.remaining == 0:
        raise Stopped(inner, has_started=False)
    return (values if spec.context is None else {**values, spec.context: inner}), inner, repairs


def valid_arguments(tool: Runnable, arguments: Any) -> dict[str, Any]:
    """Return valid, repaired arguments that are not converted yet; InvalidArguments if that is not possible."""
    values, size = _read(tool._spec, arguments, {})
    if size:
        return values
    report = tool._spec.validator.check(values, repair=tool.repair)
    if report.problems:
        raise _invalid(tool._spec, report)
    return dict(report.value)


def _invalid(spec: Spec, report: Report) -> InvalidArguments:
    """Return the error with the problems of a report, and with those of conversions."""
    if spec.convert is not None and report.is_complete:
        try:
            spec.convert(report.value, report.problems)
        except InvalidArguments as error:
            return error
    return InvalidArguments(report.problems)


def _read(spec: Spec, arguments: Any, keywords: Mapping[str, Any]) -> tuple[dict[str, Any], int]:
    """Return the arguments as one dict, and 0 unless they are valid without repairs."""
    if isinstance(arguments, ToolCall):
        arguments = arguments.raw_arguments
    if isinstance(arguments, (str, bytes)):
        text: Any = arguments
        arguments = parse(text, exactly=False)
        size = spec.validator.accepts(arguments)
        # Each member has a colon. If there are more, in strings or after repeated keys, parse exactly.
        if size != 1 + text.count(":" if isinstance(text, str) else b":"):
            arguments = parse(text)
        if not keywords:
            return arguments, size
    elif type(arguments) is not dict:
        if not isinstance(arguments, Mapping | None):
            message = f'the arguments must be an object, got {show(arguments)}; send {{"name": value, ...}}'
            raise InvalidArguments([Problem(None, message)], "not_an_object")
        arguments = dict(arguments or {})
    if keywords:
        if arguments.keys() & keywords.keys():
            message = "pass each argument once: in an object, in JSON text, or as a keyword"
            raise InvalidArguments([Problem(None, message)], "twice")
        arguments = {**arguments, **keywords}
    return arguments, spec.validator.accepts(arguments)
