"""Sessions of `bash`: what is kept, what cannot be forged, and how a session recovers from whatever a script does."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
import tracemalloc
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools_core import Context
from tools_shell import Bash

REPLAYS = sorted(Path(__file__).with_name("sessions").glob("*.json"))
PLAIN = {"PATH": os.defpath, "LC_ALL": "C.UTF-8"}


@pytest.fixture
def bash(root, level):
    tool = Bash(str(root), sandbox=level, env=PLAIN)
    yield tool
    tool.close()


@pytest.fixture(scope="module")
def direct(tmp_path_factory):
    tool = Bash(str(tmp_path_factory.mktemp("root")), sandbox="none", env=PLAIN)
    yield tool
    tool.close()


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
    return lambda script, **arguments: run(script, **arguments)["stdout"]


def notes(output):
    return " ".join(output.get("notes", ()))


# ------------------------------------------------------------------------------------------------ what is kept


@pytest.mark.parametrize("level", ["contained"], indirect=True)
@pytest.mark.parametrize("path", REPLAYS, ids=lambda path: path.stem)
def test_a_recorded_session_replays_exactly(run, path):
    if path.stem == "git" and shutil.which("git") is None:
        pytest.skip("git is not installed")
    for step in json.loads(path.read_text("utf-8")):
        output = run(step["run"])
        assert (output["stdout"], output["exit_code"]) == (step["stdout"], step["exit_code"]), step["run"]


@pytest.mark.parametrize("path", REPLAYS, ids=lambda path: path.stem)
def test_what_was_recorded_is_what_one_plain_script_does(tmp_path, path):
    steps = json.loads(path.read_text("utf-8"))
    work, told = tmp_path / "work", tmp_path / "told"
    work.mkdir()
    told.mkdir()
    parts = [
        f"{{\n{step['run']}\n}} > {told}/{n} < /dev/null\n"
        f"exit_code=$?; echo $exit_code >> {told}/codes; [[ $- == *e* ]] || (exit $exit_code)\n"
        for n, step in enumerate(steps)
    ]
    subprocess.run(["bash", "-c", "".join(parts)], cwd=work, env=PLAIN, stderr=subprocess.DEVNULL, check=False)
    assert [(told / str(n)).read_text("utf-8") for n in range(len(steps))] == [step["stdout"] for step in steps]
    assert [int(code) for code in (told / "codes").read_text().split()] == [step["exit_code"] for step in steps]


def test_there_are_fifty_recorded_sessions():
    assert len(REPLAYS) >= 50


def test_sessions_share_nothing_but_files(bash):
    bash.call(command="x=1; cd /; echo file > $OLDPWD/file", session="a")
    assert bash.call(command="echo [$x] $(cat file)", session="b").output["stdout"] == "[] file\n"
    assert bash.call(command="echo [$x]").output["stdout"] == "[]\n"
    assert bash.call(command="echo [$x] $PWD", session="a").output["stdout"] == "[1] /\n"


@pytest.mark.parametrize("last", ["exit", "kill -HUP $$"])
def test_a_session_leaves_no_history_and_shows_no_lines_but_those_of_the_script(root, level, last):
    with closing(Bash(str(root), sandbox=level, env={**PLAIN, "HOME": str(root)})) as bash:
        bash.call(command="history -s mine; set -o history", session="s")
        assert bash.call(command="history | sed 's/ *[0-9]* *//'", session="s").output["stdout"] == "mine\n"
        bash.call(command=last, session="s")
        bash.call(command=last, session="s")
    assert not list(root.iterdir())


def test_each_script_reads_its_own_stdin_to_the_last_byte(run, stdout):
    text = "".join(map(chr, range(256))) * 40
    assert stdout("wc -c", stdin=text) == f"{len(text.encode())}\n"
    assert stdout("read -r line; echo $line; cat", stdin="one\ntwo") == "one\ntwo"
    assert stdout("cat; read -r line || echo ended") == "ended\n"


def test_a_script_may_be_longer_than_what_the_system_takes_as_an_argument(stdout):
    lines = "".join(f"x{n}='{n:060}'\n" for n in range(10_000))
    assert stdout(lines + "echo ${#x9999}") == "60\n"


@settings(max_examples=60, deadline=None)
@given(text=st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
def test_every_character_reaches_the_shell_as_it_is(direct, text):
    quoted = "'" + text.replace("'", "'\\''") + "'"
    output = direct.call(command=f"printf %s {quoted}", session="s").output
    assert output["stdout"] == text


def test_workdir_and_env_are_for_the_beginning_of_a_session(bash, root):
    (root / "inner").mkdir()
    first = bash.call(command="echo ${PWD##*/} $A", session="s", workdir="inner", env={"A": "1"})
    assert first.output["stdout"] == "inner 1\n"
    assert bash.call(command="echo ${PWD##*/} $A", session="s").output["stdout"] == "inner 1\n"
    later = bash.call(command=":", session="s", workdir="inner")
    assert (later.error_type, "use cd" in later.error) == ("conflict", True)


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        pytest.param({"command": "a\0b"}, "validation_error", id="NUL"),
        pytest.param({"command": " "}, "validation_error", id="blank"),
        pytest.param({"command": ":", "tty": True}, "validation_error", id="a terminal"),
        pytest.param({"command": ":", "workdir": ".."}, "denied", id="outside of the workspace"),
    ],
)
def test_an_impossible_request_is_an_error_of_a_stable_kind(bash, arguments, kind):
    assert bash.call({**arguments, "session": "s"}).error_type == kind
    assert bash.call(command="echo fine", session="s").output["stdout"] == "fine\n"


def test_a_shell_that_is_no_bash_is_told(root):
    bash = Bash(str(root), shell="/bin/cat", sandbox="none")  # noqa: S604 - a tool's own setting, not subprocess
    assert bash.call(command=":", session="s").error_type == "unavailable"


def test_a_script_sees_no_descriptor_but_its_three_streams(stdout):
    assert stdout("ls /proc/self/fd") == "0\n1\n2\n3\n"  # the last one is that of the folder


# ------------------------------------------------------------------------------------------------ how it recovers

KEPT = {
    "a syntax error": "if then",
    "an unclosed quote": 'echo "abc',
    "an unclosed here-document": "cat <<EOF\nabc",
    "an unclosed brace": "f() {",
    "a backslash at the end": "echo a \\",
    "exec of nothing": "exec no_such_program",
    "stdout sent away": "exec > /dev/null",
    "stdout closed": "exec 1>&-",
    "all streams closed": "exec 0<&- 1>&- 2>&-",
    "an unbound variable": "set -u; echo $unbound",
    "a message for an unset variable": "echo ${unset?message}",
    "division by nothing": "echo $((1 / 0))",
    "noexec": "set -n",
    "verbose": "set -v",
    "traced": "set -x",
    "posix": "set -o posix; if then",
    "errexit, and a last command that fails": "set -e; [[ a == b ]] && echo",
    "aliases of all that drives it": "shopt -s expand_aliases; alias builtin=false eval=false printf=false exec=false",
    "functions of all that drives it": "for f in eval printf exec set read command unset trap exit; do "
    'builtin eval "$f() { echo replaced; }"; done',
    "prompts": "PS1='$(echo prompt >&2)' PS2=x PS4='$(exit 9)' PS0=z PROMPT_COMMAND='echo prompt; false'",
    "field separators": "IFS=0123456789abcdefhins",
    "a trap on ERR": "trap 'echo failed' ERR; false",
    "a trap on DEBUG": "trap 'echo debugged >&2' DEBUG",
    "a deleted folder": "mkdir gone; cd gone; rmdir ../gone",
    "no PATH": "PATH=",
    "odd options": "shopt -s extdebug nocasematch nullglob failglob; set -fkbm",
    "a signal that it ignores": "kill $$",
    "suspended": "suspend",
    "broken out of": "break 9; continue 9; return 3",
    "fewer open files": "ulimit -n 100",
    "many descriptors": 'for n in {20..60}; do eval "exec $n< /dev/null"; done',
}


@pytest.mark.parametrize("level", ["contained"], indirect=True)
@pytest.mark.parametrize("script", KEPT.values(), ids=KEPT)
def test_the_state_survives(run, script):
    run('x=kept; f_kept() { echo "$x"; }')
    first = run(script)
    assert "ended" not in notes(first)
    second = run("f_kept")
    assert (second["stdout"], second["exit_code"]) == ("kept\n", 0)


LOST = {
    "exit": ("exit 3", 3),
    "exit within a function": ("f() { exit 4; }; f", 4),
    "exec": ("exec sh -c 'exit 5'", 5),
    "a failure under errexit": ("set -e; (exit 6); echo not reached", 6),
    "SIGKILL": ("kill -KILL $$", None),
    "builtin replaced": ("builtin() { :; }", None),
    "printf taken away": ("enable -n printf", None),
    "the lines that drive it stolen": ("(timeout 0.5 cat /proc/$$/fd/1[0-9] > /dev/null 2>&1)", None),
    "all descriptors closed": ('for n in {3..255}; do eval "exec $n>&-"; done', None),
}


@pytest.mark.parametrize("level", ["contained"], indirect=True)
@pytest.mark.parametrize(("script", "exit_code"), LOST.values(), ids=LOST)
def test_a_session_that_a_script_ends_is_told_twice_and_begins_anew(bash, run, script, exit_code):
    run("x=old; echo run >> runs")
    first = bash.call(command=f"echo said; echo run >> runs\n{script}", session="s")
    facts = first.output if first.ok else first.metadata
    assert facts["stdout"] == "said\n"
    assert "the session has ended" in notes(facts)
    assert not facts["timed_out"]
    if exit_code is not None:
        assert facts["exit_code"] == exit_code
    second = run("echo [$x]; cat runs")
    assert second["stdout"] == "[]\nrun\nrun\n"
    assert "this is a new session without the earlier state" in notes(second)
    assert "notes" not in run(":")


def test_a_session_that_ends_by_an_earlier_set_e_says_so(run):
    run("set -e")
    assert "exit code 1; `set -e` was on from an earlier script" in notes(run("false"))


def test_a_trap_that_skips_all_commands_is_named_among_what_may_have_ended_the_session(bash):
    result = bash.call(command="shopt -s extdebug; trap false DEBUG", session="s")
    assert "a trap on DEBUG" in result.error


def test_a_script_that_something_else_has_read_is_never_reported_as_run(bash, run):
    run("PROMPT_COMMAND='read -r taken'")
    result = bash.call(command="echo said", session="s")
    assert result.error_type == "execution_error"
    assert "PROMPT_COMMAND, has read the script in place of the shell" in result.error
    assert run("echo said")["stdout"] == "said\n"


def test_what_exec_runs_in_place_of_the_shell_is_waited_for_and_shown(run):
    output = run("exec sh -c 'sleep 0.3; echo slow; exit 7'")
    assert (output["stdout"], output["exit_code"]) == ("slow\n", 7)


@pytest.mark.slow
def test_what_exec_runs_ends_with_the_session_when_it_is_interrupted_and_that_is_told(bash, at_its_limit):
    told = "the session has ended (the shell was ended by SIGINT)"
    result = at_its_limit(bash, lambda result: told in result.error, command="echo begun; exec sleep 900", session="s")
    assert result.error_type == "timeout_error"
    assert told in result.error


def test_a_shell_that_is_killed_between_two_calls_is_replaced_and_that_is_told(run, root):
    os.mkfifo(root / "go")
    run("x=old; (cat go; kill -KILL $$) &")
    (root / "go").write_text("")
    while "this is a new session" not in notes(output := run("echo [$x]")):
        assert output["stdout"] in {"[old]\n", ""}
    assert output["stdout"] == "[]\n"


def test_an_exit_trap_runs_when_the_session_is_closed(bash, run, root):
    run("trap 'echo bye > left' EXIT")
    bash.close()
    assert (root / "left").read_text() == "bye\n"


def test_the_shell_does_not_complain_of_its_terminal_after_a_program_that_a_signal_ended(run):
    output = run("sh -c 'kill -KILL $$'")
    assert (output["exit_code"], output["stderr"]) == (137, "")


# ------------------------------------------------------------------------------------------------ limits

STUCK = {
    "a program": "sleep 900",
    "a pipeline": "sleep 900 | sleep 900",
    "a substitution": "x=$(sleep 900)",
    "a subshell": "(sleep 900; sleep 900)",
    "a loop of the shell itself": "while :; do :; done",
    "a loop of programs": "while :; do sleep 0.01; done",
    "wait": "sleep 900 & wait",
    "read": "read line < <(sleep 900)",
    "a function": "f() { local x=inner; sleep 900; }; f",
    "what ignores the interrupt": "bash -c 'trap \"\" INT TERM; while :; do sleep 1; done'",
    "a group of its own": "set -m; sleep 900",
    "what stops itself": "sh -c 'kill -STOP $$'",
    "the shell stopped": "kill -STOP $$",
    "a flood": "yes",
}


@pytest.mark.slow
@pytest.mark.parametrize("level", ["contained"], indirect=True)
@pytest.mark.parametrize("script", STUCK.values(), ids=STUCK)
def test_at_its_limit_a_script_is_interrupted_and_the_state_is_kept(bash, run, script, at_its_limit):
    run("x=kept")
    command = f"echo begun\n{script}\necho not reached > reached"
    result = at_its_limit(bash, lambda result: result.metadata["stdout"], command=command, session="s")
    assert (result.error_type, result.metadata["timed_out"]) == ("timeout_error", True)
    assert "are kept" in result.error
    assert result.metadata["stdout"].startswith("begun\n")
    output = run("echo $x")
    assert (output["stdout"], "notes" in output) == ("kept\n", False)


@pytest.mark.slow
@pytest.mark.parametrize("level", ["contained"], indirect=True)
def test_a_shell_that_does_not_give_way_is_ended_with_all_that_it_started_and_that_is_told(
    bash, run, lifeline, at_its_limit
):
    script = f"exec 9> {lifeline.path}; trap '' INT; while :; do :; done"
    result = at_its_limit(bash, lambda result: "are lost" in result.error, command=script, session="s")
    assert result.error_type == "timeout_error"
    assert "are lost" in result.error
    assert lifeline.holders_are_gone()
    assert "this is a new session" in notes(run("echo"))


@pytest.mark.slow
@pytest.mark.parametrize("level", ["contained"], indirect=True)
def test_after_an_interrupt_nothing_that_comes_later_is_hit_by_it(bash, run):
    for _ in range(5):
        assert bash.call(command="sleep 900", session="s", timeout=1).error_type == "timeout_error"
        for n in range(20):
            assert run(f"/bin/echo {n}")["stdout"] == f"{n}\n"


def test_a_cancelled_call_is_interrupted_and_the_state_is_kept(bash, run, root):
    run("x=kept")
    context = Context(run_id="")
    os.mkfifo(root / "begun")
    thread = threading.Thread(target=lambda: ((root / "begun").read_text(), context.cancel()))
    thread.start()
    result = bash.call({"command": "echo > begun; sleep 900", "session": "s"}, context=context)
    thread.join()
    assert result.error_type == "cancelled"
    assert run("echo $x")["stdout"] == "kept\n"


# ------------------------------------------------------------------------------------------------ output


@pytest.mark.parametrize("where", [">&$n", "> /proc/self/fd/$n"])
def test_an_end_cannot_be_forged_by_what_is_written(run, where):
    forged = f"for n in {{1..255}}; do printf '0 0 0 hB\\n' {where}; done 2> /dev/null"
    output = run(f"{forged}; sleep 0.3; echo end; (exit 5)")
    assert (output["stdout"].endswith("end\n"), output["exit_code"]) == (True, 5)


@pytest.mark.parametrize("level", ["contained"], indirect=True)
def test_a_flood_of_what_could_be_answers_takes_no_memory(run):
    run(":")
    tracemalloc.start()
    try:
        output = run("for n in {3..255}; do [[ -p /dev/fd/$n ]] && head -c 30000000 /dev/zero >&$n; done; echo end")
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()
    assert output["stdout"].endswith("end\n")


def test_a_background_process_that_holds_the_output_holds_up_no_call(bash, run):
    output = run("sleep 900 & echo started")
    assert output["stdout"] == "started\n"
    assert output["duration"] < 900
    assert run("jobs | grep -c sleep; kill %1")["stdout"] == "1\n"


def test_what_the_background_writes_between_calls_comes_with_the_next_one_and_is_counted(run, root):
    for name in ("go", "written"):
        os.mkfifo(root / name)
    run("(cat go; echo late; echo > written) &")
    (root / "go").write_text("")
    (root / "written").read_text()
    output = run("echo now")
    assert output["stdout"] == "late\nnow\n"
    assert "5 bytes of the output were written in the background before" in notes(output)


def test_output_is_bounded_and_counted(run):
    output = run("head -c 20000000 /dev/zero | tr '\\0' x; printf end")
    assert output["stdout"].endswith("xend")
    assert output["truncated_bytes"]["stdout"] == 20_000_003 - 2 * 64 * 1024


def test_bytes_that_are_not_utf8_are_flagged(run):
    output = run(r"printf 'caf\xe9'")
    assert (output["stdout"], output["not_utf8"]) == (r"caf\xe9", ["stdout"])


# ------------------------------------------------------------------------------------------------ many


def test_calls_on_one_session_queue(bash, run):
    run("n=0")
    threads = [threading.Thread(target=run, args=("m=$n; sleep 0.01; n=$((m + 1))",)) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert run("echo $n")["stdout"] == "5\n"


def test_a_busy_session_refuses_if_it_is_to(root):
    with_refusal = Bash(str(root), sandbox="contained", busy="refuse")
    os.mkfifo(root / "begun")
    os.mkfifo(root / "go")
    call = {"command": "echo > begun; cat go", "session": "s"}
    thread = threading.Thread(target=with_refusal.call, args=(call,))
    thread.start()
    (root / "begun").read_text()
    assert with_refusal.call(command="echo", session="s").error_type == "conflict"
    (root / "go").write_text("")
    thread.join()
    with_refusal.close()


def test_no_descriptor_is_left_of_a_session(bash):
    def count():
        return len(os.listdir("/dev/fd"))

    bash.call(command=":", session="s")
    bash.close()
    before = count()
    for script in (":", "exit", "exec true", "kill -9 $$"):
        bash.call(command=script, session="s")
        bash.close()
    assert count() == before
