"""Sessions of `bash`: what one script leaves is there for the next, also after a restart of the host."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools_core import Context
from tools_shell import Bash, Sandbox

REPLAYS = sorted(Path(__file__).with_name("sessions").glob("*.json"))
PLAIN = {"PATH": os.defpath, "LC_ALL": "C.UTF-8"}


@pytest.fixture
def bash(root, level):
    return Bash(str(root), sandbox=level, env=PLAIN)


@pytest.fixture
def run(bash):
    """Run a script in the one session of the test; the output, which must be no error."""

    def run(script, **arguments):
        result = bash.call(command=script, session="s", **arguments)
        assert result.ok, result.error
        return result.output

    return run


@pytest.fixture
def stdout(run):
    return lambda script, **arguments: run(script, **arguments)["output"]


# ------------------------------------------------------------------------------------------------ the state


@pytest.mark.parametrize("path", REPLAYS, ids=lambda path: path.stem)
def test_a_recorded_session_replays_exactly(root, level, path):
    bash = Bash(str(root), sandbox=level, env=PLAIN)
    if path.stem == "git" and shutil.which("git") is None:
        pytest.skip("git is not installed")
    for step in json.loads(path.read_text("utf-8")):
        output = bash.call(command=step["run"], session="s").output
        assert (output["output"], output["exit_code"]) == (step["output"], step["exit_code"]), step["run"]


@pytest.mark.slow
@pytest.mark.parametrize("path", REPLAYS, ids=lambda path: path.stem)
def test_a_recording_has_the_output_of_a_plain_script(tmp_path, path):
    steps = json.loads(path.read_text("utf-8"))
    work, reports = tmp_path / "work", tmp_path / "told"
    work.mkdir()
    reports.mkdir()
    parts = [
        f"{{\n{step['run']}\n}} > {reports}/{n} 2>&1 < /dev/null\n"
        f"exit_code=$?; echo $exit_code >> {reports}/codes; [[ $- == *e* ]] || (exit $exit_code)\n"
        for n, step in enumerate(steps)
    ]
    subprocess.run(["bash", "-c", "".join(parts)], cwd=work, env=PLAIN, check=False)
    outputs = [(reports / str(n)).read_text("utf-8") for n in range(len(steps))]
    assert list(map(_without_lines, outputs)) == [_without_lines(step["output"]) for step in steps]
    assert [int(code) for code in (reports / "codes").read_text().split()] == [step["exit_code"] for step in steps]


def _without_lines(output):
    """Remove the numbers of lines in messages: a plain script has all steps below each other."""
    return re.sub(r"\bline \d+\b", "line", output)


def test_sessions_share_only_files(bash):
    bash.call(command="x=1; cd /; echo file > $OLDPWD/file", session="a")
    assert bash.call(command="echo [$x] $(cat file)", session="b").output["output"] == "[] file\n"
    assert bash.call(command="echo [$x]").output["output"] == "[]\n"
    assert bash.call(command="echo [$x] $PWD", session="a").output["output"] == "[1] /\n"


HOST = """
import sys
from tools_core import Context
from tools_shell import Bash, Sandbox, end_run
result = Bash(sys.argv[1], sandbox=sys.argv[2]).call({"command": sys.argv[3], "session": "s"}, Context(run_id="mine"))
print(result.output["output"], end="")
"""


def test_a_session_survives_a_restart_of_the_host(root, level):
    def host(script):
        command = [sys.executable, "-c", HOST, str(root), level, script]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    host("mkdir inner; cd inner; x=(1 2); f() { echo ${x[1]} ${PWD##*/}; }")
    assert host("f") == "2 inner\n"
    other = Bash(str(root), sandbox=level)
    assert other.call({"command": "echo [$x]", "session": "s"}, Context(run_id="other")).output["output"] == "[]\n"


def test_sessions_of_two_sandbox_levels_are_separate(root):
    def call(level, script):
        return Bash(str(root), sandbox=level).call(command=script, session="s").output["output"]

    call("contained", "ls() { echo replaced; }")
    assert call("contained", "ls") == "replaced\n"
    assert call("none", "ls") == ""


def test_commands_cannot_see_snapshots(root, level, workspaces):
    if level in {"none", "contained"}:
        pytest.skip("this level hides no files")
    Bash(str(root), sandbox=level).call({"command": "secret=1", "session": "s"}, Context(run_id="other"))
    bash = Bash(str(root), sandbox=Sandbox(level=level, readable=(workspaces / "state",)))
    assert bash.call(command="mine=1", session="s").ok
    output = bash.call(command=f"grep -r mine= {workspaces}/state").output["output"]
    assert output == ""


def test_variables_of_the_developer_are_not_written_to_disk(root, workspaces):
    bash = Bash(str(root), sandbox="contained", env={"SERVICE_TOKEN": "tok-1234567890abcdef"})
    assert bash.call(command="own=1; echo $SERVICE_TOKEN", session="s").output["output"] == "[redacted SERVICE_TOKEN]\n"
    saved = [path.read_text() for path in workspaces.glob("state/**/*.json")]
    assert any("own" in text for text in saved)
    assert not any("1234567890" in text for text in saved)
    bash.call(command="unset SERVICE_TOKEN", session="s")
    assert bash.call(command="echo [$SERVICE_TOKEN]", session="s").output["output"] == "[]\n"


def test_scripts_of_a_session_read_their_stdin_completely(stdout):
    text = "".join(map(chr, range(256))) * 40
    assert stdout("wc -c", stdin=text) == f"{len(text.encode())}\n"
    assert stdout("read -r line; echo $line; cat", stdin="one\ntwo") == "one\ntwo"
    assert stdout("cat; read -r line || echo ended") == "ended\n"


def test_scripts_of_a_session_may_exceed_the_argument_limit(stdout):
    lines = "".join(f"x{n}='{n:060}'\n" for n in range(10_000))
    assert stdout(lines + "echo ${#x9999}") == "60\n"
    assert stdout("echo ${#x9998}") == "60\n"


@settings(max_examples=30, deadline=None)
@given(text=st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
def test_variables_preserve_every_character(tmp_path_factory, text):
    bash = Bash(str(tmp_path_factory.getbasetemp()), sandbox="none", env=PLAIN)
    quoted = "'" + text.replace("'", "'\\''") + "'"
    assert bash.call(command=f'text={quoted}; printf %s "$text"', session="s").output["output"] == text
    assert bash.call(command='printf %s "$text"', session="s").output["output"] == text


def test_a_workdir_applies_to_later_calls_of_the_session(bash, root):
    (root / "inner").mkdir()
    bash.call(command="cd /", session="s")
    assert bash.call(command="echo ${PWD##*/}", session="s", workdir="inner").output["output"] == "inner\n"
    assert bash.call(command="echo ${PWD##*/}", session="s").output["output"] == "inner\n"


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        pytest.param({"command": "a\0b"}, "validation_error", id="NUL"),
        pytest.param({"command": " "}, "validation_error", id="blank"),
        pytest.param({"command": ":", "workdir": ".."}, "denied", id="outside of the workspace"),
    ],
)
def test_an_invalid_request_has_a_stable_error_type(bash, arguments, kind):
    assert bash.call({**arguments, "session": "s"}).error_type == kind
    assert bash.call(command="echo fine", session="s").output["output"] == "fine\n"


def test_a_script_has_only_three_descriptors(stdout):
    assert stdout("ls /proc/self/fd") == "0\n1\n2\n3\n"  # the last one is that of the folder


def test_messages_count_the_lines_of_the_script(run):
    run("set -u; f() { :; }")
    assert "line 2: missing_program: command not found" in run("\nmissing_program")["output"]


# --------------------------------------------------------------------------------------------- whatever a script does

SURVIVED = {
    "a syntax error": "if then",
    "an unclosed quote": 'echo "abc',
    "an unclosed brace": "f() {",
    "exec of nothing": "exec no_such_program",
    "stdout sent away": "exec > /dev/null",
    "all streams closed": "exec 0<&- 1>&- 2>&-",
    "an unbound variable": "set -u; echo $unbound",
    "division by nothing": "echo $((1 / 0))",
    "noexec": "set -n",
    "traced": "set -x",
    "posix": "set -o posix; if then",
    "errexit, and a last command that fails": "set -e; [[ a == b ]] && echo",
    "aliases of all that drives it": "shopt -s expand_aliases; alias builtin=false eval=false printf=false exec=false",
    "functions of all that drives it": "for f in eval printf exec set read command unset trap exit; do "
    'builtin eval "$f() { echo replaced; }"; done',
    "builtin replaced": "builtin() { :; }",
    "prompts": "PS1='$(echo prompt >&2)' PS2=x PS4='$(exit 9)' PS0=z PROMPT_COMMAND='echo prompt; false'",
    "field separators": "IFS=0123456789abcdefhins",
    "a trap on ERR": "trap 'echo failed' ERR; false",
    "a trap on DEBUG": "trap 'echo debugged >&2' DEBUG",
    "a trap that skips all commands": "shopt -s extdebug; trap false DEBUG",
    "a trap on EXIT": "trap 'echo bye' EXIT; exit 3",
    "a deleted folder": "mkdir gone; cd gone; rmdir ../gone",
    "no PATH": "PATH=",
    "odd options": "shopt -s extdebug nocasematch nullglob failglob; set -fkbm",
    "exec": "exec sh -c 'exit 5'",
    "SIGTERM": "kill $$",
    "SIGKILL": "kill -KILL $$",
    "many descriptors": 'for n in {20..60}; do eval "exec $n< /dev/null"; done',
    "all descriptors closed": 'for n in {3..255}; do eval "exec $n>&-"; done',
}


@pytest.mark.parametrize("level", ["contained"], indirect=True)
@pytest.mark.parametrize("script", SURVIVED.values(), ids=SURVIVED)
def test_the_state_survives_any_script(run, script):
    run('x=kept; f_kept() { echo "$x"; }')
    run(script)
    second = run("f_kept")
    assert "kept" in second["output"].splitlines()
    assert second["exit_code"] == 0


@pytest.mark.parametrize(
    ("script", "exit_code"),
    [("exit 3", 3), ("f() { exit 4; }; f", 4), ("set -e; (exit 6); echo not reached", 6), (":", 0)],
)
def test_a_script_that_exits_keeps_its_state(run, script, exit_code):
    assert run(f"x=later; {script}")["exit_code"] == exit_code
    assert run("echo $x")["output"] == "later\n"


def test_a_state_that_was_not_saved_is_reported(run, bash):
    run("x=1")
    result = bash.call(command="x=2; kill -KILL $$", session="s")
    assert "the session is as before" in result.content
    assert run("echo $x")["output"] == "1\n"


def test_processes_in_the_background_end_with_the_script(bash, run, lifeline, level):
    if level == "none":
        pytest.skip("without a sandbox, children of setsid survive")
    output = run(f"exec 9> {lifeline.path}; setsid sleep 900 & echo started")
    assert output["output"] == "started\n"
    assert lifeline.holders_are_gone()


@pytest.mark.slow
@pytest.mark.parametrize("script", ["sleep 900", "while :; do :; done", "yes", "trap '' TERM; sleep 900"])
def test_a_session_survives_a_timeout(bash, run, script, at_its_limit):
    run("x=kept")
    command = f"echo begun\n{script}\necho not reached > reached"
    result = at_its_limit(bash, lambda result: result.metadata["output"], command=command, session="s")
    assert result.error_type == "timeout_error"
    assert result.error.startswith("begun\n")
    assert run("echo $x; ls")["output"] == "kept\n"


def test_a_cancelled_call_leaves_the_session_usable(bash, root):
    context = Context(run_id="r")
    bash.call({"command": "x=kept", "session": "s"}, context)
    os.mkfifo(root / "begun")
    thread = threading.Thread(target=lambda: ((root / "begun").read_text(), context.cancel()))
    thread.start()
    result = bash.call({"command": "echo > begun; sleep 900", "session": "s"}, context=context)
    thread.join()
    assert result.error_type == "cancelled"
    output = bash.call({"command": "echo $x", "session": "s"}, Context(run_id="r")).output["output"]
    assert output == "kept\n"


def test_calls_on_one_session_queue(run):
    run("n=0")
    threads = [threading.Thread(target=run, args=("m=$n; sleep 0.01; n=$((m + 1))",)) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert run("echo $n")["output"] == "5\n"


def test_a_call_in_a_busy_session_is_refused_at_its_time_limit(bash, root):
    os.mkfifo(root / "begun")
    os.mkfifo(root / "go")
    thread = threading.Thread(
        target=bash.call, args=({"command": "echo > begun; cat go", "session": "s"}, Context(run_id="r"))
    )
    thread.start()
    (root / "begun").read_text()
    assert bash.call({"command": "echo", "session": "s"}, Context(run_id="r", timeout=0.2)).error_type == "conflict"
    (root / "go").write_text("")
    thread.join()


def test_a_call_keeps_its_output_if_its_session_ends_meanwhile(bash, root, end_shared_run):
    os.mkfifo(root / "begun")
    thread = threading.Thread(target=lambda: ((root / "begun").read_text(), end_shared_run(), (root / "go").touch()))
    thread.start()
    result = bash.call(command="echo > begun; until [[ -e go ]]; do :; done; echo done; x=1", session="s")
    thread.join()
    assert result.output["output"] == "done\n"


def test_the_least_recently_used_session_is_removed(root):
    bash = Bash(str(root), sandbox="none")
    for n in range(66):
        bash.call(command=f"x={n}", session=f"s{n}")
    outputs = [bash.call(command="echo $x", session=f"s{n}").output["output"] for n in (65, 3, 0)]
    assert outputs == ["65\n", "3\n", "\n"]


def test_an_oversized_state_is_not_saved(run):
    run("x=kept")
    output = run("x=$(head -c 17000000 /dev/zero | tr '\\0' x); echo ${#x}")
    assert (output["output"], len(output["notes"])) == ("17000000\n", 1)
    assert run("echo $x")["output"] == "kept\n"
