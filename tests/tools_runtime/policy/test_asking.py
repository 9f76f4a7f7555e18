"""Asking on a terminal: a real one, in a process of its own."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time

import pytest

from tools_runtime._policy._ask import shown

PROGRAM = """
import json, sys
from tools_core import ToolCall, tool
from tools_runtime import Executor, hookimpl
from tools_runtime._policy import Policy

@tool(destructive=True)
def save(text: str, name: str = "x") -> str:
    "Saves."
    return "saved " + text[:20]

class Arrivals:
    @hookimpl
    def around_tool_call(self, call):
        print("arrived", file=sys.stderr, flush=True)
        return (yield)

calls = [ToolCall(str(n), "save", each) for n, each in enumerate(json.loads(sys.argv[1]))]
runtime = sys.argv[2] if len(sys.argv) > 2 else "inline"
with Executor([save], policy=Policy(), hooks=[Arrivals()], plugins=False, runtime=runtime) as executor:
    for _, result in executor.execute(calls):
        print(result.error_type or result.output, flush=True)
"""

# Gives up at a signal, reads a line of its own, and makes the same call again.
GIVES_UP = """
import asyncio, signal, sys
from tools_core import Context, ToolCall, tool
from tools_runtime import Executor
from tools_runtime._policy import Policy

@tool
def save(text: str) -> str:
    "Saves."
    return "saved"

async def main():
    executor, context = Executor([save], policy=Policy(), plugins=False, runtime=sys.argv[1]), Context()
    calls = [ToolCall(None, "save", {"text": "a"}), ToolCall(None, "save", {"text": "b"})]
    first = asyncio.create_task(executor.aexecute(calls, context))
    give_up = first.cancel if sys.argv[2] == "task" else context.cancel
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, give_up)
    for each in await asyncio.gather(first, return_exceptions=True):
        kinds = [result.error_type for _, result in each] if isinstance(each, list) else [type(each).__name__]
        print(*kinds, flush=True)
    print("ready", file=sys.stderr, flush=True)
    print(sys.stdin.readline().strip(), flush=True)
    print((await executor.acall(calls[0])).error_type, flush=True)

asyncio.run(main())
"""

# Takes whatever arguments a model makes up.
ANY_ARGUMENTS = """
import json, sys
from tools_core import ToolCall, tool
from tools_runtime import Executor
from tools_runtime._policy import Policy

@tool(input_schema={"type": "object", "properties": {"text": {"type": "string"}}, "additionalProperties": True})
def run(**arguments) -> str:
    "Runs."
    return "ran"

made_up = {f"n{number}" * 1000: "x" * 1000 for number in range(1000)}
call = ToolCall(None, "run", json.loads(sys.argv[1]) | made_up)
print(Executor([run], policy=Policy(), plugins=False).call(call).error_type)
"""


class Terminal:
    """A program on a terminal, and what a person would see of it."""

    def __init__(self, *arguments, program=PROGRAM):
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-c", program, *arguments],
            stdin=slave,
            stdout=subprocess.PIPE,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        self.seen = ""

    def until(self, text, count=1):
        end = time.monotonic() + 30
        while self.seen.count(text) < count:
            ready, _, _ = select.select([self.master], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"no {text!r} in {self.seen!r}"
            try:
                self.seen += os.read(self.master, 65536).decode(errors="replace")
            except OSError:
                raise AssertionError(self.seen) from None
        return self.seen

    def type(self, text):
        os.write(self.master, text.encode())

    def result(self):
        out, _ = self.process.communicate(timeout=30)
        return out.decode().splitlines()

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        os.close(self.master)


@pytest.fixture
def terminal():
    opened = []

    def start(*arguments, **options):
        opened.append(Terminal(*arguments, **options))
        return opened[-1]

    yield start
    for each in opened:
        each.close()


@pytest.mark.parametrize(
    ("answer", "expected"),
    [("o\n", "saved a"), ("yes\n", "saved a"), ("n\n", "denied"), ("\n", "denied"), ("\x04", "denied")],
)
def test_a_person_is_asked_and_decides(terminal, answer, expected):
    asked = terminal('[{"text": "a"}]')
    seen = asked.until("approve? ")
    assert "save wants to run (destructive)" in seen
    assert 'text = "a"' in seen
    assert "the default" in seen
    asked.until("[N]o: ")
    asked.type(answer)
    assert asked.result() == [expected]


def test_what_is_no_answer_is_asked_again(terminal):
    asked = terminal('[{"text": "a"}]')
    asked.until("[N]o: ")
    asked.type("sure, go\n")
    asked.until("[N]o: ", 2)
    asked.type("once\n")
    assert asked.result() == ["saved a"]


def test_what_is_no_text_is_asked_again(terminal, monkeypatch):
    monkeypatch.setenv("PYTHONIOENCODING", "utf-8:strict")
    asked = terminal('[{"text": "a"}]')
    asked.until("[N]o: ")
    os.write(asked.master, b"\xff\n")
    asked.until("[N]o: ", 2)
    asked.type("once\n")
    assert asked.result() == ["saved a"]


def test_a_call_that_was_approved_for_the_session_is_not_asked_about_again(terminal):
    asked = terminal('[{"text": "a"}, {"text": "a"}, {"text": "b"}]')
    asked.until("[N]o: ")
    asked.type("s\n")
    asked.until("[N]o: ", 2)
    asked.type("n\n")
    assert asked.result() == ["saved a", "saved a", "denied"]


def test_calls_beside_each_other_are_asked_about_one_at_a_time(terminal):
    asked = terminal('[{"text": "a"}, {"text": "b"}, {"text": "a"}]', "thread")
    asked.until("[N]o: ")
    asked.until("arrived", 3)
    assert asked.seen.count("wants to run") == 1
    asked.type("s\n")
    asked.until("[N]o: ", 2)
    assert asked.seen.count("wants to run") == 2
    asked.type("s\n")  # the third one is one of these two
    assert asked.result() == ["saved a", "saved b", "saved a"]


def test_what_was_typed_before_the_question_is_no_answer(terminal):
    asked = terminal('[{"text": "a"}]')
    asked.type("y\n")  # while the program starts
    asked.until("[N]o: ")
    asked.type("n\n")
    assert asked.result() == ["denied"]


@pytest.mark.parametrize("runtime", ["inline", "thread", "async"])
@pytest.mark.parametrize(
    ("gives_up", "expected"), [("task", "CancelledError"), ("context", "cancelled cancelled")], ids=["task", "context"]
)
def test_a_question_whose_caller_has_given_up_takes_no_answer_and_approves_nothing(
    terminal, runtime, gives_up, expected
):
    asked = terminal(runtime, gives_up, program=GIVES_UP)
    asked.until("[N]o: ")
    os.kill(asked.process.pid, signal.SIGUSR1)
    asked.until("ready")
    asked.type("session\n")  # meant for the program
    asked.until("[N]o: ", 2)
    asked.type("n\n")
    assert asked.result() == [expected, "session", "denied"]


def test_arguments_cannot_rewrite_the_question(terminal):
    evil = "\\u001b[2J\\u001b[H\\rsafe\\nsave wants to run (read_only)\\napprove? \\u202e\\u0007\\u200b\\u009b2K"
    asked = terminal(f'[{{"text": "{evil}"}}]')
    seen = asked.until("[N]o: ")
    for char in ("\x1b", "\u202e", "\x07", "\u200b", "\x9b"):
        assert char not in seen
    assert len([line for line in seen.splitlines() if line.startswith(("save wants", "approve?"))]) == 2
    asked.type("n\n")
    assert asked.result() == ["denied"]


def test_of_huge_arguments_is_said_how_much_is_not_shown_and_all_can_be_seen(terminal):
    text = "a" * 3000 + "rm -rf" + "b" * 3000
    asked = terminal(f'[{{"text": "{text}"}}]')
    asked.until("[v]iew all of it")
    assert "characters are not shown" in asked.seen
    assert "rm -rf" not in asked.seen
    asked.until(": ")
    asked.type("v\n")
    asked.until("rm -rf")
    asked.until("[N]o: ")
    asked.type("n\n")
    assert asked.result() == ["denied"]


def test_many_arguments_push_none_of_the_first_out_of_sight(terminal):
    asked = terminal('{"text": "rm -rf"}', program=ANY_ARGUMENTS)
    seen = asked.until("[N]o, [v]iew all of it: ")
    assert 'text = "rm -rf"' in seen
    assert "<<< 981 more arguments are not shown >>>" in seen
    assert "characters are not shown" in seen
    assert "n999" not in seen
    assert len(seen) < 6_000
    asked.type("v\n")
    asked.until("n999")
    asked.until("[N]o: ")
    asked.type("n\n")
    assert asked.result() == ["denied"]


def test_without_a_terminal_the_call_is_denied_and_the_way_out_is_named(place):
    out = subprocess.run(
        [sys.executable, "-c", PROGRAM, '[{"text": "a"}]'],
        stdin=subprocess.DEVNULL,
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert out.stdout == "denied\n", out.stderr


@pytest.mark.parametrize("char", ["\x7f", "\x9b", "\u202e", "\u2028", "\u3164", "\ud800", "\U000e0041", "\xa0"])
def test_what_is_not_seen_in_an_argument_is_written_out(char):
    assert shown({"a": [char]}) == '{"a": ["' + char.encode("unicode_escape").decode() + '"]}'


def test_letters_of_any_script_stay_as_they_are():
    assert shown("Grüße, 世界, שלום 👍") == '"Grüße, 世界, שלום 👍"'
