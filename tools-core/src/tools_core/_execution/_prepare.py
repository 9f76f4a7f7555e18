"""From what the model sent to what the body is called with: read, validate, repair, convert."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from tools_core._execution._outcome import fail
from tools_core._values._context import Context, process_context
from tools_core._values._errors import InvalidArguments
from tools_core._values._problem import Problem, show
from tools_core._values._result import Result, make_result
from tools_core._values._tool_call import ToolCall

if TYPE_CHECKING:
    from tools_core._definition._spec import Spec
    from tools_core._jsonschema import Report

    class Callee(Protocol):
        """The parts of a Tool that a call needs."""

        _spec: Spec
        timeout: float | None
        repair: bool
        manages_timeout: bool

        def execute(self, *args: Any, **kwargs: Any) -> Any: ...


# Arguments for the body, the context of this call if it has one, and the repairs made.
PreparedCall: TypeAlias = "tuple[dict[str, Any], Context | None, Sequence[str]]"

NO_CONTEXT: Any = object()  # the default of `context=`: None may be the value of an argument of that name
_NONE: Sequence[str] = ()


def prepare(tool: Callee, given: Any, context: Any, keywords: dict[str, Any]) -> PreparedCall | Result:
    """Validate and convert the arguments, and make the context of the call; a Result where the call ends here."""
    spec = tool._spec
    if context is not NO_CONTEXT and not isinstance(context, Context):
        if context is not None or (given is None and "context" in spec.input_schema["properties"]):
            keywords = {**keywords, "context": context}  # an argument of that name
        context = NO_CONTEXT
    try:
        if type(given) is dict and not keywords:  # at once, as most calls are
            arguments = given
            is_valid = spec.accepts(arguments)
        else:
            arguments, is_valid = _read(spec, given, keywords)
        repairs = _NONE
        if not is_valid:
            checked = spec.check(arguments, repair=tool.repair)
            if checked.problems:
                problems = _with_conversions(spec, checked)
                return make_result(False, error_type=problems.type, exception=problems)
            arguments, repairs = checked.value, checked.repairs
        if spec.convert is not None:
            arguments = spec.convert(arguments, ())
        if context is NO_CONTEXT and spec.context is None and tool.timeout is None:
            return arguments, None, repairs
        return _in_context(tool, arguments, context, given.id if isinstance(given, ToolCall) else None, repairs)
    except InvalidArguments as error:
        known = None if error.reason is None else {"reason": error.reason}
        return Result.error(error.message, type=error.type, metadata=known, exception=error)
    # A conversion runs the author's own classes, which may raise anything.
    except BaseException as error:  # noqa: BLE001
        return fail(error)


def _in_context(
    tool: Callee, arguments: dict[str, Any], context: Any, call_id: str | None, repairs: Sequence[str]
) -> PreparedCall | Result:
    """Make the context of this call, and inject it where it is asked for."""
    name = tool._spec.context
    outer = process_context() if context is NO_CONTEXT else context
    own = outer.for_call(tool.timeout, call_id)
    if own.cancelled or own.remaining == 0:
        return _too_late(own)
    return (arguments if name is None else {**arguments, name: own}), own, repairs


def read_arguments(tool: Callee, given: Any) -> dict[str, Any]:
    """Return valid, repaired arguments that are not converted yet; InvalidArguments where that is not possible."""
    arguments = read_object(given, {})
    if tool._spec.accepts(arguments):
        return arguments
    checked = tool._spec.check(arguments, repair=tool.repair)
    if checked.problems:
        raise InvalidArguments(checked.problems)
    return dict(checked.value)


def _with_conversions(spec: Spec, checked: Report) -> InvalidArguments:
    """Return every problem, those of converting what fits the schema as well."""
    if spec.convert is not None and checked.is_complete:
        try:
            spec.convert(checked.value, checked.problems)
        except InvalidArguments as error:
            return error
    return InvalidArguments(checked.problems)


def _read(spec: Spec, given: Any, keywords: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    """Return the arguments, and whether they are valid as they stand."""
    text = given.raw if isinstance(given, ToolCall) else given
    if keywords or not isinstance(text, str):
        arguments = read_object(given, keywords)
        return arguments, spec.accepts(arguments)
    from tools_core._values._json import parse  # programs that pass mappings never load json

    arguments = parse(text, exactly=False)
    is_valid = spec.accepts(arguments)
    # Each member has a colon. If there are more, in strings or after repeated keys, parse exactly.
    is_exact = is_valid and spec.validator.count_members(arguments) == text.count(":")
    return (arguments if is_exact else parse(text)), is_valid


def read_object(given: Any, keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Return one dict of the arguments, in whatever form they came; InvalidArguments if they are not an object."""
    if isinstance(given, ToolCall):
        given = given.given
        if type(given) is dict and not keywords:  # a copy already
            return given
    if given is None:
        return dict(keywords)
    if isinstance(given, str | bytes):
        from tools_core._values._json import parse  # see _read

        given = parse(given)
    if not isinstance(given, Mapping):
        text = f'the arguments must be an object, got {show(given)}; send {{"name": value, ...}}'
        raise InvalidArguments([Problem(None, text)], "not_an_object")
    if given.keys() & keywords.keys():
        text = "give the arguments once: as an object, as JSON text, or as keywords"
        raise InvalidArguments([Problem(None, text)], "twice")
    return {**given, **keywords} if keywords else dict(given)


def _too_late(context: Context) -> Result:
    if context.cancelled:
        return Result.error("Cancelled by the caller before the call began.", type="cancelled")
    message = f"Timed out before the call began (limit set by {context.timeout_set_by})."
    return Result.error(message, type="timeout_error")
