"""A tool called from the shell."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest


@pytest.fixture(autouse=True)
def weather(site):
    site.install_weather()


def test_the_result_goes_to_standard_output_and_nothing_else_does(ask_tools):
    ended = ask_tools("call", "rain", "city=Oslo")
    assert (ended.code, ended.out, ended.err) == (0, "rain in Oslo\n", "")
    assert ask_tools("call", "forecast", "city=Oslo").out == '{"city":"Oslo","days":3,"units":"C"}\n'


def test_a_call_loads_nothing_that_only_other_commands_need(environment):
    code = "import sys; from tools_core._cli import main; main(['call', 'climb', 'steps=1']); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.splitlines()[-1].split())
    assert "tools_core._cli._call" in loaded
    assert not loaded & {
        "tools_core._registry._lock_file",
        "tools_core._registry._replace_file",
        "tools_core.formats",
        "hashlib",
        "unicodedata",
    }
    ours = {name.removeprefix("tools_core._cli.") for name in loaded if name.startswith("tools_core._cli.")}
    assert not ours & {"_check", "_details", "_dry_run", "_facts", "_findings", "_progress", "_save", "_siblings"}


def test_what_a_tool_prints_itself_goes_to_standard_error(ask_tools):
    ended = ask_tools("call", "chatty", "--json")
    assert (ended.json["output"], ended.err) == ("the result", "a debugging print\n")


def test_arguments_are_typed_by_the_schema(ask_tools):
    ended = ask_tools("call", "forecast", "city=5", "days=5", "units=F", "--json")
    assert ended.json == {
        "ok": True,
        "output": {"city": "5", "days": 5, "units": "F"},
        "error": None,
        "metadata": {},
    }


def test_arguments_may_be_json_from_a_file_standard_input_or_one_word(ask_tools, tmp_path):
    text = '{"city": "Oslo", "days": 1}'
    (tmp_path / "here" / "arguments.json").write_text(text)
    expected = '{"city":"Oslo","days":1,"units":"C"}\n'
    assert ask_tools("call", "forecast", "--args", "arguments.json").out == expected
    assert ask_tools("call", "forecast", "--args", "-", stdin=text).out == expected
    assert ask_tools("call", "forecast", text).out == expected


def test_arguments_on_the_line_come_before_those_of_the_file(ask_tools):
    ended = ask_tools("call", "forecast", "--args", "-", "days=7", stdin='{"city": "Oslo", "days": 1}')
    assert ended.out == '{"city":"Oslo","days":7,"units":"C"}\n'


def test_options_may_stand_between_arguments(ask_tools):
    ended = ask_tools("call", "--json", "forecast", "city=Oslo", "--strict", "days=2")
    assert ended.json["output"] == {"city": "Oslo", "days": 2, "units": "C"}


def test_wrong_arguments_are_wrong_usage_and_all_are_named(ask_tools):
    ended = ask_tools("call", "forecast", "cit=Oslo", "days=many", "units=K")
    assert (ended.code, ended.out) == (2, "")
    for words in ("city is required", 'days must be an integer, got "many"', "units must be one of", "cit"):
        assert words in ended.err
    assert ended.err.endswith("\n  ask-tools show forecast\n")


def test_strict_repairs_nothing_and_without_it_the_repair_is_reported(ask_tools):
    words = ("call", "forecast", '{"city": "Oslo", "days": "2"}', "--json")
    assert ask_tools(*words).json["metadata"] == {"repaired": ['days: "2" -> 2']}
    refused = ask_tools(*words, "--strict")
    assert (refused.code, refused.json["error_type"]) == (2, "validation_error")


@pytest.mark.parametrize(
    ("words", "stdin", "message"),
    [
        (["Oslo"], "", 'arguments are key=value or key:=json, got "Oslo"\n  did you mean city=Oslo'),
        (["city=Oslo", "city=Rome"], "", "city is given 2 times, and takes one value"),
        (["days:=two"], "", 'days:= takes JSON, got "two" (invalid json)\n  for plain text write days=TEXT'),
        (["--args", "-", "days=1"], "[1]", "--args: the arguments must be an object, got an array of 1"),
        (["--args", "absent.json"], "", "--args: cannot read absent.json: No such file or directory"),
        (["--workspace", "absent"], "", "--workspace: absent is no folder"),
    ],
    ids=["no key", "twice", "no JSON", "no object", "no file", "no folder"],
)
def test_a_wrong_command_line_says_what_would_be_right(ask_tools, words, stdin, message):
    ended = ask_tools("call", "forecast", *words, stdin=stdin)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"error: {message}")


def test_malformed_json_is_wrong_usage_and_the_tool_is_not_run(ask_tools):
    ended = ask_tools("call", "goodbye", "--args", "-", stdin='{"a": 1')
    assert ended.code == 2
    assert "invalid JSON" in ended.err


def test_an_unknown_tool_is_wrong_usage_and_the_nearest_is_named(ask_tools):
    ended = ask_tools("call", "rian", "city=Oslo")
    assert (ended.code, ended.out) == (2, "")
    assert "did you mean rain?" in ended.err
    assert ask_tools("call", "rian", "--json").json["error_type"] == "unknown_tool"


def test_a_failing_tool_ends_with_one_and_its_message(ask_tools):
    ended = ask_tools("call", "missing")
    assert (ended.code, ended.out, ended.err) == (1, "", "error: no such city; try Oslo\n")
    as_json = ask_tools("call", "missing", "--json")
    assert (as_json.code, as_json.json["error_type"]) == (1, "not_found")


def test_a_tool_that_exits_is_a_failed_tool(ask_tools):
    ended = ask_tools("call", "leave")
    assert (ended.code, ended.err) == (1, "error: leave ended the program (exit code 7)\n")


def test_a_halt_is_a_success_that_says_so(ask_tools):
    ended = ask_tools("call", "goodbye")
    assert (ended.code, ended.out) == (0, "good night\n")
    assert ended.err.startswith("halted: ")
    assert ask_tools("call", "goodbye", "--json").json["metadata"] == {"halted": True}


def test_content_blocks_are_described_and_json_carries_them_whole(ask_tools):
    assert ask_tools("call", "radar").out == "now:\n[image image/png, 13 bytes]\n"
    assert ask_tools("call", "radar", "--json").json["output"][1]["data"] == "iVBORw0KGgobWzMxbQ=="


def test_the_workspace_reaches_the_tool(ask_tools, tmp_path):
    assert ask_tools("call", "climb", "steps=0", "--workspace", str(tmp_path)).out == f"{tmp_path}\n"


def test_a_time_limit_ends_the_wait_and_the_process(ask_tools, site):
    source = """
        import threading
        from tools_core import tool


        @tool
        def wait() -> None:
            threading.Event().wait()
    """
    site.install("tools-wait", {"wait": "wait"}, source)
    ended = ask_tools("call", "wait", "--timeout", "0.05", "--json")
    assert (ended.code, ended.json["error_type"]) == (1, "timeout_error")
    assert ended.json["metadata"]["timeout"] == 0.05
    assert "limit set by --timeout" in ended.json["error"]


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf", "soon"])
def test_a_time_limit_is_seconds_above_zero(ask_tools, seconds):
    ended = ask_tools("call", "rain", "city=Oslo", f"--timeout={seconds}")
    assert ended.code == 2
    assert f"takes seconds above 0, such as 2.5; got {seconds!r}" in ended.err


def test_a_tool_that_requires_approval_is_refused_where_nobody_can_be_asked(ask_tools):
    ended = ask_tools("call", "flood", "city=Oslo", stdin="y\n")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == "error: flood requires approval and was not called: add --yes to approve it\n"
    assert ask_tools("call", "flood", "city=Oslo", "--json").json["error_type"] == "approval_required"


DECIDER = """
    from tools_core import Result

    def make_call(tool, call, context, approve):
        if call.arguments["city"] == "Bergen":
            return Result.error("Bergen stays dry", type="denied")
        if tool.name == "rain" and approve is None:
            return Result.error("ask first", type="approval_required")
        return tool.call(call, context).with_metadata({"approve": approve})
"""


def test_a_package_that_decides_about_calls_makes_every_call(ask_tools, site):
    site.install("tools-decide", {"any": "make_call"}, DECIDER, group="ask_tools.call")
    denied = ask_tools("call", "rain", "city=Bergen", "--yes")
    assert (denied.code, denied.err) == (1, "error: Bergen stays dry\n")
    asked = ask_tools("call", "rain", "city=Oslo")
    assert (asked.code, "--yes" in asked.err) == (1, True)
    assert ask_tools("call", "rain", "city=Oslo", "--yes", "--json").json["metadata"] == {"approve": "all"}
    assert ask_tools("call", "flood", "city=Oslo").out == "Oslo is under water\n"


@pytest.mark.parametrize("source", ["import not_there", "import sys; sys.exit(3)"])
def test_without_the_package_that_decides_about_calls_no_tool_is_called(ask_tools, site, source):
    site.install("tools-decide", {"any": "make_call"}, source, group="ask_tools.call")
    ended = ask_tools("call", "rain", "city=Oslo")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith(
        "error: tools-decide 1.0 (tools_decide:make_call), which decides about calls, does not load"
    )


def test_only_one_package_decides_about_calls(ask_tools, site):
    for name in ("tools-decide", "tools-judge"):
        site.install(name, {"any": "make_call"}, DECIDER, group="ask_tools.call")
    ended = ask_tools("call", "rain", "city=Oslo")
    assert (ended.code, ended.out) == (1, "")
    assert "pip uninstall tools-decide" in ended.err and "pip uninstall tools-judge" in ended.err


WRITING = [
    ["list"],
    ["list", "--details"],
    ["show", "rain"],
    ["call", "rain", "city=Oslo"],
    ["call", "rain", "city=Oslo", "--raw"],
    ["call", "rain", "city=Oslo", "--dry-run"],
    ["schema", "--all"],
    ["check"],
    ["doctor"],
]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no such device")
@pytest.mark.parametrize("words", WRITING, ids=" ".join)
def test_output_that_cannot_be_written_is_an_error_in_one_line(environment, words):
    command = [sys.executable, "-m", "tools_core", *words]
    with open("/dev/full", "w") as full:
        ended = subprocess.run(command, env=environment, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stderr.endswith("error: the output cannot be written: No space left on device\n")


@pytest.mark.parametrize("words", WRITING, ids=" ".join)
def test_a_reader_that_has_seen_enough_is_no_error(environment, words):
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "tools_core", *words]
    done = subprocess.run(command, env=environment, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert done.returncode == 141
    assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr


def test_arguments_in_a_file_may_begin_with_a_byte_order_mark(ask_tools, tmp_path):
    (tmp_path / "arguments.json").write_text('{"city": "Oslo"}', encoding="utf-8-sig")
    assert ask_tools("call", "rain", "--args", str(tmp_path / "arguments.json")).code == 0


def test_arguments_that_do_not_fit_are_told_before_anybody_is_asked(ask_tools):
    ended = ask_tools("call", "flood", "no_such=1")
    assert ended.code == 2
    assert "no_such" in ended.err
    assert "approval" not in ended.err


def test_yes_approves_beforehand(ask_tools):
    assert ask_tools("call", "flood", "city=Oslo", "--yes").out == "Oslo is under water\n"


@pytest.mark.parametrize(
    ("typed", "code", "last"),
    [
        ("y\n", 0, "Oslo is under water"),
        ("n\n", 1, "error: flood was not approved"),
        ("\n", 1, "error: flood was not approved"),
    ],
    ids=["yes", "no", "nothing"],
)
def test_a_person_is_asked_and_sees_the_arguments(on_terminal, typed, code, last):
    ended, shown = on_terminal("call", "flood", "city=Oslo", typed=typed)
    assert (ended, shown.splitlines()[-1].removeprefix("run it? [y/N] ")) == (code, last)
    assert 'flood requires approval: {"city":"Oslo"}' in shown


def test_what_a_tool_reports_of_its_progress_cannot_act_on_a_terminal(on_terminal):
    _, shown = on_terminal("call", "climb", "steps=2")
    assert r"2/2 a step \x1b]0;owned\x07" in shown
    assert "\x1b" not in shown


@pytest.fixture
def interruptible(environment):
    """The command as a process that can be interrupted."""
    if sys.platform == "win32":
        pytest.skip("only on systems with POSIX signals")
    # A process whose parent ignores the signal, as in the background of a shell, would ignore it, too.
    code = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler);"
    code += "from tools_core._cli import main; sys.exit(main())"

    def start(*words):
        command = [sys._base_executable, "-c", code, *words]
        return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)

    return start


def test_an_interrupt_ends_with_130_and_no_traceback(interruptible, site):
    source = """
        import sys, threading
        from tools_core import tool


        @tool
        def wait() -> None:
            print("waiting", file=sys.stderr, flush=True)
            threading.Event().wait()
    """
    site.install("tools-wait", {"wait": "wait"}, source)
    with interruptible("call", "wait") as process:
        assert process.stderr.readline() == "waiting\n"
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == ""
    assert process.returncode == 130


@pytest.mark.parametrize("words", [["doctor"], ["check"], ["lock"], ["list", "--details"], ["schema", "--all"]])
def test_an_interrupt_while_packages_are_loaded_ends_with_130_and_leaves_nothing(interruptible, site, words, tmp_path):
    # Not print(): a thread that holds the lock of the stream when the interpreter ends makes it abort.
    source = "import os, threading; os.write(2, b'loading\\n'); threading.Event().wait()"
    site.install("tools-hang", {"hang": "get"}, source)
    file = ["--file", str(tmp_path / "a.lock")] if words == ["lock"] else []
    with interruptible(*words, *file) as process:
        assert process.stderr.readline() == "loading\n"
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == ""
    assert process.returncode == 130
    assert not list(tmp_path.glob("*.lock*"))


def test_an_interrupt_during_progress_leaves_a_clean_line(environment, site, tmp_path):
    pty = pytest.importorskip("pty", reason="only on systems with pseudo-terminals", exc_type=ImportError)
    source = """
        import threading
        from tools_core import Context, tool


        @tool
        def wait(context: Context) -> None:
            context.progress(1, 2, "waiting")
            while not context.cancelled:
                threading.Event().wait(0.01)
    """
    site.install("tools-wait", {"wait": "wait"}, source)
    child, terminal = pty.fork()
    if child == 0:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # who runs the tests in the background of a shell ignores it
        os.execvpe(sys._base_executable, [sys._base_executable, "-m", "tools_core", "call", "wait"], environment)  # noqa: S606 - the child becomes it
    shown = b""
    while b"waiting" not in shown:
        shown += os.read(terminal, 65536)
    os.write(terminal, b"\x03")
    try:
        while block := os.read(terminal, 65536):
            shown += block
    except OSError:  # Linux ends so what macOS ends by an empty read
        pass
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 130
    *_, blanks, rest = shown.decode().replace("^C", "").split("\r")
    assert (blanks.strip(), rest.strip()) == ("", "")


def test_an_interrupt_cancels_a_tool_that_can_be_cancelled_and_shows_what_it_has_come_to(interruptible, site):
    source = """
        import sys, threading
        from tools_core import Context, ToolError, tool


        @tool
        def count(context: Context) -> None:
            print("counting", file=sys.stderr, flush=True)
            while not context.cancelled:
                threading.Event().wait(0.01)
            raise ToolError("came to 3 and was cancelled", "cancelled")
    """
    site.install("tools-count", {"count": "count"}, source)
    with interruptible("call", "count") as process:
        assert process.stderr.readline() == "counting\n"
        process.send_signal(signal.SIGINT)
        assert "came to 3 and was cancelled" in process.stderr.read()
    assert process.returncode == 130


@pytest.mark.slow
@pytest.mark.parametrize("interrupts", [1, 2])
def test_a_tool_that_does_not_heed_a_cancellation_is_interrupted_all_the_same(interruptible, site, interrupts):
    source = """
        import sys, threading
        from tools_core import Context, tool


        @tool
        def deaf(context: Context) -> None:
            print("deaf", file=sys.stderr, flush=True)
            while not context.cancelled:
                threading.Event().wait(0.01)
            print("cancelled", file=sys.stderr, flush=True)
            threading.Event().wait()
    """
    site.install("tools-deaf", {"deaf": "deaf"}, source)
    with interruptible("call", "deaf") as process:
        assert process.stderr.readline() == "deaf\n"
        process.send_signal(signal.SIGINT)
        assert process.stderr.readline() == "cancelled\n"
        if interrupts == 2:
            process.send_signal(signal.SIGINT)
        assert process.stderr.read() == ""
    assert process.returncode == 130


def test_what_a_tools_own_programs_print_is_not_taken_for_the_result(site, ask_tools):
    source = """
    import os

    from tools_core import tool


    @tool
    def noisy() -> str:
        "Make noise."
        print("printed")
        os.system("echo from a child")
        return "the result"
    """
    site.install("tools-noise", {"noisy": "noisy"}, source)
    ended = ask_tools("call", "noisy", "--json")
    assert ended.json["output"] == "the result"
    assert "printed" in ended.err and "from a child" in ended.err
