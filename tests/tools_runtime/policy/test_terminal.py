"""Asking on a terminal: a real one, in another process."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time

import pytest

# Prompts for calls with these arguments, in threads, and prints the answers. SIGUSR1 cancels.
PROGRAM = """
import json, signal, sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tools_core import ApprovalRequest, Context, ToolCall, tool
from tools_runtime import Policy, ask_on_terminal

schema = {"type": "object", "properties": {"path": {"type": "string", "format": "path"}}, "additionalProperties": True}

@tool(destructive=True, input_schema=schema)
def save(**arguments) -> str:
    "Saves."

given, threads, timeout = json.loads(sys.argv[1]), int(sys.argv[2]), json.loads(sys.argv[3])
context = Context(workspace="/home/ada/space", run_id="run-7", timeout=timeout)
signal.signal(signal.SIGUSR1, lambda *_: context.cancel())
policy = Policy(files=[])

def ask(arguments):
    call = ToolCall(None, "save", arguments)
    decision = policy.decide_tool_call(call, save, context)
    facts, scopes = decision.facts, policy.approvals.scopes
    request = ApprovalRequest(
        call, save, facts.arguments, facts.effects, context, reasons=decision.reasons, scopes=scopes
    )
    return ask_on_terminal(request)

with ThreadPoolExecutor(threads) as pool:
    for answer in pool.map(ask, given) if threads > 1 else map(ask, given):
        print(answer, flush=True)
print(sys.stdin.readline().strip() if timeout is None and "tail" in sys.argv else "", flush=True)
"""


class Terminal:
    """A program on a terminal, and its output."""

    def __init__(self, requests, threads=1, timeout=None, *more):
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, json.dumps(requests), str(threads), json.dumps(timeout), *more],
            stdin=slave,
            stdout=subprocess.PIPE,
            stderr=slave,
            start_new_session=True,
            env={**os.environ, "PYTHONIOENCODING": "utf-8:strict"},
        )
        os.close(slave)
        self.seen = ""

    def until(self, text, count=1):
        end = time.monotonic() + 30
        while self.seen.count(text) < count:
            ready, _, _ = select.select([self.master], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"no {text!r} in {self.seen!r}"
            self.seen += os.read(self.master, 65536).decode(errors="replace")
        return self.seen

    def type(self, text):
        os.write(self.master, text if isinstance(text, bytes) else text.encode())

    def answers(self):
        return self.process.communicate(timeout=30)[0].decode().split()

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        os.close(self.master)


@pytest.fixture
def terminal():
    opened = []

    def start(*arguments):
        opened.append(Terminal(*arguments))
        return opened[-1]

    yield start
    for descriptor in opened:
        descriptor.close()


@pytest.mark.parametrize(
    ("typed", "answer"),
    [("o\n", "once"), ("yes\n", "once"), ("run\n", "run"), ("p\n", "project"), ("n\n", "False"), ("\n", "False"),
     ("\x04", "False")],
)  # fmt: skip
def test_a_user_answers_the_prompt(terminal, typed, answer):
    prompt = terminal([{"path": "a"}])
    screen = prompt.until("[N]o: ")
    for text in (
        "save wants to run (destructive)",
        'path = "a"',
        'files: ["/home/ada/space/a"]',
        'workspace: "/home/ada/space", run: "run-7"',
        "asked because: no rule matches",
        "approve? [o]nce, [r]un, [p]roject, [N]o: ",
    ):
        assert text in screen
    prompt.type(typed)
    assert prompt.answers() == [answer]


def test_an_unknown_answer_repeats_the_prompt(terminal):
    prompt = terminal([{"path": "a"}])
    for count, text in enumerate(("sure, go\n", b"\xff\n", "once\n"), 1):
        prompt.until("[N]o: ", count)
        prompt.type(text)
    assert prompt.answers() == ["once"]


def test_concurrent_calls_prompt_one_at_a_time(terminal):
    prompt = terminal([{"path": "a"}, {"path": "b"}, {"path": "c"}], 3)
    for count, typed in enumerate(("o\n", "o\n", "o\n"), 1):
        prompt.until("[N]o: ", count)
        assert prompt.seen.count("wants to run") == count
        prompt.type(typed)
    assert prompt.answers() == ["once", "once", "once"]


def test_text_that_was_typed_before_the_question_is_not_an_answer(terminal):
    prompt = terminal([{"path": "a"}])
    prompt.type("y\n")  # while the program starts
    prompt.until("[N]o: ")
    prompt.type("n\n")
    assert prompt.answers() == ["False"]


def test_a_question_ends_when_its_call_is_cancelled_and_takes_no_later_text(terminal):
    prompt = terminal([{"path": "a"}, {"path": "b"}], 2, None, "tail")
    prompt.until("[N]o: ")
    os.kill(prompt.process.pid, signal.SIGUSR1)
    assert prompt.process.stdout.readline() == b"None\n"
    assert prompt.process.stdout.readline() == b"None\n"
    prompt.type("once\n")  # meant for the program
    assert prompt.answers() == ["once"]
    assert prompt.seen.count("wants to run") == 1


def test_a_question_ends_at_the_deadline(terminal):
    prompt = terminal([{"path": "a"}], 1, 1.5)
    assert prompt.answers() == ["None"]


def test_arguments_cannot_rewrite_the_question(terminal):
    evil = "\x1b[2J\x1b[H\rsafe\nsave wants to run (read_only)\napprove? \u202e\x07\u200b\x9b2K"
    prompt = terminal([{"path": "a", evil: evil}])
    screen = prompt.until("[N]o: ")
    assert [char for char in ("\x1b", "\u202e", "\x07", "\u200b", "\x9b") if char in screen] == []
    assert len([line for line in screen.splitlines() if line.startswith(("save wants", "approve?"))]) == 2
    assert "\\u202e" in screen


def test_long_arguments_are_clipped_with_their_size_and_can_be_viewed(terminal):
    long = {"text": "a" * 3000 + "rm -rf" + "b" * 3000} | {f"n{number}": 1 for number in range(1000)}
    prompt = terminal([long | {"path": "last/of/all"}])
    prompt.until("[v]iew all of it: ")
    assert '  path = "last/of/all"' in prompt.seen
    assert "characters are not shown" in prompt.seen
    assert "982 more arguments are not shown" in prompt.seen
    assert "rm -rf" not in prompt.seen
    assert "n999" not in prompt.seen
    prompt.type("v\n")
    prompt.until("n999")
    prompt.until("rm -rf")
    prompt.until("[N]o: ")
    prompt.type("n\n")
    assert prompt.answers() == ["False"]


def test_a_program_without_a_terminal_asks_no_question():
    command = [sys.executable, "-c", PROGRAM, '[{"path": "a"}]', "1", "null"]
    out = subprocess.run(command, stdin=subprocess.DEVNULL, check=True, capture_output=True, text=True, timeout=60)
    assert out.stdout.split() == ["None"]
    assert out.stderr == ""
