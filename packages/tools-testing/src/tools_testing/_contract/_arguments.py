"""Checks of what reaches the body, and of what never does. None of them runs it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tools_core import Context, Result, ToolCall
from tools_testing._contract._check import NotApplicable, contract_check
from tools_testing._observe import NeverEnds, within
from tools_testing._values._hostile import MALFORMED, STRANGE
from tools_testing._values._judge import Judge
from tools_testing._values._source import NoValueError, samples

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools_testing._contract._subject import Subject

_LET_IT = "let the core validate: leave `call` to Tool, and describe the arguments in the signature or the schema"
_WRONG = (None, True, 12345, 0.5, "no such value {", ["no such item"], {"no such member": 1})
_DOOR_SECONDS = 20.0


def _not_refused(subject: Subject, given: Any, what: str) -> Iterator[str]:
    """What is wrong with how the tool refuses this; nothing, if it is as it should be."""
    probe, seen = subject.recorder()
    result: Any = probe.call(given)  # it may have a `call` of its own
    if seen:
        yield f"{what}: the body ran, with {seen[0]!r:.200}"
    elif not isinstance(result, Result):
        yield f"{what}: call returned {type(result).__name__}, no Result"
    elif result.is_ok or result.error_type != "validation_error":
        yield f"{what}: the result is {result!r:.200}"
    elif not (result.error_message or "").strip():
        yield f"{what}: refused without a reason"


@contract_check("an argument that the tool does not have is refused", _LET_IT)
def unknown_arguments_are_refused(subject: Subject) -> Iterator[str]:
    arguments = {**subject.valid[0], "no_such_argument": 1}
    if Judge(subject.schema).repairs(arguments):
        raise NotApplicable("its schema is open: it takes further arguments")
    yield from _not_refused(subject, arguments, "an unknown argument")


@contract_check("a required argument that is missing is named", _LET_IT)
def missing_arguments_are_refused(subject: Subject) -> Iterator[str]:
    required = list(subject.schema.get("required", ()))
    if not required:
        raise NotApplicable("it requires none")
    for name in required:
        left = {key: value for key, value in subject.valid[0].items() if key != name}
        yield from _not_refused(subject, left, f"without {name!r}")
        message = subject.recorder()[0].call(left).error_message or ""
        if name not in message:
            yield f"without {name!r}: the message does not name it: {message!r:.200}"


@contract_check("a value of a wrong type is refused, and named", _LET_IT)
def wrong_types_are_refused(subject: Subject) -> Iterator[str]:
    properties = subject.schema.get("properties", {})
    if not properties:
        raise NotApplicable("it takes no arguments")
    judge = Judge(subject.schema)
    tried = False
    for name in properties:
        for value in _WRONG:
            arguments = {**subject.valid[0], name: value}
            if not judge.repairs(arguments):
                tried = True
                yield from _not_refused(subject, arguments, f"{name} = {value!r}")
    if not tried:
        raise NotApplicable("its schema takes any value")


@contract_check("arguments that are one change away from valid are refused", _LET_IT)
def nearly_valid_arguments_are_refused(subject: Subject) -> Iterator[str]:
    try:
        near = samples(subject.schema, 20, "near")
    except NoValueError as error:
        raise NotApplicable(str(error)) from None
    for arguments in near:
        yield from _not_refused(subject, arguments, json.dumps(arguments, ensure_ascii=False)[:200])


@contract_check("text that is no JSON object is refused, and nothing runs", _LET_IT)
def malformed_json_is_refused(subject: Subject) -> Iterator[str]:
    for what, text in MALFORMED.items():
        yield from _not_refused(subject, text, what)
        if isinstance(text, str):
            yield from _not_refused(subject, ToolCall("call", subject.tool.name, text), f"{what}, in a ToolCall")
    twice = json.dumps(subject.valid[0])[1:-1]
    if twice:
        yield from _not_refused(subject, f"{{{twice}, {twice}}}", "its own arguments, each given twice")


@contract_check("what is no mapping of JSON values is refused", _LET_IT)
def strange_values_are_refused(subject: Subject) -> Iterator[str]:
    for what, value in STRANGE.items():
        yield from _not_refused(subject, value, what)


@contract_check(
    "valid arguments reach the body",
    "accept in conversions and models what the schema allows, or say in the schema what they refuse",
)
def valid_arguments_are_accepted(subject: Subject) -> Iterator[str]:
    refusals: list[str] = []
    for index, arguments in enumerate(subject.valid):
        probe, seen = subject.recorder()
        result = probe.call(arguments)
        if seen:
            continue
        text = f"{json.dumps(arguments, ensure_ascii=False, default=repr):.200}: {result.error_message}"
        if index < len(subject.given) or result.error_type != "validation_error":
            yield text
        refusals.append(text)
    if len(refusals) == len(subject.valid):
        # A model may ask for more than a schema can say, but hardly for what no generated value has.
        yield f"of {len(refusals)} valid ones none reached it; {refusals[0]}"


@contract_check(
    "a mapping, JSON text, a ToolCall and keywords all give the body the same", "leave call and acall to Tool"
)
def every_way_to_call_is_alike(subject: Subject) -> Iterator[str]:
    arguments = subject.valid[0]
    text = json.dumps(arguments)
    ways: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
        "JSON text": ((text,), {}),
        "bytes": ((text.encode(),), {}),
        "a ToolCall": ((ToolCall("call", subject.tool.name, text),), {}),
    }
    if "context" not in arguments:  # the name of call's own parameter
        ways["keywords"] = ((), arguments)
    first = _received(subject, (arguments,), {})
    for way, (positional, keywords) in ways.items():
        if (other := _received(subject, positional, keywords)) != first:
            yield f"a mapping gives {first:.200}, {way} {other:.200}"
    if (other := _received_by_acall(subject, arguments)) != first:
        yield f"call gives {first:.200}, acall {other:.200}"


def _received(subject: Subject, positional: tuple[Any, ...], keywords: dict[str, Any]) -> str:
    probe, seen = subject.recorder()
    result = probe.call(*positional, **keywords)
    return _shown(seen, result)


def _received_by_acall(subject: Subject, arguments: dict[str, Any]) -> str:
    import asyncio  # 30 ms, for this check alone

    probe, seen = subject.recorder()
    try:
        # In a thread of its own: the caller may be inside an event loop.
        result = within(_DOOR_SECONDS, lambda: asyncio.run(probe.acall(arguments)))
    except NeverEnds as error:
        return f"nothing: it {error}"
    return _shown(seen, result)


def _shown(seen: list[dict[str, Any]], result: Result) -> str:
    # An injected Context is another one for each call.
    return repr(
        [{key: type(value) if isinstance(value, Context) else value for key, value in each.items()} for each in seen]
    ) + ("" if result.is_ok else f" and {result.error_type}")
