"""From what the model sent to what the body is called with: read, validate, repair, convert."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tools_core._execution._outcome import fail
from tools_core._values._context import Context
from tools_core._values._errors import InvalidArguments
from tools_core._values._json import parse, proven
from tools_core._values._problem import Problem, show
from tools_core._values._result import Result, failure
from tools_core._values._tool_call import ToolCall

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from typing import Any, Protocol, TypeAlias

    from tools_core._definition._spec import Spec

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
        if type(given) is dict and not keywords:  # at once, for the commonest form
            arguments, is_valid = given, spec.accepts(given)
        else:
            arguments, is_valid = receive(spec, given, keywords)
        repairs = _NONE
        if not is_valid:
            arguments, repairs = explain(spec, arguments, repair=tool.repair)
        if spec.convert is not None:
            arguments = spec.convert(arguments)
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
    """Make the context of this call, where it has one, and inject it."""
    name = tool._spec.context
    if context is NO_CONTEXT:
        if name is None and tool.timeout is None:
            return arguments, None, repairs
        context = Context(run_id="")
    own = context.for_call(tool.timeout, call_id)
    if own.cancelled or own.remaining == 0:
        return _too_late(own)
    return (arguments if name is None else {**arguments, name: own}), own, repairs


def receive(spec: Spec, given: Any, keywords: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    """The arguments as one dict, and whether they are valid as they stand; InvalidArguments if they are no object."""
    text, arguments = _object(given, keywords)
    if text is None:
        return arguments, spec.accepts(arguments)
    members = spec.count(arguments)
    if members is not None and proven(text, members):
        return arguments, True
    arguments = parse(text, exactly=True)[1]
    return arguments, spec.accepts(arguments)


def read_arguments(tool: Callee, given: Any) -> dict[str, Any]:
    """Return valid, repaired arguments that are not converted yet; InvalidArguments where that is not possible."""
    ready, is_valid = receive(tool._spec, given, {})
    return ready if is_valid else explain(tool._spec, ready, repair=tool.repair)[0]


def explain(spec: Spec, arguments: dict[str, Any], *, repair: bool) -> tuple[dict[str, Any], Sequence[str]]:
    """The arguments repaired, and the repairs made; InvalidArguments with every problem where that is not possible."""
    checked = spec.check(arguments, repair=repair)
    if checked.problems:
        raise InvalidArguments(checked.problems)
    return checked.value, checked.repairs


def _object(given: Any, keywords: Mapping[str, Any]) -> tuple[str | None, dict[str, Any]]:
    """One dict of whatever form the arguments came in, and the text that it was read from, if it came as text."""
    if isinstance(given, ToolCall):
        given = given.given
        if type(given) is dict and not keywords:  # a copy already
            return None, given
    if given is None:
        return None, dict(keywords)
    if keywords:
        return None, _merged(given, keywords)
    if isinstance(given, str | bytes):
        return parse(given)
    if isinstance(given, Mapping):
        return None, dict(given)
    text = f'the arguments must be an object, got {show(given)}; send {{"name": value, ...}}'
    raise InvalidArguments([Problem(None, text)], "not_an_object")


def _merged(given: Any, keywords: Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(given, str | bytes):
        given = parse(given, exactly=True)[1]
    if isinstance(given, Mapping) and not given.keys() & keywords.keys():
        return {**given, **keywords}
    raise InvalidArguments(
        [Problem(None, "give the arguments once: as an object, as JSON text, or as keywords")], "twice"
    )


def _too_late(context: Context) -> Result:
    if context.cancelled:
        return failure("Cancelled by the caller before the call began.", "cancelled")
    return failure(f"Timed out before the call began (limit set by {context.timeout_set_by}).", "timeout_error")
