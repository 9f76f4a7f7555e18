"""Promises about single calls of a tool's own body; `check_tool` and `fuzz_tool` check the same ones."""

from __future__ import annotations

import copy
import json
import re
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from tools_core import Result, ToolError
from tools_testing._arguments import fits
from tools_testing._contract._promise import call_promise, promise, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools_core import Tool
    from tools_testing._contract._subject import Subject
    from tools_testing._observe import Caller, ObservedCall

_THREADS = 8
_ADDRESS = re.compile(r"<.+ at 0x[0-9a-fA-F]+>")


@call_promise("a call returns a Result", "leave `call` to Tool; do not raise SystemExit or KeyboardInterrupt")
def calls_return_results(call: ObservedCall) -> str | None:
    if call.raised is not None:
        return f"call raised {type(call.raised).__name__}: {call.raised}"
    if call.result is None and not call.is_endless:
        return f"call returned {type(call.returned).__name__}"
    return None


@call_promise(
    "a call ends by its deadline",
    "take a Context and return when context.remaining is 0 or context.cancelled; in a coroutine await, do not block",
)
def deadline_is_kept(call: ObservedCall) -> str | None:
    if call.is_endless:
        return f"it did not end after its limit of {call.limit:g} s, and could not be abandoned"
    if call.result is not None and call.result.metadata.get("abandoned"):
        return "it did not end in time, and was abandoned"
    return None


@call_promise("the body does not crash", "handle the value, narrow the schema, or raise ToolError with the reason")
def body_does_not_crash(call: ObservedCall) -> str | None:
    result = call.result
    if result is None or result.error_type != "execution_error" or not isinstance(result.exception, Exception):
        return None
    return None if isinstance(result.exception, ToolError) else f"the body crashed: {result.error}"


@call_promise("an error has a message", "raise ToolError with the mistake and a way to correct it")
def errors_have_a_message(call: ObservedCall) -> str | None:
    result = call.result
    if result is None or result.ok:
        return None
    message = (result.error or "").strip()
    if not message or (result.exception is not None and message == type(result.exception).__name__):
        return f"the message is {result.error!r}"
    return None


@call_promise(
    "a result is JSON, and survives a round trip",
    "return text, numbers, lists, dicts, dates, dataclasses or models; bytes as Image, Audio or File",
)
def results_are_json(call: ObservedCall) -> str | None:
    if call.result is None:
        return None
    if call.result.metadata.get("reason") == "not_json":
        return call.result.error
    for place, value in (("output", call.result.output), ("metadata", dict(call.result.metadata))):
        if problem := next(_not_json(value, place), None):
            return problem
    again = Result.from_dict(json.loads(call.result.to_json()))
    return None if again == call.result else f"after a round trip through JSON it is {again!r:.200}"


def _not_json(value: Any, place: str) -> Iterator[str]:
    """Yield each part of a value that the core can only write as its type's name or its `repr`."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _not_json(item, f"{place}[{key!r:.60}]")
    elif isinstance(value, list | tuple | set | frozenset):
        for index, item in enumerate(value):
            yield from _not_json(item, f"{place}[{index}]")
    elif isinstance(value, float):
        if value - value != 0.0:
            yield f"{place} is {value!r}, which JSON cannot express"
    elif not isinstance(value, str | int | None):
        kind = type(value).__name__
        text = Result.ok(value).to_dict()["output"]
        if isinstance(text, str) and (
            text == f"({kind})" or " that cannot be shown: " in text or _ADDRESS.fullmatch(text)
        ):
            yield f"{place} is a {kind}, which becomes the text {text!r:.100}"


@call_promise("the output fits the output schema", "return what the return type says, or correct the type")
def output_fits_its_schema(call: ObservedCall) -> str | None:
    schema = call.definition_before.get("output_schema")
    if schema is None or call.result is None or not call.result.ok or call.result.halted:
        return None
    output = json.loads(call.result.to_json())["output"]
    return None if fits(schema, output) else f"the output {shown(output)} does not fit its output_schema"


@call_promise("a call does not change its arguments", "copy a list or dict before you change it")
def arguments_are_unchanged(call: ObservedCall) -> str | None:
    if call.kind != "valid" or call.arguments == call.arguments_after:
        return None
    return f"they became {shown(call.arguments_after)}"


@call_promise("a call does not change the definition", "change no schema, name or description in execute")
def definition_is_unchanged(call: ObservedCall) -> str | None:
    before, after = call.definition_before, call.definition_after
    changed = [key for key in {**before, **after} if before.get(key) != after.get(key)]
    return f"changed: {', '.join(changed)}" if changed else None


@call_promise(
    "a call prints nothing", "return it, report it with context.progress, or log it; stdout belongs to the host"
)
def nothing_is_printed(call: ObservedCall) -> str | None:
    return f"it printed {call.printed!r:.200}" if call.printed else None


@call_promise("secrets are not shown", "put no environment variable, state or credential into results and output")
def secrets_are_not_shown(call: ObservedCall) -> str | None:
    texts = {"it printed": call.printed, "it raised": str(call.raised or "")}
    if call.result is not None:
        texts["the result has"] = call.result.to_json() + str(call.result)
    leak = next((origin for origin, text in texts.items() if call.secret in text), None)
    return f"{leak} a secret from its state or environment" if leak else None


@call_promise(
    "a read_only, closed-world tool returns the same result for the same call, unless it says idempotent=False",
    "store nothing between calls; if the result depends on the world or the time, set open_world or idempotent=False",
)
def results_are_repeatable(call: ObservedCall) -> str | None:
    if call.repeated is None or call.repeated == call.returned:
        return None
    return f"first {call.returned!r:.100}, then {call.repeated!r:.100}"


@promise(
    "the same call from several threads gives the same kind of result",
    "keep no state in attributes or globals between calls, or guard it with a lock",
)
def calls_are_thread_safe(subject: Subject) -> Iterator[str]:
    for arguments in subject.runs[:2]:
        with subject.calling() as caller, ThreadPoolExecutor(_THREADS) as pool:
            calls = [pool.submit(_kind, subject.tool, copy.deepcopy(arguments), caller) for _ in range(_THREADS)]
            kinds = {call.result() for call in calls}
        if len(kinds) > 1:
            yield f"for {shown(arguments)}: {', '.join(sorted(kinds))}"


def _kind(tool: Tool, arguments: dict[str, Any], caller: Caller) -> str:
    result = tool.call(arguments, caller.new_context())
    return ("halted" if result.halted else "ok") if result.ok else str(result.error_type)
