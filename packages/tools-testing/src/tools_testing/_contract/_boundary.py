"""Promises about the arguments that reach the body, and about its exceptions; none of them runs the body."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tools_core import Halt, Result, ToolError
from tools_testing._arguments import MALFORMED, NOT_JSON, NoValueError, samples
from tools_testing._contract._promise import promise, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools_testing._contract._subject import Subject
    from tools_testing._observe import ObservedCall

_INVALID = 20


def _not_refused(call: ObservedCall) -> str | None:
    if call.kind != "invalid" or call.result is None or call.result.error_type == "validation_error":
        return None
    return f"not refused: {call.result!r:.200}"


@promise(
    "invalid arguments are refused before the body runs",
    "leave `call` to Tool, and describe the arguments in the signature or the schema",
    check_call=_not_refused,
)
def invalid_arguments_are_refused(subject: Subject) -> Iterator[str]:
    for label, arguments in _invalid(subject):
        probe, received = subject.recorder()
        result: Any = probe.call(arguments)  # any value, where the tool overrides `call`
        if received:
            yield f"{label}: the body ran, with {received[0]!r:.200}"
        elif not isinstance(result, Result):
            yield f"{label}: call returned {type(result).__name__}, not a Result"
        elif result.error_type != "validation_error" or not (result.error or "").strip():
            yield f"{label}: the result is {result!r:.200}"
    for name in subject.schema.get("required", ()):
        without = {key: value for key, value in subject.valid[0].items() if key != name}
        message = subject.recorder()[0].call(without).error or ""
        if name not in message:
            yield f"without {name!r}: the message does not name it: {message!r:.200}"


def _invalid(subject: Subject) -> Iterator[tuple[str, Any]]:
    yield from MALFORMED.items()
    yield from NOT_JSON.items()
    try:
        yield from ((shown(arguments), arguments) for arguments in samples(subject.schema, _INVALID, "invalid"))
    except NoValueError:
        return  # an open schema refuses no object


def _refused(call: ObservedCall) -> str | None:
    if call.kind == "valid" and call.result is not None and call.result.error_type == "validation_error":
        return f"refused: {call.result.error}"
    return None


@promise(
    "valid arguments reach the body",
    "accept in conversions and models what the schema allows, or say in the schema what they refuse",
    check_call=_refused,
)
def valid_arguments_are_accepted(subject: Subject) -> Iterator[str]:
    refusals: list[str] = []
    for index, arguments in enumerate(subject.valid):
        probe, received = subject.recorder()
        result = probe.call(arguments)
        if not received:
            refusals.append(f"for {shown(arguments)}: {result.error}")
            if index < len(subject.samples) or result.error_type != "validation_error":
                yield refusals[-1]
    if len(refusals) == len(subject.valid) > len(subject.samples):
        # A model may check more than a schema can express, but it should accept some generated arguments.
        yield f"all {len(refusals)} valid arguments were refused; {refusals[0]}"


@promise(
    "exceptions and halts become Results",
    "leave `call` to Tool: it turns exceptions and return values into a Result",
)
def exceptions_become_results(subject: Subject) -> Iterator[str]:
    def raising(error: BaseException) -> Any:
        def body(_: dict[str, Any]) -> Any:
            raise error

        return subject.probe(body).call(subject.valid[0])

    for error, expected in (
        (ToolError("no such city", "not_found"), "not_found"),
        (ValueError("wrong"), "execution_error"),
        (OSError("no disk"), "execution_error"),
    ):
        result = raising(error)
        if not isinstance(result, Result) or result.error_type != expected or str(error) not in str(result):
            yield f"{error!r} became {result!r:.200}"
    returned = subject.probe(lambda _: Halt("done")).call(subject.valid[0])
    for how, result in (("raised", raising(Halt("done"))), ("returned", returned)):
        if not isinstance(result, Result) or not result.halted or result.output != "done":
            yield f"a Halt that was {how} became {result!r:.200}"
