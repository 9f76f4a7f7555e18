"""Standard input, terminals and output, at every level."""

from __future__ import annotations

import os
import select
import socket
import sys
import threading

import pytest

from tools_core import Context
from tools_shell import Bash, Python


def test_stdin_has_the_text_and_ends(bash):
    output = bash.call(command="read first; echo $first; wc -c", stdin="one\n" + "x" * 3_000_000).output
    assert output["output"].split() == ["one", "3000000"]


def test_both_streams_are_merged_in_order(bash):
    lines = "".join(f"out {n}\nerror {n}\n" for n in range(1, 101))
    assert bash.call(command="for n in {1..100}; do echo out $n; echo error $n >&2; done").output["output"] == lines
    code = "import sys\nfor n in range(1, 101):\n    print('out', n)\n    print('error', n, file=sys.stderr)"
    assert bash.call(command=f'{sys.executable} -c "{code}"').output["output"] == lines


def test_a_script_that_ignores_stdin_still_ends(bash):
    assert bash.call(command="exec true", stdin="x" * 3_000_000).output["exit_code"] == 0


def test_writing_to_a_closed_pipe_ends_a_program(bash):
    output = bash.call(command="yes | head -1; echo ${PIPESTATUS[0]}").output
    assert output["output"] == "y\n141\n"


def test_control_sequences_reach_the_caller_as_they_are(bash):
    assert bash.call(command=r"printf '\033[31mred\033]0;title\007\r\b'").output["output"] == (
        "\x1b[31mred\x1b]0;title\x07\r\b"
    )


@pytest.mark.parametrize("session", ["", "s"])
@pytest.mark.parametrize("tool", [Bash, Python])
def test_output_of_a_running_command_is_reported_as_progress(root, tool, session, monkeypatch):
    monkeypatch.setenv("SERVICE_TOKEN", "tok-1234567890abcdef")
    os.mkfifo(root / "go")
    reports = []

    def on_progress(done, total, message):
        reports.append((done, message))
        if "two" in message:
            (root / "go").write_text("")

    script = {"command": "echo one; sleep 0.2; echo two tok-1234567890abcdef; read -r < go; echo three"}
    code = "import time\nprint('one')\ntime.sleep(0.2)\nprint('two tok-1234567890abcdef')\nopen('go').read()"
    arguments = script if tool is Bash else {"code": code + "\nprint('three')"}
    result = tool(root, sandbox="contained").call({**arguments, "session": session}, Context(on_progress=on_progress))
    output = "one\ntwo [redacted SERVICE_TOKEN]\n"
    assert "".join(message for _, message in reports)[: len(output)] == output
    assert reports == sorted(reports) and reports[0][0] > 0
    assert result.output["output"] == output + "three\n"


def test_a_progress_report_has_the_last_2000_characters(root):
    os.mkfifo(root / "go")
    reports = []

    def on_progress(done, total, message):
        reports.append(message)
        if "end" in message:
            (root / "go").write_text("")

    command = {"command": "yes | head -c 1000000; echo end; read -r < go"}
    assert Bash(root, sandbox="contained").call(command, Context(on_progress=on_progress)).ok
    assert max(map(len, reports)) == 2000


def test_a_background_process_does_not_delay_a_call(bash, level):
    if level == "none":
        pytest.skip("without a sandbox, children of setsid survive")
    result = bash.call(command="(trap '' TERM HUP; setsid sleep 900) & echo done")
    assert result.output["output"] == "done\n"
    assert "background" in result.output
    assert result.metadata["duration"] < 60


def test_output_of_a_final_pipeline_is_complete(bash):
    script = "exec > >(sed s/^/out:/) 2> >(sed s/^/err:/ >&2); echo one; echo two >&2"
    while sorted((output := bash.call(command=script).output)["output"].split()) != ["err:two", "out:one"]:
        assert "background" in output  # a busy machine may take longer than usual to start two programs


def test_secrets_are_redacted_from_all_output(root, level, monkeypatch):
    monkeypatch.setenv("SERVICE_TOKEN", "tok-1234567890abcdef")
    (root / "file").write_text("a tok-1234567890abcdef b hunter2-hunter2 c\n")
    tool = Bash(str(root), sandbox=level, secrets=["hunter2-hunter2"])
    output = tool.call(command="cat file; cat file >&2").output["output"]
    assert "1234567890" not in output
    assert "hunter2" not in output
    assert output.count("redacted") == 4


def test_secrets_in_env_are_redacted(root, level):
    tool = Bash(str(root), sandbox=level, env={"SERVICE_TOKEN": "tok-1234567890abcdef", "COLOR": "green-and-blue"})
    output = tool.call(command="echo $SERVICE_TOKEN $COLOR").output
    assert output["output"] == "[redacted SERVICE_TOKEN] green-and-blue\n"


CANARY = "tok-1234567890abcdef"


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("open('file').read()", id="value"),
        pytest.param("print(open('file').read())", id="output"),
        pytest.param("raise ValueError(open('file').read())", id="error"),
        pytest.param("{'key': open('file').read()[::1]}", id="inside a value"),
    ],
)
@pytest.mark.parametrize("session", ["", "one"])
def test_secrets_are_redacted_in_values_output_and_errors(root, monkeypatch, session, code):
    monkeypatch.setenv("SERVICE_TOKEN", CANARY)
    (root / "file").write_text(f"a {CANARY} b")
    result = Python(str(root), sandbox="contained").call(code=code, session=session)
    assert "[redacted SERVICE_TOKEN]" in str(result.to_dict())
    assert CANARY not in str(result.to_dict())


@pytest.mark.slow
def test_a_secret_in_the_output_of_a_timeout_is_redacted(root, monkeypatch, at_its_limit):
    monkeypatch.setenv("SERVICE_TOKEN", CANARY)
    (root / "file").write_text(f"a {CANARY} b")
    tool = Bash(str(root), sandbox="contained")
    result = at_its_limit(tool, lambda result: result.metadata["output"], command="cat file; sleep 900")
    assert "[redacted SERVICE_TOKEN]" in result.error
    assert CANARY not in result.to_json()


GIVE = """
import socket
with socket.socket(socket.AF_UNIX) as there:
    there.connect("there")
    socket.send_fds(there, [b"x"], [1, 2])
    there.recv(1)
"""


@pytest.mark.parametrize("level", ["none", "contained"], indirect=True)
def test_a_call_does_not_wait_for_processes_outside_the_job(bash, root, monkeypatch):
    monkeypatch.chdir(root)
    (root / "give.py").write_text(GIVE)
    descriptors = []
    with socket.socket(socket.AF_UNIX) as here:
        here.bind("there")
        here.listen()

        def take():
            connection, _ = here.accept()
            with connection:
                descriptors.extend(socket.recv_fds(connection, 1, 2)[1])

        taker = threading.Thread(target=take)
        taker.start()
        output = bash.call(command=f"{sys.executable} give.py; echo done").output
        taker.join()
    assert output["output"] == "done\n"
    assert "background" not in output  # the process is not part of the job
    assert "survivors" not in output
    poll = select.poll()
    poll.register(descriptors[0], 0)
    assert poll.poll(0) == [(descriptors[0], select.POLLERR)]  # no process reads it
    for descriptor in descriptors:
        os.close(descriptor)


@pytest.mark.parametrize("level", ["none", "contained", "landlock"], indirect=True)
def test_a_script_leads_its_process_session(bash):
    script = "read -r _ _ _ _ group session _ < /proc/$$/stat; test $group = $$ && test $session = $$ && echo both"
    assert bash.call(command=script).output["output"].strip() == "both"


def test_a_script_has_no_priority_over_other_programs(bash):
    fields = bash.call(command="cat /proc/self/stat").output["output"].rpartition(")")[2].split()
    assert fields[38] == "0"  # its policy: SCHED_OTHER (proc_pid_stat(5), field 41)
