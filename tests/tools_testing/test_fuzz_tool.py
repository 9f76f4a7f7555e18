"""`fuzz_tool`: each planted bug breaks the promise that is named for it."""

from __future__ import annotations

import os
import sys
import threading
from typing import Annotated, Any, TypedDict

import pytest

from tools_core import Context, Result, Tool, ToolError, tool
from tools_testing import CONTRACT, fuzz_tool

Text = Annotated[str, "Any text"]


@tool(read_only=True)
def sound(text: Text, times: Annotated[int, "The number of times"] = 1, context: Context | None = None) -> str:
    """Repeat a text."""
    if not 0 <= times <= 1_000:
        raise ToolError("times must be from 0 to 1,000", "limit_exceeded")
    return text[:1_000] * times


@tool
def crashes_on_an_empty_string(text: Text) -> str:
    """Return the first character."""
    return text[0]


@tool
def crashes_on_a_huge_number(count: Annotated[int, "The number"]) -> int:
    """Pack a number."""
    return int.from_bytes(count.to_bytes(8, "big", signed=True), "big", signed=True)


@tool
def crashes_on_unicode(text: Text) -> str:
    """Encode a text."""
    return text.encode("latin-1").decode("latin-1")


@tool
def crashes_on_null(text: Annotated[str | None, "A text, or none"] = "") -> str:
    """Strip a text."""
    return text.strip()  # type: ignore[union-attr]


@tool
def returns_a_lock(text: Text) -> Any:
    """Return a lock for short texts."""
    return {"value": threading.Lock() if len(text) < 3 else text}


class MutatesItsDefinition(Tool):
    """Repeat a text."""

    def execute(self, text: Text) -> str:
        self.description = f"Repeat a text, such as {text!r}."
        return text


class LeaksBetweenCalls(Tool):
    """Repeat all texts."""

    read_only = True
    received: list[str] = []

    def execute(self, text: Text) -> list[str]:
        self.received.append(text[:3])
        return self.received[-5:]


@tool
def prints_secrets(text: Text, context: Context) -> str:
    """Print the state."""
    print("calling with", dict(context.state), file=sys.stderr)
    return text


@tool
def returns_its_environment(text: Text) -> str:
    """Fail with the environment in the message."""
    raise ToolError(f"could not run with {dict(os.environ)}")


@tool
def raises_without_a_message(text: Text) -> str:
    """Fail for texts with spaces."""
    if not text.isalnum():
        raise ToolError("")
    return text


@tool
def ignores_its_deadline(text: Text, context: Context) -> str:
    """Wait in vain."""
    threading.Event().wait(3)
    return text


@tool
async def blocks_its_event_loop(text: Text) -> str:
    """Compute in a coroutine."""
    if text:
        threading.Event().wait(6)
    return text


class Answer(TypedDict):
    text: str
    length: int


@tool
def returns_another_form_for_long_texts(text: Text) -> Answer:
    """Measure a text."""
    return {"text": text, "length": len(text)} if len(text) < 4 else {"text": text, "length": "long"}


class ChangesItsOutputSchema(Tool):
    """Measure a text."""

    calls = 0

    def execute(self, text: Text) -> Answer:
        type(self).calls += 1
        return {"text": text, "length": len(text)}

    @property
    def definition(self):
        return super().definition | {"output_schema": {"type": "object", "minProperties": self.calls % 2}}


@tool
def empties_its_arguments(items: Annotated[list[str], "Some texts"]) -> int:
    """Count, from the end."""
    count = 0
    while items:
        items.pop()
        count += 1
    return count


@tool
def exits(code: Annotated[int, "The exit code"]) -> None:
    """Exit."""
    if code > 5:
        sys.exit(code)


class TakesEverything(Tool):
    """Repeat a text."""

    def execute(self, text: Text) -> str:
        return text

    def call(self, arguments=None, /, context=None, **keywords):
        return Result.ok("fine")


class RefusesWhatIsValid(Tool):
    """Take an even number."""

    def execute(self, number: Annotated[int, "An even number"]) -> Result:
        return Result.ok(number) if number % 2 == 0 else Result.error("must be even", type="validation_error")


@tool
def prints(text: Text) -> str:
    """Print."""
    print("working")
    return text


def names(report):
    return [promise.name for promise in report.broken]


BROKEN = {
    "crashes_on_an_empty_string": (crashes_on_an_empty_string, "body_does_not_crash"),
    "crashes_on_a_huge_number": (crashes_on_a_huge_number, "body_does_not_crash"),
    "crashes_on_unicode": (crashes_on_unicode, "body_does_not_crash"),
    "crashes_on_null": (crashes_on_null, "body_does_not_crash"),
    "returns_a_lock": (returns_a_lock, "results_are_json"),
    "mutates_its_definition": (MutatesItsDefinition, "definition_is_unchanged"),
    "leaks_between_calls": (LeaksBetweenCalls, "results_are_repeatable"),
    "prints_secrets": (prints_secrets, "secrets_are_not_shown"),
    "returns_its_environment": (returns_its_environment, "secrets_are_not_shown"),
    "raises_without_a_message": (raises_without_a_message, "errors_have_a_message"),
    "ignores_its_deadline": (ignores_its_deadline, "deadline_is_kept"),
    "returns_another_form_for_long_texts": (returns_another_form_for_long_texts, "output_fits_its_schema"),
    "changes_its_output_schema": (ChangesItsOutputSchema, "definition_is_unchanged"),
    "empties_its_arguments": (empties_its_arguments, "arguments_are_unchanged"),
    "exits": (exits, "calls_return_results"),
    "takes_everything": (TakesEverything, "invalid_arguments_are_refused"),
    "refuses_what_is_valid": (RefusesWhatIsValid, "valid_arguments_are_accepted"),
    "prints": (prints, "nothing_is_printed"),
}
ALSO = {"prints_secrets": {"nothing_is_printed"}}
SIMPLEST = {
    "crashes_on_an_empty_string": {"text": ""},
    "crashes_on_a_huge_number": {"count": 2**63},
    "crashes_on_null": {"text": None},
    "exits": {"code": 6},
    "refuses_what_is_valid": {"number": 1},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BROKEN)
def test_a_planted_bug_breaks_its_promise(name):
    broken, promise = BROKEN[name]
    report = fuzz_tool(broken, examples=60, limit=0.2 if "deadline" in name else 5.0)
    assert {*names(report)} == {promise} | ALSO.get(name, set())
    assert f"{promise}: {CONTRACT[promise].demand}" in str(report)
    assert f"fix: {CONTRACT[promise].fix}" in str(report)
    if name in SIMPLEST:
        assert report.broken[0].arguments == SIMPLEST[name]


@pytest.mark.slow
def test_a_coroutine_that_blocks_breaks_its_deadline():
    report = fuzz_tool(blocks_its_event_loop, examples=20, limit=0.1)
    assert "deadline_is_kept" in names(report)


def test_every_promise_about_calls_has_a_tool_here_that_breaks_it():
    about_calls = {name for name, promise in CONTRACT.items() if promise.check_call is not None}
    assert about_calls == {promise for _, promise in BROKEN.values()}


def test_a_sound_tool_keeps_its_promises():
    report = fuzz_tool(sound)
    assert report.ok, str(report)
    assert "kept its promises in" in str(report)
    assert report.calls >= 200


def test_a_coroutine_and_a_tool_without_arguments_can_be_fuzzed():
    @tool(read_only=True)
    async def later(text: Text) -> str:
        """Answer later."""
        return text

    @tool(read_only=True)
    def version() -> str:
        """Return the version."""
        return "1.0"

    assert fuzz_tool(later, examples=10).ok
    assert fuzz_tool(version, examples=10).ok


def test_ignored_promises_are_not_checked():
    assert fuzz_tool(prints, examples=10, ignore=["nothing_is_printed"]).ok
    with pytest.raises(ValueError, match="no promise is called 'nonsense'"):
        fuzz_tool(prints, ignore=["nonsense"])


@pytest.mark.parametrize("options", [{"destructive": True}, {"requires_approval": True}], ids=str)
def test_a_destructive_tool_is_fuzzed_only_if_the_caller_allows_it(options):
    received = []

    @tool(**options)
    def remove(text: Text) -> None:
        """Remove something."""
        received.append(text)

    with pytest.raises(ValueError, match="even_destructive=True"):
        fuzz_tool(remove)
    assert received == []
    assert fuzz_tool(remove, examples=10, even_destructive=True).ok
    assert received


def test_calls_have_a_temporary_workspace_or_the_context_given(tmp_path):
    received = set()

    @tool
    def look(context: Context) -> None:
        """Look around."""
        received.add((context.workspace, context.state.get("user")))

    assert fuzz_tool(look, examples=5).ok
    assert not any(workspace.exists() for workspace, _ in received)
    received.clear()
    assert fuzz_tool(look, examples=5, context=Context(workspace=tmp_path, state={"user": "ada"})).ok
    assert received == {(tmp_path, "ada")}


def test_the_same_seed_calls_with_the_same_arguments():
    def calls(seed):
        received = []

        @tool
        def record(text: Text, count: Annotated[int, "A number"]) -> None:
            """Record."""
            received.append((text, count))

        fuzz_tool(record, examples=20, seed=seed)
        return received

    assert calls(1) == calls(1)
    assert calls(1) != calls(2)


def test_the_environment_is_restored():
    before = dict(os.environ)
    fuzz_tool(sound, examples=5)
    assert dict(os.environ) == before
