"""Agents that resume in another process after a kill."""

import importlib.util
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tools_agent import Session, SQLiteStore, StoreError, ToolResult, open_store

PROGRAM = Path(__file__).with_name("crash_agent.py")
spec = importlib.util.spec_from_file_location("crash_agent", PROGRAM)
program = importlib.util.module_from_spec(spec)
spec.loader.exec_module(program)

APPENDS = 13  # prompt, reply, three starts, three results, reply, start, result, reply, end of the run
REPEATABLE = {"look", "put"}


def killed(place, path, runtime, moment, number):
    """Run the agent until it is killed; return what ran, and the calls that the session has as started and finished."""
    command = [sys.executable, PROGRAM, place, path, runtime, moment, str(number)]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    with open_store(place) as store:
        records = store.read("s")
    started = {record.data["call_id"] for record in records if record.kind == "tool_started"}
    finished = {record.data["call_id"] for record in records if record.kind == "tool_finished"}
    return runs_of(path), started, finished


def runs_of(path):
    path.touch()
    names = path.read_text().split()
    return {id: names.count(name) for id, name in program.CALLS.items()}


def check_resumed(place, path, before, started, finished):
    with open_store(place) as store, program.make_agent(store, path) as agent:
        assert program.resume(agent).content == "All done."
        messages = Session.open(store, "s").messages
    roles = ["system", "user", "assistant", "tool", "tool", "tool", "assistant", "tool", "assistant"]
    assert [message.role for message in messages] == roles
    results = {message.tool_call_id: message for message in messages if isinstance(message, ToolResult)}
    assert list(results) == list(program.CALLS)
    after = runs_of(path)
    for id, name in program.CALLS.items():
        if id in finished:
            assert after[id] == before[id] == 1
        elif id not in started:
            assert (before[id], after[id]) == (0, 1)
        elif name in REPEATABLE:
            assert after[id] == before[id] + 1
        else:
            assert after[id] == before[id] <= 1
            assert results[id].error_type == "outcome_unknown"
            continue
        assert results[id].content == f"{name} done"


@pytest.mark.parametrize(
    ("moment", "number"),
    [
        pytest.param("after", 2, id="no call started"),
        pytest.param("after", 4, id="two calls started"),
        pytest.param("after", 6, id="one call finished"),
        pytest.param("after", 12, id="the model was done"),
    ],
)
def test_another_process_resumes_a_killed_agent_without_losing_or_repeating_calls(tmp_path, moment, number):
    place, path = str(tmp_path / "sessions"), tmp_path / "runs"
    check_resumed(place, path, *killed(place, path, "thread", moment, number))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "runtime", "moment"),
    [
        ("sqlite", "inline", "after"),
        ("sqlite", "thread", "before"),
        ("sqlite", "thread", "after"),
        ("sqlite", "async", "before"),
        ("postgresql", "thread", "after"),
    ],
)
def test_an_agent_resumes_after_a_kill_at_any_record(tmp_path, request, kind, runtime, moment):
    for number in range(1, APPENDS + 1):
        path = tmp_path / f"runs{number}"
        if kind == "sqlite":
            place = str(tmp_path / f"sessions{number}")
        else:
            place = request.getfixturevalue("postgresql").new_database()
        check_resumed(place, path, *killed(place, path, runtime, moment, number))


@pytest.mark.slow
@pytest.mark.parametrize("runtime", ["thread", "async"])
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_kill_at_a_random_time_loses_and_repeats_no_call(tmp_path, request, kind, runtime):
    """`KILLS=500 pytest -m "" -o faulthandler_timeout=0 -k random_times` kills so many processes, for each case."""
    kills = int(os.environ.get("KILLS", "25"))
    place = str(tmp_path / "db") if kind == "sqlite" else request.getfixturevalue("postgresql").new_database()
    command = [sys.executable, PROGRAM, place, tmp_path, runtime, "random", str(kills)]
    lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    assert lines.pop() == f"kills {kills}"
    assert [line for line in lines if not re.fullmatch(r"s\d+ unknown=\d", line)] == []


@pytest.mark.parametrize("runtime", ["inline", "thread"])
def test_a_failed_write_ends_the_run_without_losing_or_repeating_calls(tmp_path, runtime):
    for number in range(1, APPENDS + 1):
        path = tmp_path / f"runs{number}"
        with SQLiteStore(":memory:") as store:
            failing = program.Killer(store, "full disk", number)
            with (
                program.make_agent(failing, path, runtime) as agent,
                pytest.raises(StoreError, match="the disk is full"),
            ):
                program.resume(agent)
            with program.make_agent(store, path, runtime) as agent:
                assert program.resume(agent).content == "All done."
                results = [message for message in agent.session if isinstance(message, ToolResult)]
        assert [result.tool_call_id for result in results] == list(program.CALLS)
        runs = runs_of(path)
        for result in results:
            id, name = result.tool_call_id, result.name
            if result.error is None:
                assert runs[id] == 1 or (runs[id] == 2 and name in REPEATABLE)
            else:
                assert runs[id] <= 1 and result.error_type in ("outcome_unknown", "cancelled")


def test_the_kill_tests_cover_every_append(tmp_path):
    with SQLiteStore(tmp_path / "sessions") as store:
        counting = program.Killer(store, "", 0)
        with program.make_agent(counting, tmp_path / "runs") as agent:
            program.resume(agent)
        assert -counting._left == APPENDS


PAYMENT = '''
import os, signal, sys
from tools_agent import Agent, ScriptedProvider, SQLiteStore
from tools_core import Context, ToolCall, tool

store, ledger, kill_at = sys.argv[1:]


@tool(verify="find_payment")
def pay(order: str, amount: int, context: Context) -> str:
    """Pay an order."""
    if kill_at == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    with open(ledger, "a") as file:
        file.write(f"{order} {amount} {context.idempotency_key}\\n")
    if kill_at == "after":
        os.kill(os.getpid(), signal.SIGKILL)
    return "paid"


@tool(read_only=True)
def find_payment(order: str, context: Context) -> str | None:
    """Find the payment of an order."""
    if kill_at == "broken":
        raise OSError("the ledger is locked")
    with open(ledger, "a+") as file:
        file.seek(0)
        lines = [line for line in file if line.split()[::2] == [order, context.idempotency_key]]
    return f"payment {lines[0].split()[1]}" if lines else None


model = ScriptedProvider(default=lambda request: ["Done"] if len(request.messages) > 1 else [
    ToolCall("1", "pay", {"order": "A7", "amount": 5})
])
with Agent("chat", store=SQLiteStore(store), model=model, tools=[pay, find_payment]) as agent:
    agent.generate(None if len(agent.session) else "Pay")
    print(agent.session[2].error_type or agent.session[2].content)
'''


@pytest.mark.slow
@pytest.mark.parametrize(
    ("killed_at", "repaired", "outcome", "payments"),
    [
        ("before", "", "paid", 1),
        ("after", "", "payment 5", 1),
        ("after", "broken", "outcome_unknown", 1),
        ("before", "broken", "outcome_unknown", 0),
    ],
)
def test_a_verify_tool_settles_a_call_that_a_kill_interrupted(tmp_path, killed_at, repaired, outcome, payments):
    command = [sys.executable, "-c", PAYMENT, tmp_path / "a.db", tmp_path / "ledger"]
    assert subprocess.run([*command, killed_at], check=False).returncode == -signal.SIGKILL
    resumed = subprocess.run([*command, repaired], check=True, capture_output=True, text=True)
    assert resumed.stdout.strip() == outcome
    (tmp_path / "ledger").touch()
    assert len((tmp_path / "ledger").read_text().splitlines()) == payments
