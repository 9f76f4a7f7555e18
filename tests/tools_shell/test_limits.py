"""All that a script starts ends with it, and the call ends by its limit."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading

import pytest

from tools_core import Context
from tools_shell._process import _run


def test_at_the_time_limit_the_process_group_ends_and_its_output_is_returned(bash, lifeline, at_its_limit):
    script = f"exec 9> {lifeline.path}; echo so far; (sleep 900 & sleep 900) & sleep 900"
    result = at_its_limit(bash, lambda result: result.metadata["output"], command=script)
    assert result.error_type == "timeout_error"
    assert re.fullmatch(r"so far\n\[timed out after .* s; raise timeout \(up to 600\) or use job_start\]", result.error)
    assert result.metadata["output"] == "so far\n"
    assert result.metadata["timed_out"] is True
    assert result.metadata["duration"] >= 1
    assert lifeline.holders_are_gone()


@pytest.mark.slow
@pytest.mark.parametrize("level", ["none"], indirect=True)  # the others promise more: see test_survivors
def test_the_process_group_ends_at_the_limit_without_a_supervisor(bash, all_at_once):
    scripts = {
        "ignores TERM": "trap '' TERM; sleep 900 & while :; do wait; done",
        "stops itself": "kill -STOP $$",
        "nohup": "nohup sleep 900 & disown; sleep 900",
        "double fork": "(sh -c 'sleep 900 & wait' &); sleep 900",
    }
    results = all_at_once(bash, scripts, timeout=2)
    assert {name: result.error_type for name, result in results.items()} == dict.fromkeys(scripts, "timeout_error")


def test_a_script_may_clean_up_when_it_is_asked_to_end(bash, root, at_its_limit):
    script = "trap 'echo cleaned > file; exit 5' TERM; sleep 900 & wait"
    result = at_its_limit(bash, lambda _: (root / "file").exists(), command=script)
    assert result.metadata["exit_code"] == 5
    assert (root / "file").read_text() == "cleaned\n"


@pytest.mark.parametrize("background", ["sleep 900 &", "setsid sleep 900 &"])
def test_a_background_process_that_holds_the_output_is_killed(bash, level, lifeline, background):
    if level == "none" and "setsid" in background:
        pytest.skip("it kills the process group only")
    result = bash.call(command=f"exec 9> {lifeline.path}; {background} echo done")
    assert result.output["output"] == "done\n"
    assert "background" in result.output
    assert result.metadata["duration"] < 60
    assert lifeline.holders_are_gone()


def test_a_background_process_of_the_group_ends_with_the_script(bash, lifeline):
    assert bash.call(command=f"exec 9> {lifeline.path}; sleep 900 > /dev/null 2>&1 &").ok
    assert lifeline.holders_are_gone()


def test_output_that_arrives_after_the_end_of_a_script_is_not_lost(bash, monkeypatch):
    monkeypatch.setattr(_run, "DRAIN", 60.0)  # a busy machine may take longer than usual to start two programs
    assert bash.call(command="echo late > >(cat; echo more)").output["output"] == "late\nmore\n"


@pytest.mark.slow
@pytest.mark.parametrize("script", ["sleep 900", "trap '' TERM; while :; do sleep 900; done"])
def test_the_deadline_of_the_caller_counts_too_and_leaves_the_output(bash, lifeline, script):
    for seconds in (2, 5, 30):  # in two, a busy machine may not have begun
        context = Context(timeout=seconds)
        result = bash.call({"command": f"exec 9> {lifeline.path}; echo so far; {script}"}, context=context)
        if result.metadata.get("output"):
            break
    assert result.error_type == "timeout_error"
    assert "so far" in result.error
    assert lifeline.holders_are_gone()


@pytest.mark.slow
def test_a_script_has_all_the_time_that_its_caller_has(bash):
    for seconds in (2, 4, 6):  # in two, a busy machine may not have begun
        result = bash.call({"command": f"sleep {seconds * 0.75}; echo ok"}, context=Context(timeout=seconds))
        if result.ok:
            break
    assert result.output["output"] == "ok\n"


def test_a_process_that_ends_on_request_does_not_delay_the_call(bash, lifeline, monkeypatch):
    monkeypatch.setattr(_run, "GRACE", 300.0)
    context, results = Context(), []
    call = {"command": f"exec 9> {lifeline.path}; echo begun >&9; exec sleep 900", "timeout": 600}
    caller = threading.Thread(target=lambda: results.append(bash.call(call, context)), daemon=True)
    caller.start()
    lifeline.wait_for(b"begun\n")
    context.cancel()
    caller.join(60)
    assert [result.error_type for result in results] == ["cancelled"]
    assert lifeline.holders_are_gone()


def test_a_cancelled_call_ends_its_script(bash, lifeline):
    context = Context()
    results = []
    command = f"exec 9> {lifeline.path}; echo begun >&9; sleep 900"
    caller = threading.Thread(target=lambda: results.append(bash.call({"command": command}, context=context)))
    caller.start()
    while not _can_read(lifeline):
        pass
    context.cancel()
    caller.join()
    assert results[0].error_type == "cancelled"
    assert lifeline.holders_are_gone()


def _can_read(lifeline):
    try:
        return os.read(lifeline.descriptor, 100) == b"begun\n"
    except BlockingIOError:
        return False


# A process whose parent ignores the signal, as in the background of a shell, would ignore it, too.
INTERRUPTED = """
import signal, sys
from tools_shell import Bash
signal.signal(signal.SIGINT, signal.default_int_handler)
Bash(sys.argv[1], sandbox=sys.argv[3]).call(command=f"exec 9> {sys.argv[2]}; echo begun >&9; sleep 900")
"""


def test_an_interrupt_from_the_keyboard_ends_the_script_and_passes_through(root, level, lifeline):
    command = [sys.executable, "-c", INTERRUPTED, root, lifeline.path, level]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as host:
        while not _can_read(lifeline):
            assert host.poll() is None
        host.send_signal(signal.SIGINT)
        _, error = host.communicate(timeout=90)
    assert error.rstrip().endswith("KeyboardInterrupt")
    assert lifeline.holders_are_gone()


INTERRUPTED_OFTEN = """
import gc, os, signal, sys, threading
from tools_shell import Bash

def interrupt(delay, has_ended):
    while not has_ended.wait(delay):
        os.kill(os.getpid(), signal.SIGINT)
        delay = 0.5  # Python ignores exceptions in some places

signal.signal(signal.SIGINT, signal.default_int_handler)
bash = Bash(sys.argv[1], sandbox=sys.argv[3])
bash.call(command="true")  # the first call takes longer
for number in range(60):
    has_ended = threading.Event()
    thread = threading.Thread(target=interrupt, args=(number / 10_000, has_ended))
    try:
        thread.start()
        bash.call(command=f"exec 9> {sys.argv[2]}; sleep 900")
    except KeyboardInterrupt:
        has_ended.set()
        thread.join()
gc.collect()  # an interrupt may leave a process to its finalizer
print("done", flush=True)
sys.stdin.read()  # processes must end before the host
"""


def leaves_no_process(program, root, level, lifeline):
    """Run a host until it has interrupted its scripts; return whether they have ended before it."""
    command = [sys.executable, "-c", program, root, lifeline.path, level]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as host:
        assert host.stdout.readline() == b"done\n"
        are_gone = lifeline.holders_are_gone()
        host.communicate(b"")
    return are_gone


@pytest.mark.parametrize("level", ["none", "contained"], indirect=True)
def test_an_interrupt_while_a_script_starts_leaves_no_process(root, level, lifeline):
    assert leaves_no_process(INTERRUPTED_OFTEN, root, level, lifeline)


INTERRUPTED_TWICE = """
import gc, linecache, signal, sys
from tools_shell import Bash

lines_left = None

def interrupt(number, frame):
    global lines_left
    lines_left = at
    raise KeyboardInterrupt

def trace(frame, event, argument):
    global lines_left
    if "tools_shell" not in frame.f_code.co_filename:
        return None
    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
    # Unlike a signal, an exception of this function skips the end of a `with` block.
    if event == "line" and lines_left is not None and not line.startswith("with "):
        lines_left -= 1
        if not lines_left:
            raise KeyboardInterrupt
    return trace

signal.alarm(80)  # ends this process
signal.signal(signal.SIGINT, interrupt)
bash = Bash(sys.argv[1], sandbox=sys.argv[3])
for at in range(1, 40):
    lines_left = None
    sys.settrace(trace)
    try:
        bash.call(command=f"exec 9> {sys.argv[2]}; kill -INT $PPID; sleep 900")
    except KeyboardInterrupt:
        sys.settrace(None)
    gc.collect()  # not during the next call: Python ignores an interrupt of a finalizer
print("done", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("level", ["none"], indirect=True)  # the others have a supervisor
def test_a_second_interrupt_while_a_script_is_ended_leaves_no_process(root, level, lifeline):
    assert leaves_no_process(INTERRUPTED_TWICE, root, level, lifeline)


@pytest.mark.slow
def test_neither_zombies_nor_descriptors_nor_threads_grow_over_60_calls(bash, children_of):
    def count():
        free = os.dup(0)
        os.close(free)
        return free, threading.active_count()

    bash.call(command="true")
    before, children = count(), children_of(os.getpid())  # with a supervisor there is the process that forks them
    for number in range(60):
        bash.call(command="sleep 900 & echo hi" if number % 20 == 0 else "echo hi; false | true")
    descriptors, threads = count()
    assert descriptors == before[0]
    assert threads <= before[1]  # fewer, where an idle one of an earlier call has ended meanwhile
    assert children_of(os.getpid()) == children


def test_64_calls_at_once_do_not_mix(bash):
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(64) as pool:
        outputs = list(pool.map(lambda n: bash.call(command=f"echo {n}; echo {n} >&2").output, range(64)))
    assert [output["output"] for output in outputs] == [f"{n}\n{n}\n" for n in range(64)]


@pytest.mark.slow
def test_a_suspended_process_may_clean_up_too(bash, root, at_its_limit):
    script = "trap 'echo cleaned > file; exit 5' TERM; kill -STOP $$; sleep 900"
    result = at_its_limit(bash, lambda _: (root / "file").exists(), command=script)
    assert result.metadata["exit_code"] == 5
    assert (root / "file").read_text() == "cleaned\n"
