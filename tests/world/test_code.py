"""Code of a model that floods its host."""

from __future__ import annotations

import json
import resource

import pytest

from tools_agent import Agent, ScriptedProvider, ToolResult
from tools_code import CodeMode
from tools_core import ToolCall, tool

SOCKET = """
import os, socket

for number in range(3, 64):
    try:
        channel = socket.socket(fileno=os.dup(number))
        channel.getsockname()
        break
    except OSError:
        pass
"""
CALL = json.dumps({"id": 1, "name": "look", "arguments": {}, "flush": False})
SEARCH = json.dumps({"id": 1, "name": "", "arguments": {"query": "look"}, "flush": False})
LARGE = json.dumps({"id": 1, "name": "look", "arguments": {"x": "x" * 1_000_000}, "flush": False})


@tool(read_only=True)
def look(**arguments: object) -> str:
    """Look."""
    return "seen"


def run(code, **options):
    model = ScriptedProvider(ToolCall(None, "run_code", {"code": code}), "Done.")
    with Agent(model=model, tools=[CodeMode([look], **options)]) as agent:
        agent.generate("Go.")
        return next(message.result for message in agent.session if isinstance(message, ToolResult))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "error_type"),
    [
        ('{"flush": true}\n', "timeout_error"),
        (f"{CALL}\n", "limit_exceeded"),
        (f"{LARGE}\n", "limit_exceeded"),
        (f"{SEARCH}\n", "timeout_error"),
        ("x" * 100_000, "limit_exceeded"),
        ("{}\n", "validation_error"),
    ],
    ids=lambda value: value[:20],
)
def test_code_that_floods_its_channel_is_stopped_in_its_limits(line, error_type):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds = 2 if error_type == "timeout_error" else 30  # to reach a limit of the size
    result = run(f"{SOCKET}\ndata = {line.encode()!r}\nwhile True: channel.sendall(data)", timeout=seconds)
    assert result.error_type == error_type
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 400_000  # KiB


@pytest.mark.slow
@pytest.mark.parametrize(
    "code",
    [
        "while True: print('x' * 10_000)",
        "import sys\nwhile True: sys.stderr.write('x\\n')",
        "while True: search_tools('look')",
    ],
)
def test_code_that_prints_or_searches_without_end_is_stopped(code):
    result = run(code, timeout=2)
    assert result.error_type == "timeout_error"
    assert len(str(result)) < 200_000


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("1 / 0", "ZeroDivisionError"),
        ("import sys; sys.exit(3)", "3"),
        ("import os; os._exit(7)", "7"),
        ("def f(:", "SyntaxError"),
        ("raise SystemExit('no data')", "no data"),
        ("look(1, 2)", "TypeError"),
    ],
)
def test_code_that_fails_is_an_error(code, text):
    result = run(f"print('before')\n{code}" if "def" not in code else code)
    assert not result.ok
    assert text in result.error


FORK = """
import multiprocessing

def ask(number):
    return look(number=number)

with multiprocessing.get_context("fork").Pool(2) as pool:
    pool.map(ask, [1, 2])
"""


def test_a_call_in_a_forked_process_is_refused_and_others_still_run():
    result = run(f"try:{FORK.replace(chr(10), chr(10) + '    ')}\nexcept RuntimeError as error: print(error)\nlook()")
    assert (
        result.content == "look cannot be called in another process; use threads, which may call functions\n=> 'seen'"
    )


def test_code_that_exits_with_success_is_a_success():
    assert run("print('before')\nimport sys; sys.exit(0)").ok
