"""The kits: what is sound passes every test of its kit, and what is broken fails the one that says so."""

from __future__ import annotations

import asyncio
import copy
import json
import threading

import pytest

from tools_core import Context, Halt, Registry, Result, ToolError, formats
from tools_testing import FormatConformance, RegistryConformance, RuntimeConformance, SessionStoreConformance
from tools_testing._conformance._tools import add


def run(kit, name, tmp_path):
    """Run one test of a kit on a new object, as pytest does."""
    method = getattr(kit(), name)
    arguments = {"tmp_path": tmp_path} if "tmp_path" in method.__code__.co_varnames else {}
    return method(**arguments)


def failing(kit, tmp_path):
    """The names of the tests that fail."""
    failed = set()
    for name in [name for name in dir(kit) if name.startswith("test_")]:
        try:
            run(kit, name, tmp_path)
        # A broken one may raise anything, from wherever it likes.
        except (Exception, Halt, SystemExit, asyncio.CancelledError, pytest.fail.Exception):  # noqa: BLE001
            failed.add(name)
    return failed


def test_the_kits_themselves_are_no_tests():
    for kit in (FormatConformance, RegistryConformance, RuntimeConformance, SessionStoreConformance):
        assert not kit.__name__.startswith("Test")
        with pytest.raises(TypeError, match="abstract"):
            kit()


# Formats: all that there are


def as_text(arguments):
    return json.dumps(arguments)


class OpenAI(FormatConformance):
    def format(self):
        return formats.openai

    def wire_name(self, definition):
        return definition["function"]["name"]

    def response(self, calls):
        made = [
            {"id": id, "type": "function", "function": {"name": name, "arguments": as_text(arguments)}}
            for id, name, arguments in calls
        ]
        return {"role": "assistant", "content": None, "tool_calls": made or None}


class TestOpenAI(OpenAI):
    pass


class TestOpenAIStrict(OpenAI):
    def format(self):
        return formats.openai_strict


class Responses(FormatConformance):
    def format(self):
        return formats.responses

    def wire_name(self, definition):
        return definition["name"]

    def response(self, calls):
        return {
            "output": [
                {"type": "function_call", "call_id": id, "name": name, "arguments": as_text(arguments)}
                for id, name, arguments in calls
            ]
        }


class TestResponses(Responses):
    pass


class TestResponsesStrict(Responses):
    def format(self):
        return formats.responses_strict


class TestAnthropic(FormatConformance):
    def format(self):
        return formats.anthropic

    def wire_name(self, definition):
        return definition["name"]

    def response(self, calls):
        made = [{"type": "tool_use", "id": id, "name": name, "input": arguments} for id, name, arguments in calls]
        return {"role": "assistant", "content": [{"type": "text", "text": "Let me see."}, *made]}


class TestGemini(FormatConformance):
    def format(self):
        return formats.gemini

    def wire_name(self, definition):
        return definition["name"]

    def response(self, calls):
        parts = [{"functionCall": {"id": id, "name": name, "args": arguments}} for id, name, arguments in calls]
        return {"candidates": [{"content": {"role": "model", "parts": parts}}]}


class Forgetful:
    """A format with every fault that the kit looks for."""

    name = "forgetful"

    def definitions(self, definitions):
        given = [getattr(each, "definition", each) for each in definitions]
        for each in given:
            each.pop("description", None)
        return [{"name": each["name"][:8].lower(), "parameters": each["input_schema"]} for each in reversed(given)]

    def calls(self, response, definitions=()):
        return []

    def results(self, answers, definitions=()):
        return [{"content": result.output} for _, result in reversed(list(answers))]


class ForgetfulKit(TestAnthropic):
    __test__ = False

    def format(self):
        return Forgetful()


def test_a_broken_format_fails(tmp_path):
    sound = {
        "test_definitions_are_plain_json",
        "test_the_same_definitions_always_become_the_same",
        "test_no_tools_are_no_definitions",
        "test_an_answer_without_calls_has_none",
        "test_no_answers_are_no_results",
    }
    names = {name for name in dir(FormatConformance) if name.startswith("test_")}
    assert failing(ForgetfulKit, tmp_path) == names - sound


# Registries


class TestRegistry(RegistryConformance):
    def registry(self):
        return Registry()


class Overwriting(Registry):
    """A registry in which the last one wins, and which hands out what it holds."""

    held = None

    def register(self, tool, *, replace=False):
        if isinstance(tool, str):
            return tool
        return super().register(tool, replace=True)

    def __getitem__(self, name):
        return self.get(name)

    def definitions(self):
        self.held = self.held or super().definitions()
        return self.held


class OverwritingKit(RegistryConformance):
    def registry(self):
        return Overwriting()


def test_a_broken_registry_fails(tmp_path):
    assert failing(OverwritingKit, tmp_path) == {
        "test_an_unknown_name_is_a_key_error_that_names_the_nearest",
        "test_a_second_tool_of_a_name_is_refused_and_nothing_changes",
        "test_what_is_no_tool_is_refused",
        "test_definitions_are_those_of_the_tools_and_the_callers_own",
        "test_a_call_is_answered_by_its_tool_and_an_unknown_one_by_an_error",
    }


# Runtimes


class TestInline(RuntimeConformance):
    def dispatch(self, tool, arguments, context):
        return tool.call(arguments, context)


class TestInThreads(RuntimeConformance):
    def dispatch(self, tool, arguments, context):
        return self.dispatch_all([(tool, arguments)], context)[0]

    def dispatch_all(self, calls, context):
        results = [None] * len(calls)

        def run_one(index):
            tool, arguments = calls[index]
            results[index] = tool.call(arguments, context)

        threads = [threading.Thread(target=run_one, args=(index,)) for index in range(len(calls))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return results


class TestInCoroutines(RuntimeConformance):
    def dispatch(self, tool, arguments, context):
        import asyncio  # this runtime's own need

        return asyncio.run(tool.acall(arguments, context))


class Raw(TestInline):
    """A runtime without a boundary: it calls the body."""

    __test__ = False

    def dispatch(self, tool, arguments, context):
        return Result.ok(finish(tool.invoke(arguments)))


def finish(value):
    """A coroutine that nobody awaits would complain."""
    if hasattr(value, "close"):
        value.close()
    return value


class Disorderly(TestInline):
    """A runtime that gives results as they come, and drops what failed."""

    __test__ = False

    def dispatch_all(self, calls, context):
        results = [tool.call(arguments, context) for tool, arguments in reversed(calls)]
        return [result for result in results if result.is_ok]


class Stripping(TestInline):
    """A runtime that loses the context, and with it the deadline; and what a Halt is."""

    __test__ = False

    def dispatch(self, tool, arguments, context):
        if context is not None and context.deadline is not None:
            return Result.ok("did not wait")
        result = tool.call(arguments, Context())
        return result if result.is_error else Result.ok(result.output)


class Eating(TestInline):
    """A runtime that takes what it needs from the caller's own arguments."""

    __test__ = False

    def dispatch(self, tool, arguments, context):
        result = tool.call(arguments, context)
        if isinstance(arguments, dict):
            arguments.clear()
        return result


def test_a_runtime_without_a_boundary_fails(tmp_path):
    assert {
        "test_arguments_that_do_not_fit_are_a_validation_error",
        "test_an_expected_failure_keeps_its_message_and_type",
        "test_an_exception_becomes_a_result_that_names_it",
        "test_a_cancellation_that_a_tool_lets_out_is_its_own_error_and_no_one_elses",
        "test_a_halt_becomes_a_result_that_ends_the_conversation",
        "test_the_tool_gets_the_context",
        "test_progress_reaches_the_caller",
        "test_a_call_that_fails_takes_no_other_with_it",
    } <= failing(without_limits(Raw), tmp_path)


def without_limits(kit):
    """All but the tests that a runtime without limits never ends."""

    class Quick(kit):
        __test__ = False

    for name in dir(kit):
        if "deadline" in name or "limit" in name or "left_behind" in name:
            setattr(Quick, name, lambda self: None)
    return Quick


def test_a_runtime_that_mixes_up_results_fails(tmp_path):
    assert failing(Disorderly, tmp_path) == {
        "test_results_come_in_the_order_of_the_calls",
        "test_a_call_that_fails_takes_no_other_with_it",
    }


def test_a_runtime_that_loses_the_context_fails(tmp_path):
    assert {
        "test_a_halt_becomes_a_result_that_ends_the_conversation",
        "test_the_tool_gets_the_context",
        "test_progress_reaches_the_caller",
        "test_a_deadline_that_passes_is_a_timeout_error",
        "test_a_tool_sees_that_its_caller_gave_up",
        "test_a_tool_that_was_left_behind_is_told_to_stop",
    } == failing(Stripping, tmp_path)


def test_a_runtime_that_changes_the_callers_arguments_fails(tmp_path):
    assert "test_the_arguments_of_the_caller_stay_as_they_are" in failing(Eating, tmp_path)


# Session stores


class MemoryStore:
    """The simplest store that does all that the kit asks."""

    def __init__(self):
        self.sessions = {}
        self.lock = threading.Lock()

    def save(self, id, messages):
        self.sessions[id] = copy.deepcopy(messages)

    def load(self, id):
        return copy.deepcopy(self.sessions[id])

    def append(self, id, message):
        with self.lock:
            self.sessions.setdefault(id, []).append(copy.deepcopy(message))

    def delete(self, id):
        del self.sessions[id]

    def list(self):
        return sorted(self.sessions)


class TestMemoryStore(SessionStoreConformance):
    def store(self):
        return MemoryStore()


class Live(MemoryStore):
    """Hands out what it holds, and holds what it was given."""

    def save(self, id, messages):
        self.sessions[id] = messages

    def load(self, id):
        return self.sessions[id]


class Silent(MemoryStore):
    """Takes an unknown session for an empty one."""

    def load(self, id):
        return copy.deepcopy(self.sessions.get(id, []))

    def delete(self, id):
        self.sessions.pop(id, None)


class Adding(MemoryStore):
    """Saves in addition to what there is."""

    def save(self, id, messages):
        self.sessions[id] = self.sessions.get(id, []) + copy.deepcopy(messages)


class Folding(MemoryStore):
    """Has one session for ids that a file system takes for the same."""

    def save(self, id, messages):
        super().save(id.lower().strip(), messages)


class Racing(MemoryStore):
    """Reads, and writes later what it read."""

    def append(self, id, message):
        before = self.sessions.get(id, [])
        threading.Event().wait(0.001)  # gives way, as a disk does
        self.sessions[id] = [*before, copy.deepcopy(message)]


class Short(MemoryStore):
    """Keeps the newest thousand messages."""

    def load(self, id):
        return super().load(id)[-1_000:]


FAULTS = {
    Live: {
        "test_what_is_loaded_is_the_callers_own",
        "test_what_was_given_is_not_held",
        "test_a_long_session_is_kept_whole",
    },
    Silent: {
        "test_a_session_that_is_not_there_is_a_key_error",
        "test_a_deleted_session_is_gone_and_can_begin_anew",
        "test_any_sequence_of_operations_does_what_a_dict_would",
    },
    Adding: {
        "test_saving_again_replaces_everything",
        "test_any_sequence_of_operations_does_what_a_dict_would",
    },
    Folding: {"test_any_text_is_an_id_of_its_own"},
    Racing: {"test_appends_of_several_threads_are_all_kept"},
    Short: {"test_a_long_session_is_kept_whole"},
}


@pytest.mark.parametrize(("broken", "tests"), FAULTS.items(), ids=lambda value: getattr(value, "__name__", ""))
def test_a_broken_store_fails_the_test_that_says_so(broken, tests, tmp_path):
    class Kit(SessionStoreConformance):
        def store(self):
            return broken()

    assert failing(Kit, tmp_path) == tests


def test_a_failed_test_of_a_kit_shows_the_values_that_it_compared(run_pytest):
    ended = run_pytest(
        "-k",
        "takes_no_other",
        test_it="""
        from tools_core import Result
        from tools_testing import RuntimeConformance

        class TestRuntime(RuntimeConformance):
            def dispatch(self, tool, arguments, context):
                return Result.ok("always this")
        """,
    )
    assert "At index 1 diff: None != 'execution_error'" in ended.stdout


def test_the_tools_of_the_kits_keep_the_contract():
    from tools_testing import assert_contract

    assert_contract(add)
    with pytest.raises(ToolError):
        raise ToolError("as the kits expect")
