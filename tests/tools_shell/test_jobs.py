"""Background jobs: followed from a cursor, fed, waited for, stopped, and ended with their owner at every level."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from tools_core import Context
from tools_shell import JobInput, JobOutput, JobStart, JobStop, end_run


class Conversation:
    """A run with jobs; `level` is their level."""

    def __init__(self, root, level, **settings):
        self.context = Context(workspace=root)
        self._start = JobStart(sandbox=level, **settings)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        end_run(self.context.run_id)

    def try_start(self, command, **arguments):
        return self._start.call({"command": command, **arguments}, self.context)

    def start(self, command, **arguments):
        return _ok(self.try_start(command, **arguments))["id"]

    def try_output(self, id, **arguments):
        return JobOutput().call({"id": id, **arguments}, self.context)

    def output(self, id, **arguments):
        return _ok(self.try_output(id, **arguments))

    def end_of(self, id, **arguments):
        """Return the facts about a job that has ended."""
        facts = self.output(id, until_end=True, wait=60, **arguments)
        assert facts["status"] == "ended"
        return facts

    def try_input(self, id, text="", **arguments):
        return JobInput().call({"id": id, "text": text, **arguments}, self.context)

    def input(self, id, text="", **arguments):
        return _ok(self.try_input(id, text, **arguments))

    def stop(self, id, **arguments):
        return _ok(JobStop().call({"id": id, **arguments}, self.context))

    def list(self):
        return _ok(JobOutput().call({}, self.context))


def _ok(result):
    assert result.ok, result.error
    return result.output


@pytest.fixture
def on(root, level):
    """A conversation at each level."""
    with Conversation(root, level) as conversation:
        yield conversation


@pytest.fixture
def here(root):
    """A conversation, for promises that do not depend on the level."""
    with Conversation(root, "contained") as conversation:
        yield conversation


# ------------------------------------------------------------------------------------------------ start and output


def test_a_job_runs_in_the_background_and_reports_its_end(on, level):
    result = on.try_start("echo begun; read line; echo got $line; exit 3", stdin=True)
    assert ("network" in result.metadata["not_isolated"]) == (level in {"none", "contained"})
    id = result.output["id"]
    facts = on.output(id, wait_for="begun")
    assert (facts["output"], facts["status"], "exit_code" in facts) == ("begun\n", "running", False)
    on.input(id, "this\n")
    facts = on.end_of(id, cursor=facts["next_cursor"])
    assert (facts["output"], facts["exit_code"]) == ("got this\n", 3)


def test_every_result_says_how_isolated_the_job_is(on):
    started = on.try_start("sleep 900")
    id = started.output["id"]
    assert on.try_output(id).metadata == started.metadata
    assert JobStop().call({"id": id}, on.context).metadata == started.metadata


def test_a_signal_is_reported_by_its_name(on):
    assert on.end_of(on.start("kill -KILL $$"))["signal"] == "SIGKILL"


def test_reading_from_each_next_cursor_returns_all_output_exactly_once(here):
    id = here.start("yes '€' | head -50000")
    here.end_of(id)
    cursor, parts, has_more = 0, [], True
    while has_more:
        facts = here.output(id, cursor=cursor)
        assert facts["cursor"] == cursor
        assert len(facts["output"]) <= 30_000
        parts.append(facts["output"])
        cursor, has_more = facts["next_cursor"], "has_more" in facts
    assert "".join(parts) == "€\n" * 50_000


def test_output_can_be_read_again_and_negative_cursors_count_from_the_end(here):
    id = here.start("printf 0123456789")
    here.end_of(id)
    assert [here.output(id)["output"] for _ in range(2)] == ["0123456789"] * 2
    assert here.output(id, cursor=-3)["output"] == "789"
    assert here.output(id, cursor=4)["output"] == "456789"
    beyond = here.output(id, cursor=99)
    assert (beyond["output"], beyond["cursor"], beyond["next_cursor"]) == ("", 10, 10)


def test_a_negative_cursor_counts_from_the_end_of_the_awaited_output(here):
    id = here.start("read -r line; seq 500000", stdin=True)
    here.input(id, "go\n")
    assert here.end_of(id, cursor=-7)["output"] == "500000\n"


def test_long_output_keeps_its_end_and_counts_the_skipped_characters(here):
    id = here.start("seq 500000")
    facts = here.end_of(id)
    everything = "".join(f"{number}\n" for number in range(1, 500001))
    assert facts["skipped"] == facts["cursor"] >= len(everything) - (1 << 20)
    assert facts["output"] == everything[facts["cursor"] :][:30_000]
    assert here.output(id, cursor=-7)["output"] == "500000\n"


def test_both_streams_are_one_in_the_order_in_which_they_were_written(on):
    id = on.start("for n in {1..200}; do echo out; echo err >&2; done")
    assert on.end_of(id)["output"] == "out\nerr\n" * 200


def test_the_model_reads_the_output_and_then_the_status(here):
    id = here.start("echo hello; exit 3")
    here.end_of(id)
    text = here.try_output(id).content
    assert text.startswith(f"hello\n[{id} ended after ")
    assert text.endswith("exit 3; next cursor 6]")
    assert JobOutput().call({}, here.context).content.startswith(f"{id} (ended after ")


def test_a_character_that_comes_in_two_pieces_is_read_as_one(here):
    id = here.start(r"printf 'a\xe2'; read line; printf '\x82'; read line; printf '\xacb'", stdin=True)
    assert here.output(id, wait_for="a")["output"] == "a"
    here.input(id, "\n\n")
    assert here.end_of(id)["output"] == "a€b"


def test_bytes_that_are_not_utf8_are_shown_and_control_sequences_are_kept(here):
    facts = here.end_of(here.start(r"printf 'caf\xe9 \x1b[31mred\x1b[0m\r'"))
    assert facts["output"] == "caf\\xe9 \x1b[31mred\x1b[0m\r"


def in_group(script, level):
    """Return a script without processes that leave their group, which level "none" does not end."""
    return script.replace("setsid ", "") if level == "none" else script


def test_background_processes_end_with_their_job(on, level, lifeline):
    id = on.start(in_group(f"exec 9> {lifeline.path}; setsid sleep 900 & sleep 900 & echo done", level))
    facts = on.end_of(id)
    assert (facts["output"], facts["exit_code"]) == ("done\n", 0)
    assert facts["background"]
    assert lifeline.holders_are_gone()


def test_a_time_limit_ends_a_job_and_is_named(on, lifeline):
    for seconds in (0.5, 5, 30):  # within the first, a busy machine may not have begun
        facts = on.end_of(on.start(f"exec 9> {lifeline.path}; echo so far; sleep 900 & sleep 900", timeout=seconds))
        if facts["output"]:
            break
    assert facts["output"].startswith("so far\n")  # the shell may add that something was terminated
    assert facts["limit"] == f"time limit {seconds} s"
    assert lifeline.holders_are_gone()


@pytest.mark.parametrize("timeout", [30 * 24 * 3600, 1e308])
def test_a_distant_time_limit_delays_no_call(here, timeout):
    far = here.start("cat", stdin=True, timeout=timeout)
    other = here.start("echo other")
    assert here.output(other, until_end=True, wait=60)["output"] == "other\n"
    here.input(far, "in\n", end=True)
    assert here.output(far, until_end=True, wait=60)["output"] == "in\n"


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        pytest.param({"command": " "}, "validation_error", id="blank"),
        pytest.param({"command": "a\0b"}, "validation_error", id="NUL"),
        pytest.param({"command": ":", "timeout": -1}, "validation_error", id="no time"),
        pytest.param({"command": ":", "workdir": ".."}, "denied", id="outside"),
        pytest.param({"command": ":", "workdir": "missing"}, "not_found", id="no folder"),
        pytest.param({"command": f": {'x' * 200_000}"}, "limit_exceeded", id="too long for the system"),
    ],
)
def test_a_failed_start_leaves_no_job(here, arguments, kind):
    assert here.try_start(**arguments).error_type == kind
    assert here.list() == []


def test_a_missing_shell_is_reported(root):
    conversation = Conversation(root, "none", shell="/missing/bash")  # noqa: S604 - a tool's own setting
    assert conversation.try_start(":").error_type == "unavailable"


def test_the_environment_is_clean(on, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "canary")
    facts = on.end_of(on.start("env"))
    assert "canary" not in facts["output"]


# ------------------------------------------------------------------------------------------------------- secrets


SECRET = "hunter2-hunter2-hunter2"  # noqa: S105 - a sample


def test_a_secret_is_not_shown_wherever_a_reader_cuts(root):
    with Conversation(root, "none", secrets=[SECRET]) as conversation:
        id = conversation.start(f"printf 'before {SECRET} after'")
        assert conversation.end_of(id)["output"] == "before [redacted SECRET_1] after"
        for cursor in range(-25, 0):
            output = conversation.output(id, cursor=cursor)["output"]
            assert not any(SECRET[n : n + 4] in output for n in range(len(SECRET) - 3))


@pytest.mark.parametrize("cut", [4, 12, len(SECRET) - 1])
def test_a_secret_that_comes_in_two_pieces_is_not_shown(root, cut):
    conversation = Conversation(root, "none", secrets=[SECRET])
    with conversation:
        id = conversation.start(f"printf 'begun {SECRET[:cut]}'; read line; printf '{SECRET[cut:]} end'", stdin=True)
        first = conversation.output(id, wait_for="begun")
        conversation.input(id, "\n")
        rest = conversation.end_of(id, cursor=first["next_cursor"])
        output = first["output"] + rest["output"]
        assert not any(SECRET[n : n + 4] in output for n in range(len(SECRET) - 3))
        assert output.startswith("begun ")
        assert output.endswith(" end")


def test_output_that_only_begins_like_a_secret_is_shown_later(root):
    conversation = Conversation(root, "none", secrets=[SECRET])
    with conversation:
        id = conversation.start(f"printf 'begun {SECRET[:6]}'; read line; printf 'ing'", stdin=True)
        first = conversation.output(id, wait_for="begun")
        assert first["output"] == "begun "
        conversation.input(id, "\n", end=True)
        assert conversation.end_of(id, cursor=first["next_cursor"])["output"] == f"{SECRET[:6]}ing"


def test_a_secret_cannot_be_guessed_by_waiting_for_it(root):
    conversation = Conversation(root, "none", secrets=[SECRET])
    with conversation:
        id = conversation.start(f"echo key={SECRET}")
        conversation.end_of(id)
        for guess in ("key=h", SECRET, SECRET[3:9]):
            assert conversation.output(id, wait_for=guess)["found"] is None
        assert conversation.output(id, wait_for="key=")["found"].startswith("key=")


# ------------------------------------------------------------------------------------------------------- waiting


def test_without_a_wait_the_current_output_is_returned_at_once(here):
    id = here.start("sleep 900")
    facts = here.output(id)
    assert (facts["output"], facts["status"]) == ("", "running")


def test_the_output_of_a_python_program_is_seen_while_it_runs(on):
    id = on.start("python3 -c 'import sys; print(\"Serving\"); sys.stdin.read()'", stdin=True)
    assert on.output(id, wait_for="Serving", wait=60)["found"] == "Serving"


def test_a_wait_ends_with_the_first_output(here):
    id = here.start("read line; echo $line; sleep 900", stdin=True)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(here.output, id, wait=60)
        here.input(id, "hello\n")
        assert waiting.result()["output"] == "hello\n"


@pytest.mark.parametrize(
    ("text", "line"),
    [("a.c", None), ("first\n  abc", "first\n  abc on port 8080"), ("80", "  abc on port 8080")],
)
def test_waiting_for_a_text_returns_the_line_with_it(here, text, line):
    id = here.start("echo first; echo '  abc on port 8080'; echo last")
    facts = here.output(id, wait_for=text)
    assert facts["found"] == line
    assert facts["status"] == "ended" or line is not None


def test_a_text_that_comes_in_pieces_is_found(here):
    id = here.start("printf 'serv'; read line; printf 'er rea'; read line; echo dy; sleep 900", stdin=True)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(here.output, id, wait_for="server ready", wait=60)
        for beginning in ("serv", "server rea"):
            assert here.output(id, wait_for=beginning)["found"]
            here.input(id, "\n")
        assert waiting.result()["found"].startswith("server rea")


def test_an_awaited_text_may_follow_much_other_output(here):
    id = here.start("seq 200000; echo the end of it; sleep 900")
    facts = here.output(id, wait_for="the end", wait=60)
    assert facts["found"] == "the end of it"
    assert here.output(id, cursor=-14)["output"] == "the end of it\n"


def test_a_wait_for_a_text_ignores_output_before_the_cursor(here):
    id = here.start("echo one; echo two")
    here.end_of(id)
    assert here.output(id, wait_for="one", cursor=4)["found"] is None
    assert here.output(id, wait_for="two", cursor=4)["found"] == "two"


def test_a_wait_for_a_missing_text_ends_with_the_job_or_its_limit(here):
    assert here.output(here.start("echo other"), wait_for="this", wait=60)["found"] is None
    facts = here.output(here.start("echo other; sleep 900"), wait_for="this", wait=0.3)
    assert (facts["found"], facts["status"]) == (None, "running")


def test_a_cancelled_wait_ends_at_once_with_the_current_output(here):
    id = here.start("echo so far; sleep 900")
    here.output(id, wait_for="so far")
    inner = here.context.for_call()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(JobOutput().call, {"id": id, "until_end": True, "wait": 600}, inner)
        inner.cancel()
        result = waiting.result(30)
    assert (
        result.error_type == "cancelled" or result.output["output"] == "so far\n"
    )  # before it began, or while it waits


@pytest.mark.slow
def test_a_wait_is_over_before_the_caller_stops_to_listen(here):
    id = here.start("echo so far; sleep 900")
    here.output(id, wait_for="so far")
    context = here.context.for_call(timeout=1)
    facts = _ok(JobOutput().call({"id": id, "until_end": True, "wait": 600}, context))
    assert (facts["output"], facts["status"]) == ("so far\n", "running")


def test_waiting_readers_delay_no_other_call(here):
    id = here.start("read line; echo $line", stdin=True)
    other = here.start("echo other")
    with ThreadPoolExecutor(16) as pool:
        waiting = [pool.submit(here.output, id, until_end=True, wait=60) for _ in range(16)]
        assert here.end_of(other)["output"] == "other\n"
        assert here.output(id)["status"] == "running"
        here.input(id, "now\n")
        assert [reading.result()["output"] for reading in waiting] == ["now\n"] * 16


# --------------------------------------------------------------------------------------------------------- input


def test_input_is_written_and_ended_on_request(on):
    id = on.start("cat; echo ended", stdin=True)
    assert on.input(id, "grün\n")["written_bytes"] == 6
    assert on.output(id, wait_for="grün")["status"] == "running"
    assert on.input(id, "last", end=True)["written_bytes"] == 4
    assert on.end_of(id)["output"] == "grün\nlastended\n"


def test_without_stdin_it_is_empty_and_takes_no_input(on):
    id = on.start("cat; echo ended; sleep 900")
    assert on.output(id, wait_for="ended")["output"] == "ended\n"
    refused = on.try_input(id, "hello\n")
    assert refused.error_type == "unavailable"
    assert "stdin" in refused.error


def test_empty_input_and_input_after_its_end_are_refused(here):
    id = here.start("cat > /dev/null; sleep 900", stdin=True)
    assert here.try_input(id).error_type == "validation_error"
    assert here.try_input(id, keys=["enter"]).error_type == "unavailable"
    here.input(id, end=True)
    assert here.try_input(id, "more").error_type == "unavailable"
    here.stop(id, grace=0)
    assert "has ended" in here.try_input(id, "more").error


def test_a_job_that_closes_its_input_says_so(here):
    id = here.start("exec <&-; echo closed; sleep 900", stdin=True)
    here.output(id, wait_for="closed")
    while (facts := here.input(id, "hello"))["written_bytes"]:
        pass  # the process that forks supervisors may not have closed it yet
    assert facts["unwritten_bytes"] == 5
    assert facts["status"] == "running"


@pytest.mark.slow
def test_the_texts_of_two_writers_never_mix(here, root):
    os.mkfifo(root / "go")
    id = here.start("read line < go; tr -s a-c", stdin=True)
    here.input(id, "c" * 300_000)  # so that nothing more goes in
    with ThreadPoolExecutor(2) as pool:
        writing = [pool.submit(here.input, id, letter * 1_000_000) for letter in "ab"]
        (root / "go").write_text("\n")
        assert [answer.result()["written_bytes"] for answer in writing] == [1_000_000] * 2
    here.input(id, end=True)
    assert here.end_of(id)["output"] in {"cab", "cba"}


# ------------------------------------------------------------------------------------------------------ terminals


def test_with_tty_it_runs_on_a_terminal_that_takes_lines_and_keys(on):
    id = on.start("test -t 0 && test -t 2 && (: < /dev/tty) && stty size && echo ready; cat; echo ended", tty=True)
    assert on.output(id, wait_for="ready")["output"] == "24 80\r\nready\r\n"
    on.input(id, "typed", keys=["enter"])
    on.output(id, wait_for="typed\r\ntyped")
    on.input(id, "more\n", end=True)
    assert on.end_of(id)["output"].endswith("more\r\nmore\r\nended\r\n")


def test_the_end_of_the_input_comes_wherever_in_a_line_a_terminal_is(on):
    for text in ("whole\n", "begun"):
        id = on.start("stty -echo; echo ready; cat; echo ended", tty=True)
        on.output(id, wait_for="ready")
        on.input(id, text, end=True)
        assert on.end_of(id)["output"] == f"ready\n{text}ended\n".replace("\n", "\r\n")


def test_ctrl_c_interrupts_the_foreground_program_of_a_terminal(on):
    id = on.start("trap 'echo interrupted' INT; echo ready; cat; echo ended", tty=True)
    on.output(id, wait_for="ready")
    on.input(id, "typed\n")
    on.output(id, wait_for="typed\r\ntyped")  # the second by cat, which runs now
    on.input(id, keys=["ctrl-c"])
    assert on.end_of(id)["output"].endswith("interrupted\r\nended\r\n")


def test_an_unknown_key_is_refused(here):
    assert here.try_input(here.start("cat", tty=True), keys=["hyper-x"]).error_type == "validation_error"


def test_a_shell_that_does_not_make_its_input_its_terminal_has_one(root, level):
    with Conversation(root, level, shell="/bin/sh") as conversation:  # noqa: S604  (a setting of the tool)
        id = conversation.start("(: < /dev/tty) && echo there", tty=True)
        assert conversation.end_of(id)["output"] == "there\r\n"


# ---------------------------------------------------------------------------------------------------- list and stop


def test_the_list_has_every_job_with_its_status(here):
    assert here.list() == []
    first = here.start("exit 7")
    here.end_of(first)
    second = here.start(f"sleep 900 # {'long ' * 100}")
    done, running = here.list()
    assert (done["id"], done["command"], done["status"], done["exit_code"]) == (first, "exit 7", "ended", 7)
    assert (running["id"], running["status"], running["output_size"]) == (second, "running", 0)
    assert len(running["command"]) == 200
    assert running["age"] >= 0


def test_a_stopped_job_may_exit_first_and_its_last_output_is_returned(on):
    id = on.start("exec 2> /dev/null; trap 'echo bye; exit 5' TERM; echo ready; while :; do sleep 0.05; done")
    on.output(id, wait_for="ready")
    facts = on.stop(id, grace=30)
    assert (facts["status"], facts["exit_code"], facts["stopped"]) == ("ended", 5, True)
    assert facts["output"] == "ready\nbye\n"
    assert on.output(id)["output"] == "ready\nbye\n"  # it stays readable


ESCAPES = {
    "ignores the request": "trap '' TERM; (trap '' TERM; setsid sleep 900) & echo ready; while :; do wait; done",
    "own session": "setsid sleep 900 & echo ready; wait",
    "stops itself": "echo ready; kill -STOP $$",
    "double fork": "(setsid sh -c 'sleep 900 & wait' &); echo ready; sleep 900",
}


@pytest.mark.parametrize("script", ESCAPES.values(), ids=ESCAPES)
def test_stopping_a_job_ends_all_its_processes(on, level, lifeline, script):
    id = on.start(in_group(f"exec 9> {lifeline.path}; {script}", level))
    on.output(id, wait_for="ready")
    facts = on.stop(id, grace=0.2)
    assert facts["status"] == "ended"
    assert "survivors" not in facts
    assert lifeline.holders_are_gone()


@pytest.mark.slow
def test_a_stop_completes_after_its_caller_cancels(here, lifeline):
    id = here.start(f"exec 9> {lifeline.path}; trap '' TERM; echo ready; while :; do sleep 0.05; done")
    here.output(id, wait_for="ready")
    inner = here.context.for_call()
    with ThreadPoolExecutor(1) as pool:
        stopping = pool.submit(JobStop().call, {"id": id, "grace": 3}, inner)
        while here.output(id)["status"] == "running":
            pass
        inner.cancel()
        facts = _ok(stopping.result())
    assert facts["status"] in {"stopping", "ended"}
    assert here.end_of(id)["signal"] == "SIGKILL"
    assert lifeline.holders_are_gone()


def test_a_job_that_has_ended_is_left_as_it_is(here):
    id = here.start("echo done; exit 4")
    here.end_of(id)
    facts = here.stop(id)
    assert (facts["exit_code"], "stopped" in facts, facts["output"]) == (4, False, "done\n")


# ---------------------------------------------------------------------------------------------------- their number


def test_too_many_running_jobs_are_refused_and_the_oldest_ended_jobs_are_removed(root):
    with Conversation(root, "none") as conversation:
        running = [conversation.start("sleep 900") for _ in range(30)]
        later = conversation.start("read line", stdin=True)
        sooner = conversation.start("exit 0")
        conversation.end_of(sooner)
        conversation.input(later, "\n")
        conversation.end_of(later)
        fourth = conversation.start("sleep 900")
        assert conversation.try_output(sooner).error_type == "not_found"
        fifth = conversation.start("sleep 900")
        assert conversation.try_output(later).error_type == "not_found"
        refused = conversation.try_start("sleep 900")
        assert refused.error_type == "limit_exceeded"
        assert [row["id"] for row in conversation.list()] == [*running, fourth, fifth]
        conversation.stop(fourth, grace=0)
        assert conversation.start(":")


HOST = """
import os, sys
from tools_core import Context
from tools_shell import JobOutput, JobStart
context = Context(workspace=sys.argv[1])
for script in ("setsid sleep 900 & echo ready; wait", "trap '' TERM; echo ready; while :; do sleep 0.05; done"):
    id = JobStart(sandbox=sys.argv[2]).call({"command": f"exec 9> {sys.argv[3]}; {script}"}, context).output["id"]
    assert JobOutput().call({"id": id, "wait_for": "ready"}, context).output["found"] == "ready"
print("ready", flush=True)
"""


def test_all_jobs_end_with_the_process(root, level, lifeline):
    subprocess.run([sys.executable, "-c", in_group(HOST, level), root, level, lifeline.path], check=True, timeout=60)
    assert lifeline.holders_are_gone()


def test_all_jobs_end_when_the_process_is_killed(root, level, lifeline):
    if level == "none":
        pytest.skip("level none promises less")
    script = f"{HOST}\nsys.stdin.read()"
    command = [sys.executable, "-c", script, root, level, lifeline.path]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as host:
        assert host.stdout.readline() == b"ready\n"
        host.send_signal(signal.SIGKILL)
    assert lifeline.holders_are_gone()


# ---------------------------------------------------------------------------------------------------- many at once


@pytest.mark.slow
def test_32_jobs_at_once_do_not_mix(root):
    conversation = Conversation(root, "contained")
    with conversation:
        ids = [conversation.start(f"read line; echo {n} $line; echo {n} >&2", stdin=True) for n in range(32)]
        for id in ids:
            conversation.input(id, f"for {id}\n")
        for n, id in enumerate(ids):
            conversation.end_of(id)
            assert conversation.output(id)["output"] == f"{n} for {id}\n{n}\n"


def test_a_job_that_floods_delays_no_other(here):
    here.start("yes")
    for n in range(5):
        assert here.end_of(here.start(f"echo {n}"))["output"] == f"{n}\n"


@pytest.mark.slow
@pytest.mark.parametrize("level", ["contained"], indirect=True)
def test_descriptors_stay_as_they_are_over_200_jobs(root, level):
    conversation = Conversation(root, level)
    with conversation:
        conversation.end_of(conversation.start("true"))
        before = _descriptors()
        for n in range(200):
            id = conversation.start("echo hi; sleep 900 &" if n % 4 == 0 else "cat", stdin=n % 4 == 1, tty=n % 4 == 2)
            if n % 4 == 1:
                conversation.input(id, "bye", end=True)
            if n % 4 == 2:
                conversation.stop(id, grace=0)
            conversation.end_of(id)
        assert _descriptors() == before


def _descriptors():
    return len(os.listdir("/dev/fd"))


# ------------------------------------------------------------------------------------------------- facts for a host


def test_the_tools_say_which_of_them_are_dangerous():
    assert (JobStart.requires_approval, JobInput.requires_approval) == (True, True)
    assert JobStart().definition["annotations"] == {"destructive": True, "open_world": True}
    assert JobOutput.read_only
    assert (JobStop.requires_approval, JobStop.destructive) == (False, False)


def test_the_names_of_the_job_tools_match_their_entry_points():
    tools = (JobStart, JobOutput, JobInput, JobStop)
    assert [tool.name for tool in tools] == ["job_start", "job_output", "job_input", "job_stop"]


def test_the_error_for_an_unknown_job_lists_the_existing_jobs(here):
    assert "jobs end with the process" in here.try_output("job-9").error
    id = here.start("sleep 900")
    assert here.try_output("job-9").error == f"no job 'job-9'; there is {id}"


def test_a_slow_start_of_a_job_does_not_block_other_runs(root, tmp_path, monkeypatch):
    if not shutil.which("bwrap"):
        pytest.skip("bubblewrap is not installed")
    fifo, program = tmp_path / "fifo", tmp_path / "bin" / "bwrap"
    os.mkfifo(fifo)
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\n[ "$1" = --help ] || read -r line < {fifo}\nexec {shutil.which("bwrap")} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    slow, other = Context(workspace=root, run_id="slow"), Context(workspace=root, run_id="other")
    with ThreadPoolExecutor() as pool:
        start = pool.submit(JobStart(sandbox="sandboxed").call, {"command": "true"}, slow)
        with open(fifo, "w"):  # once the start has begun, and it waits as long as no line is written
            listed = pool.submit(JobOutput().call, {}, other).result(timeout=60)
            assert (listed.output, start.done()) == ([], False)
        feeder = os.open(fifo, os.O_RDWR)
        os.write(feeder, b"\n" * 100)
        start.result()
        os.close(feeder)
    end_run("slow")
