"""What every call of a tool must keep to: each promise has a name, a demand and a fix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tools_testing._clean import output_misfit, unclean
from tools_testing._observe import crash, is_mute

if TYPE_CHECKING:
    from collections.abc import Callable

    from tools_testing._fuzz._call import Call, Caller


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """A named demand on one call; `broken` says how a call breaks it, or None."""

    name: str
    demand: str
    fix: str
    broken: Callable[[Call, Caller], str | None]


CALL_PROMISES: dict[str, Promise] = {}


def promise(
    demand: str, fix: str
) -> Callable[[Callable[[Call, Caller], str | None]], Callable[[Call, Caller], str | None]]:
    """Put a function among the promises, under its own name."""

    def add(broken: Callable[[Call, Caller], str | None]) -> Callable[[Call, Caller], str | None]:
        name = broken.__name__
        CALL_PROMISES[name] = Promise(name=name, demand=demand, fix=fix, broken=broken)
        return broken

    return add


@promise("a call always gives a Result", "raise no SystemExit or KeyboardInterrupt, and leave `call` to Tool")
def always_answers(call: Call, _: Caller) -> str | None:
    if call.seen.raised is not None:
        return f"call raised {type(call.seen.raised).__name__}: {call.seen.raised}"
    return None if call.seen.is_late or call.answer is not None else f"call returned {type(call.seen.result).__name__}"


@promise(
    "valid arguments never crash the body", "handle the value, narrow the schema, or raise ToolError with the reason"
)
def never_crashes(call: Call, _: Caller) -> str | None:
    return crash(call.answer) if call.answer is not None else None


@promise(
    "valid arguments are accepted",
    "accept in conversions what the schema allows, or say in the schema what they refuse",
)
def accepts_what_is_valid(call: Call, _: Caller) -> str | None:
    if call.kind == "valid" and call.answer is not None and call.answer.error_type == "validation_error":
        return f"refused: {call.answer.error_message}"
    return None


@promise("invalid arguments are refused", "leave `call` to Tool, and say in the schema what is valid")
def refuses_what_is_not(call: Call, _: Caller) -> str | None:
    if call.kind == "near" and call.answer is not None and call.answer.error_type != "validation_error":
        return f"not refused: {call.answer!r:.200}"
    return None


@promise("an error says what was wrong", 'raise ToolError("what was wrong, and what would work")')
def explains_errors(call: Call, _: Caller) -> str | None:
    if call.answer is not None and is_mute(call.answer):
        return f"the message is {call.answer.error_message!r}"
    return None


@promise(
    "a result is JSON, and the same after a round trip",
    "return text, numbers, lists, dicts, dates, dataclasses or models; bytes as Image, Audio or File",
)
def returns_json(call: Call, _: Caller) -> str | None:
    return next(unclean(call.answer), None) if call.answer is not None else None


@promise("the output fits the output schema", "return what the return type says, or correct the type")
def fits_its_output_schema(call: Call, _: Caller) -> str | None:
    return output_misfit(call.seen.definition_before, call.answer) if call.answer is not None else None


@promise("the definition stays as it is", "change no schema, name or description in execute, nor from call to call")
def keeps_its_definition(call: Call, _: Caller) -> str | None:
    before, after = call.seen.definition_before, call.seen.definition_after
    if before == after:
        return None
    changed = [key for key in {**before, **after} if before.get(key) != after.get(key)]
    return f"changed: {', '.join(changed)}"


@promise("the caller's arguments stay as they are", "copy a list or dict before you change it")
def leaves_arguments_alone(call: Call, _: Caller) -> str | None:
    if (
        isinstance(call.seen.arguments, dict)
        and call.kind == "valid"
        and call.seen.arguments != call.seen.arguments_after
    ):
        return f"they became {call.seen.arguments_after!r:.200}"
    return None


@promise("a call prints nothing", "return it, report it with context.progress, or log it; stdout belongs to the host")
def prints_nothing(call: Call, _: Caller) -> str | None:
    return f"it printed {call.seen.printed!r:.200}" if call.seen.printed else None


@promise("what the tool is trusted with stays with it", "put no environment, state or credential into what is shown")
def keeps_secrets(call: Call, caller: Caller) -> str | None:
    shown = {"it printed": call.seen.printed, "it raised": str(call.seen.raised or "")}
    if call.answer is not None:
        shown["the result has"] = call.answer.to_json() + str(call.answer)
    where = next((where for where, text in shown.items() if caller.secret in text), None)
    return f"{where} a secret of its surroundings" if where else None


@promise(
    "a call ends by its deadline",
    "take a Context and return when context.remaining is 0 or context.cancelled; in a coroutine await, do not block",
)
def keeps_to_the_deadline(call: Call, caller: Caller) -> str | None:
    if call.seen.is_late:
        return f"its limit was {caller.limit:g} s, and it did not even give way"
    if call.answer is not None and call.answer.metadata.get("abandoned"):
        return f"its limit was {caller.limit:g} s, and it had to be left behind"
    return None


@promise(
    "a read_only, closed-world tool gives the same answer to the same call",
    "keep nothing between calls in attributes, globals or defaults; what depends on the world has open_world = True",
)
def answers_alike(call: Call, caller: Caller) -> str | None:
    tool = caller.tool
    if call.kind != "valid" or not tool.read_only or tool.open_world or call.answer is None or _is_cut(call):
        return None
    again = caller(call.seen.arguments, call.kind).answer
    if again is None or again == call.answer:
        return None
    return f"first {call.answer!r:.100}, then {again!r:.100}"


def _is_cut(call: Call) -> bool:
    return call.answer is not None and call.answer.error_type == "timeout_error"
