"""Checks of what comes back. Where the body itself runs, the rule for running it holds."""

from __future__ import annotations

import copy
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from tools_core import Context, Halt, Result, ToolError
from tools_testing._clean import output_misfit, unclean
from tools_testing._contract._check import contract_check
from tools_testing._contract._subject import patience
from tools_testing._observe import NeverEnds, crash, is_mute, within

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools_core import Tool
    from tools_testing._contract._subject import Subject

_THREADS = 8
_SHORT_LIMIT = 0.05
_LATE = 5.0  # seconds, by which a call with that limit has ended on the slowest machine
_LEAVE_CALL = "leave `call` to Tool: it makes a Result of whatever the body raises or returns"


def _raised(subject: Subject, error: BaseException) -> Any:
    def body(_: dict[str, Any]) -> Any:
        raise error

    return subject.probe(body).call(subject.valid[0])


def _results(subject: Subject) -> Iterator[tuple[dict[str, Any], Result]]:
    """What the body made of each of the arguments that it may run for."""
    yield from ((call.arguments, call.answer) for call in subject.calls if call.answer is not None)


def _shown(arguments: dict[str, Any]) -> str:
    return f"{json.dumps(arguments, ensure_ascii=False, default=repr):.150}"


@contract_check("whatever the body raises becomes a Result", _LEAVE_CALL)
def errors_become_results(subject: Subject) -> Iterator[str]:
    for error, expected in (
        (ToolError("no such city", "not_found"), "not_found"),
        (ValueError("wrong"), "execution_error"),
        (RecursionError("deep"), "execution_error"),
    ):
        result = _raised(subject, error)
        if not isinstance(result, Result) or result.error_type != expected or str(error) not in str(result):
            yield f"{error!r} became {result!r:.200}"


@contract_check("a halt ends the conversation with a Result", _LEAVE_CALL)
def halts_become_results(subject: Subject) -> Iterator[str]:
    returned = subject.probe(lambda _: Halt("done")).call(subject.valid[0])
    for how, result in (("raised", _raised(subject, Halt("done"))), ("returned", returned)):
        if not isinstance(result, Result) or not result.is_halted or result.output != "done":
            yield f"a Halt that was {how} became {result!r:.200}"
        elif not Result.from_dict(json.loads(result.to_json())).is_halted:
            yield f"a Halt that was {how} does not survive JSON"


@contract_check("a time limit is kept", "leave `call` to Tool; in an async body await instead of blocking")
def time_limit_is_kept(subject: Subject) -> Iterator[str]:
    release = threading.Event()
    hanging = subject.probe(lambda _: release.wait())
    if (
        hasattr(hanging.execute, "__code__") and hanging.execute.__code__.co_flags & 0x80
    ):  # a coroutine waits its own way
        hanging.execute = _waiting  # type: ignore[method-assign]
    hanging.timeout = _SHORT_LIMIT
    try:
        result = within(_LATE, lambda: hanging.call(subject.valid[0]))
    except NeverEnds as error:
        yield f"with timeout = {_SHORT_LIMIT} a body that waits {error}"
    else:
        if not isinstance(result, Result) or result.error_type != "timeout_error":
            yield f"with timeout = {_SHORT_LIMIT} a body that waits gave {result!r:.200}"
    finally:
        release.set()


async def _waiting(**_: Any) -> None:
    import asyncio  # 30 ms, for coroutines alone

    await asyncio.Event().wait()


@contract_check(
    "a call ends, and gives a Result", "return or raise ToolError; give it a timeout, and look at context.remaining"
)
def calls_give_results(subject: Subject) -> Iterator[str]:
    for call in subject.calls:
        where = f"for {_shown(call.arguments)}"
        if call.is_late:
            yield f"{where} it had not ended after {patience(subject.tool):g} s"
        elif call.raised is not None:
            yield f"{where} call raised {type(call.raised).__name__}: {call.raised}"
        elif call.answer is None:
            yield f"{where} call returned {type(call.result).__name__}"
        elif problem := crash(call.answer):
            yield f"{where} {problem}"


@contract_check("an error says what was wrong", 'raise ToolError("what was wrong, and what would work")')
def errors_have_a_message(subject: Subject) -> Iterator[str]:
    for arguments, result in _results(subject):
        if is_mute(result):
            yield f"for {_shown(arguments)} the message is {result.error_message!r}"


@contract_check(
    "a result is JSON, and the same after a round trip",
    "return text, numbers, lists, dicts, dates, dataclasses or models; bytes as Image, Audio or File",
)
def results_are_json(subject: Subject) -> Iterator[str]:
    for arguments, result in _results(subject):
        for problem in unclean(result):
            yield f"for {_shown(arguments)} {problem}"


@contract_check("the output fits the output schema", "return what the return type says, or correct the type")
def output_fits_its_schema(subject: Subject) -> Iterator[str]:
    for arguments, result in _results(subject):
        if problem := output_misfit(subject.definition, result):
            yield f"for {_shown(arguments)} {problem}"


@contract_check("a call leaves the caller's arguments as they are", "copy a list or dict before you change it")
def arguments_are_left_alone(subject: Subject) -> Iterator[str]:
    for call in subject.calls:
        if call.arguments != call.arguments_after:
            yield f"{_shown(call.arguments)} became {_shown(call.arguments_after)}"


@contract_check("a call leaves the definition as it is", "change no schema, name or description in execute")
def calls_leave_the_definition_alone(subject: Subject) -> Iterator[str]:
    for call in subject.calls:
        if call.definition_before != call.definition_after:
            yield f"after {_shown(call.arguments)} it is another one"
            return


@contract_check(
    "a call prints nothing", "return it, report it with context.progress, or log it; stdout belongs to the host"
)
def calls_print_nothing(subject: Subject) -> Iterator[str]:
    for call in subject.calls:
        if call.printed:
            yield f"for {_shown(call.arguments)} it printed {call.printed!r:.100}"


@contract_check("threads see one definition", "compute nothing lazily in the definition without a lock")
def threads_see_one_definition(subject: Subject) -> Iterator[str]:
    first = json.dumps(subject.definition, default=repr)
    with ThreadPoolExecutor(_THREADS) as pool:
        seen = {*pool.map(lambda _: json.dumps(subject.definition, default=repr), range(_THREADS * 4))}
    if seen != {first}:
        yield f"{len(seen | {first})} different ones in {_THREADS} threads"


@contract_check(
    "the same call from several threads gives the same kind of result",
    "keep no state in attributes or globals between calls, or guard it with a lock",
)
def threads_get_the_same_kind_of_result(subject: Subject) -> Iterator[str]:
    for arguments in subject.runs[:2]:
        with subject.running() as context, ThreadPoolExecutor(_THREADS) as pool:
            calls = [pool.submit(_kind, subject.tool, copy.deepcopy(arguments), context) for _ in range(_THREADS)]
            kinds = {call.result() for call in calls}
        if len(kinds) > 1:
            yield f"{_shown(arguments)}: {', '.join(sorted(kinds))}"


def _kind(tool: Tool, arguments: dict[str, Any], context: Context) -> str:
    result = within(patience(tool), lambda: tool.call(arguments, context))
    return ("halted" if result.is_halted else "ok") if result.is_ok else str(result.error_type)
