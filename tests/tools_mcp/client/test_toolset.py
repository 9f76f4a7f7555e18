"""`McpToolset`: the tools of a server, as tools of ours."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tools_core import Audio, Context, File, Image, Registry, ToolCall, ToolError
from tools_mcp import McpToolset
from tools_runtime import Executor, Policy
from tools_testing import assert_contract


def test_creating_a_toolset_loads_no_sdk_and_starts_no_server(command):
    code = f"import sys, tools_mcp; tools_mcp.McpToolset({command('dies at start')!r}); assert 'mcp' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_tools_of_a_server_have_its_names_descriptions_schemas_and_hints(odd):
    echo, look, count = odd().tools
    assert (echo.name, echo.description) == ("echo", "Return the text.")
    assert echo.definition["input_schema"]["required"] == ["text"]
    assert count.definition["output_schema"]["required"] == ["n"]
    assert look.annotations == {"read_only": True, "open_world": False}
    # Without annotations, the protocol assumes the worst.
    assert echo.annotations == {"destructive": True, "open_world": True}


def test_tools_of_a_server_are_registered_and_executed_as_others_are(odd):
    toolset = odd(prefix=True)
    registry = Registry()
    registry.register(toolset)
    assert list(registry) == ["odd_echo", "odd_look", "odd_count"]
    assert registry.call(ToolCall("1", "odd_echo", {"text": "hi"})).output == "hi"
    with Executor(toolset) as executor:
        calls = [ToolCall(str(n), "odd_echo", {"text": str(n)}) for n in range(5)]
        assert [result.output for _, result in executor.execute(calls)] == list("01234")


def test_tools_of_a_server_keep_the_contract_of_tools(odd):
    for tool in odd():
        assert_contract(tool, ignore=["parameters_are_described"])  # theirs are not


@pytest.mark.filterwarnings("ignore:.*fork")  # of a process with threads, which is the point
def test_a_forked_process_opens_a_new_connection(odd, log):
    echo = odd().tool("echo")
    assert echo.call(text="a").ok
    if (child := os.fork()) == 0:
        os._exit(0 if echo.call(text="b").output == "b" else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert echo.call(text="c").ok
    assert log.read_text().count("pid") == 2


def test_a_policy_decides_by_the_hints_of_a_server(odd):
    with Executor(odd(), policy=Policy(files=[])) as executor:
        assert executor.call_tool("look", {"text": "a"}).output == "a"
        assert executor.call_tool("echo", {"text": "a"}).error_type == "approval_required"


def test_arguments_are_checked_and_repaired_before_anything_is_sent(odd, log):
    echo = odd().tool("echo")
    assert echo.call({"test": 1}).error_type == "validation_error"
    assert "call" not in log.read_text()
    assert echo.call('{"text": "a", }').ok is False
    assert odd().tool("echo").call({"text": "a"}).output == "a"


def test_blocks_of_content_become_text_pictures_sounds_and_files(odd):
    result = odd().tool("echo").call(text="blocks")
    see, picture, sound, link, blob, inside = result.content
    assert (see, link, inside) == ("see", "[resource b: file:///b]", "inside")
    assert isinstance(picture, Image) and isinstance(sound, Audio)
    assert isinstance(blob, File) and blob.name == "c.bin"


def test_structured_content_is_the_output(odd):
    result = odd().tool("count").call()
    assert (result.output, result.content) == ({"n": 7}, '{"n": 7}')


@pytest.mark.parametrize(("text", "error"), [("fail", "no such file"), ("refuse", "odd: unknown tool")])
def test_errors_of_the_tool_and_of_the_protocol_are_errors(odd, text, error):
    result = odd().tool("echo").call(text=text)
    assert (result.ok, result.error) == (False, error)


def test_a_halt_of_a_server_of_ours_is_a_halt(odd):
    result = odd().tool("echo").call(text="halt")
    assert (result.halted, result.output) == (True, "good night")


def test_progress_arrives_in_the_thread_of_the_caller(odd):
    reports = []

    async def main():
        context = Context(on_progress=lambda *report: reports.append((*report, threading.get_ident())))
        await odd().tool("echo").acall({"text": "progress"}, context)

    asyncio.run(main())
    assert reports == [(step, 2.0, "step", threading.get_ident()) for step in (1.0, 2.0)]


def test_one_toolset_serves_threads_and_event_loops(odd):
    echo = odd().tool("echo")

    def loop(number):
        async def main():
            return await asyncio.gather(*(echo.acall(text=f"{number} {n}") for n in range(5)))

        return [result.output for result in asyncio.run(main())]

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(loop, range(4))) == [[f"{number} {n}" for n in range(5)] for number in range(4)]
        assert {echo.call(text="a").output for _ in range(5)} == {"a"}


def test_async_with_lists_the_tools_without_blocking_the_loop(command):
    async def main():
        async with McpToolset(command()) as toolset:
            return [(await tool.acall({} if tool.name == "count" else {"text": "a"})).ok for tool in toolset]

    assert asyncio.run(main()) == [True, True, True]


def test_a_cancelled_call_is_cancelled_at_the_server(odd, log):
    context = Context()
    toolset = odd("hangs in call")
    echo = toolset.tool("echo")
    with ThreadPoolExecutor(1) as thread:
        call = thread.submit(echo.call, {"text": "a"}, context)
        wait_for(log, "call echo")
        context.cancel()
        assert call.result().error_type == "cancelled"
    wait_for(log, "cancelled")


def test_a_call_ends_at_the_deadline_of_its_context(odd, log):
    result = odd("hangs in call").tool("echo").call({"text": "a"}, Context(timeout=0.5))
    assert result.error_type == "timeout_error"
    wait_for(log, "cancelled")


def test_a_lost_call_fails_and_the_next_call_restarts_the_server(odd):
    toolset = odd("dies in call")
    result = toolset.tool("echo").call(text="a")
    assert result.error_type == "unavailable"
    assert "standard error: fatal: out of cheese" in result.error
    assert result.error.endswith("The call may have had effects, and was not repeated")

    assert toolset.tool("look").call(text="a").ok


def test_a_lost_call_of_a_tool_that_only_reads_is_repeated_once(odd):
    assert odd("dies in call").tool("look").call(text="a").output == "alive"


def test_a_server_that_was_killed_between_calls_is_started_again(odd, log):
    look = odd().tool("look")
    assert look.call(text="a").ok
    pid = int(log.read_text().split()[1])
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not alive(pid))
    assert look.call(text="b").output == "b"


def test_a_closed_toolset_ends_the_server_and_connects_again_when_it_is_used(odd, log):
    toolset = odd()
    echo = toolset.tool("echo")
    toolset.close()
    assert not alive(int(log.read_text().split()[1]))
    assert echo.call(text="a").ok


@pytest.mark.slow
def test_a_server_that_does_not_end_does_not_outlive_the_program(command, log):
    code = f"from tools_mcp import McpToolset; assert McpToolset({command('does not end')!r}).tools"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert not alive(int(log.read_text().split()[1]))


def test_unusual_names_become_legal_and_stay_different(odd):
    names = [tool.name for tool in odd("names").tools]
    assert len({*names}) == 4
    assert names[2] == "_1st"
    assert odd("names").tool("a.b").call(text="a").ok


def test_toolsets_with_the_same_names_are_refused_together_unless_they_have_prefixes(odd):
    with pytest.raises(
        ValueError, match=r"`mcp:odd:.*` cannot be registered as `echo`: the name is taken by `mcp:odd:"
    ):
        Executor([*odd(), *odd()])
    with Executor([*odd(prefix=True), *odd(name="other", prefix=True)]) as executor:
        assert executor.call_tool("other_echo", {"text": "a"}).ok


@pytest.mark.parametrize(
    "server",
    [None, "", [], {}, {"url": "https://a", "type": "sse"}, {"command": "a", "url": "https://a"}, {"command": 3}],
)
def test_an_invalid_server_is_refused(server):
    with pytest.raises(ValueError, match="server"):
        McpToolset(server)


@pytest.mark.parametrize("timeout", [0, -1, float("nan")])
def test_an_invalid_time_limit_is_refused(timeout):
    with pytest.raises(ValueError, match="timeout must be seconds above 0"):
        McpToolset("npx", timeout=timeout)


def test_variables_are_expanded_when_the_server_is_started(command, monkeypatch):
    python, program, mode, log = command()
    with McpToolset([python, "${PROGRAM_OF_A_TEST}", mode, log], name="odd") as toolset:
        with pytest.raises(ToolError, match=r"odd: .* variable PROGRAM_OF_A_TEST is not set"):
            _ = toolset.tools
        monkeypatch.setenv("PROGRAM_OF_A_TEST", program)
        assert len(toolset) == 3
    with McpToolset({"command": python, "args": [program, mode, "${NONE_SUCH:-" + log + "}"]}) as toolset:
        assert len(toolset) == 3


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def wait_until(condition):
    event = threading.Event()
    while not condition():
        event.wait(0.01)


def wait_for(log, line):
    wait_until(lambda: line in log.read_text())
