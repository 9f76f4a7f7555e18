"""`ask-tools call`: a tool called from the shell."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest


@pytest.fixture(autouse=True)
def weather(site):
    site.install_weather()


@pytest.fixture
def here(tmp_path):
    return tmp_path / "here"


def test_the_result_alone_goes_to_standard_output(ask_tools):
    result = ask_tools("call", "rain", "city=Oslo")
    assert (result.code, result.out, result.err) == (0, "rain in Oslo\n", "")
    assert ask_tools("call", "forecast", "city=Oslo").out == '{"city":"Oslo","days":3,"units":"C"}\n'


def test_output_of_a_tool_and_its_children_goes_to_standard_error(ask_tools, site):
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
    result = ask_tools("call", "noisy", "--json")
    assert result.json["output"] == "the result"
    assert "printed" in result.err and "from a child" in result.err


def test_arguments_are_converted_by_the_schema_and_options_may_stand_between_them(ask_tools):
    result = ask_tools("call", "--json", "forecast", "city=5", "--yes", "days=5", "units=F")
    output = {"city": "5", "days": 5, "units": "F"}
    assert result.json == {"ok": True, "output": output, "error": None, "metadata": {}}


def test_arguments_may_be_json_from_a_file_standard_input_or_one_word(ask_tools, here):
    text = '{"city": "Oslo", "days": 1}'
    (here / "arguments.json").write_text(text, encoding="utf-8-sig")  # with a byte order mark
    expected = '{"city":"Oslo","days":1,"units":"C"}\n'
    assert ask_tools("call", "forecast", "--args", "arguments.json").out == expected
    assert ask_tools("call", "forecast", "--args", "-", stdin=text).out == expected
    assert ask_tools("call", "forecast", text).out == expected


def test_all_problems_of_the_arguments_are_reported_as_wrong_usage(ask_tools):
    result = ask_tools("call", "forecast", "cit=Oslo", "days=many", "units=K")
    assert (result.code, result.out) == (2, "")
    for words in ("city is required", 'days must be an integer, got "many"', "units must be one of", "cit"):
        assert words in result.err
    assert result.err.endswith("\n  its parameters: ask-tools show forecast\n")


@pytest.mark.parametrize(
    ("words", "stdin", "message"),
    [
        (["Oslo"], "", 'arguments are key=value or key:=json, got "Oslo"\n  did you mean city=Oslo'),
        (["days:=two"], "", "days:= must be followed by JSON"),
        (["--args", "-", "days=1"], "{}", "arguments are given twice: use --args, or key=value"),
        (["--args", "absent.json"], "", "argument --args: cannot read absent.json: [Errno 2] No such file"),
        (["--args", "-"], '{"a": 1', "invalid JSON"),
        (["--workspace", "absent"], "", "--workspace: the folder absent does not exist"),
        (["--path", "a.txt"], "", "unknown option --path\n  write arguments of the tool as path=a.txt\n"),
        (["--max-days=3"], "", "unknown option --max-days\n  write arguments of the tool as max_days=3\n"),
        (["--jsn"], "", "unknown option --jsn\n  did you mean --json or --yes or --run?\n"),
    ],
)
def test_a_wrong_command_line_is_reported_with_a_correct_one(ask_tools, words, stdin, message):
    result = ask_tools("call", "forecast", *words, stdin=stdin)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"error: {message}")


def test_failures_unknown_tools_and_halts_have_their_exit_codes(ask_tools):
    result = ask_tools("call", "missing")
    assert (result.code, result.out, result.err) == (1, "", "error: no such city; try Oslo\n")
    assert ask_tools("call", "missing", "--json").json["error_type"] == "not_found"
    unknown = ask_tools("call", "rian", "city=Oslo", "--json")
    assert (unknown.code, unknown.json["error_type"]) == (2, "unknown_tool")
    halted = ask_tools("call", "goodbye")
    assert (halted.code, halted.out, halted.err[:8]) == (0, "good night\n", "halted: ")


def test_an_exception_in_a_tool_is_reported_with_file_and_line(ask_tools, here):
    (here / "shaky.py").write_text(
        "import json\nfrom tools_core import tool\n\n\n@tool\ndef shaky() -> str:\n    return json.loads('{')\n"
    )
    plain = ask_tools("call", "shaky.py:shaky")
    assert plain.code == 1
    first, *hints = plain.err.splitlines()
    assert first.startswith("error: JSONDecodeError: ")
    assert hints == [f"  at {here / 'shaky.py'}:7", "  show the traceback: ask-tools --debug call ..."]
    for debug in (ask_tools("--debug", "call", "shaky.py"), ask_tools("call", "shaky.py", ASK_TOOLS_DEBUG="1")):
        assert "Traceback (most recent call last):" in debug.err
        assert "decoder.py" in debug.err
        assert "--debug" not in debug.err


def test_a_tool_in_a_file_is_called_shown_and_checked_without_being_installed(ask_tools, here):
    (here / "parts").mkdir()
    (here / "parts" / "city.py").write_text("NAME = 'Oslo'\n")
    (here / "parts" / "local.py").write_text(
        "import city\nfrom tools_core import tool\n\n\n"
        "@tool\ndef home(days: int = 1) -> str:\n    'Tell the city.'\n    return city.NAME * days\n\n\n"
        "def plain(x: int) -> int:\n    'Return x.'\n    return x\n"
    )
    assert ask_tools("call", "./parts/local.py:home", "days=2").out == "OsloOslo\n"
    assert ask_tools("call", "parts/local.py").out == "Oslo\n"  # its only tool
    assert ask_tools("call", "parts/local.py:plain", "x=2").out == "2\n"
    output = ask_tools("show", "parts/local.py:home").out
    assert "ask-tools call parts/local.py:home" in output
    assert ask_tools("schema", "parts/local.py:home").json["name"] == "home"
    assert ask_tools("check", "parts/local.py:home").code == 0


def test_a_method_of_a_toolset_in_a_file_is_called(ask_tools, here):
    (here / "notes.py").write_text(
        "from tools_core import Toolset, tool\n\n\n"
        "class Notes(Toolset):\n    def add(self, text: str) -> str:\n        return f'added {text}'\n\n"
        "    @tool(name='find')\n    def search(self) -> str:\n        return 'nothing'\n"
    )
    assert ask_tools("call", "notes.py:Notes.add", "text=milk").out == "added milk\n"
    assert ask_tools("call", "notes.py:Notes.search").out == "nothing\n"
    for pattern in ("notes.py", "notes.py:Notes"):
        result = ask_tools("call", pattern)
        assert (result.code, result.err.splitlines()) == (
            2,
            [f"error: {pattern} matches 2 tools; name one of them", "  notes.py:Notes.add", "  notes.py:Notes.search"],
        )


@pytest.mark.parametrize(
    ("source", "name", "code", "message"),
    [
        (None, "one", 2, "the file lib.py does not exist"),
        ("import nowhere", "one", 1, "lib.py cannot be loaded: ModuleNotFoundError: No module named 'nowhere'\n  at "),
        ("raise SystemExit(3)", "one", 1, "lib.py cannot be loaded: SystemExit: 3"),
        ("x = 5", "x", 2, "lib.py:x is not a tool: "),
        ("from tools_core import tool\n@tool\ndef one(): 'O.'", "on", 2, "lib.py:on is not a tool: "),
    ],
    ids=["no file", "import", "exit", "no tool", "another name"],
)
def test_a_file_without_the_tool_is_an_error_that_names_the_place(ask_tools, here, source, name, code, message):
    if source is not None:
        (here / "lib.py").write_text(source)
    result = ask_tools("call", f"lib.py:{name}")
    assert (result.code, result.out) == (code, "")
    assert result.err.startswith(f"error: {message}")


def test_a_tool_that_exits_has_failed(ask_tools):
    result = ask_tools("call", "leave")
    assert (result.code, result.err) == (1, "error: leave ended the program (exit code 7)\n")


def test_content_blocks_are_described_and_raw_writes_the_bytes_of_one(ask_tools, environment):
    assert ask_tools("call", "radar").out == "now:\n[image image/png, 13 bytes]\n"
    assert ask_tools("call", "radar", "--json").json["output"][1]["data"] == "iVBORw0KGgobWzMxbQ=="
    command = [sys._base_executable, "-S", "-m", "tools_core", "call", "radar", "--raw"]
    done = subprocess.run(command, env=environment, capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"\x89PNG\r\n\x1a\n\x1b[31m", b"now:\n")
    assert ask_tools("call", "rain", "city=Oslo", "--raw").out == "rain in Oslo"  # without a line end


def test_the_workspace_and_a_named_run_reach_the_tool(ask_tools, tmp_path):
    assert ask_tools("call", "climb", "steps=0", "--workspace", str(tmp_path)).out == f"{tmp_path}\n"
    tool = '@tool\ndef run_of(context: Context) -> str:\n    """Return the run."""\n    return context.run_id\n'
    (tmp_path / "runs.py").write_text(f"from tools_core import Context, tool\n{tool}")
    assert ask_tools("call", f"{tmp_path}/runs.py:run_of", "--run", "mine").out == "mine\n"


def test_the_timeout_is_the_deadline_of_the_caller(ask_tools, site):
    source = """
        import threading
        from tools_core import tool


        @tool(timeout=60)
        def wait() -> None:
            threading.Event().wait()
    """
    site.install("tools-wait", {"wait": "wait"}, source)
    result = ask_tools("call", "wait", "--timeout", "0.05", "--json")
    assert (result.code, result.json["error_type"]) == (1, "timeout_error")
    assert result.json["metadata"]["timeout"] == 0.05
    assert "limit set by --timeout" in result.json["error"]
    for text in ("1e10", "soon"):
        wrong = ask_tools("call", "wait", f"--timeout={text}")
        message = f"error: argument --timeout: expected seconds between 0 and 1e9, such as 2.5; got {text!r}\n"
        assert (wrong.code, wrong.err) == (2, f"{message}  ask-tools call --help\n")


def test_without_a_terminal_a_tool_that_requires_approval_needs_yes(ask_tools):
    result = ask_tools("call", "flood", "city=Oslo", stdin="y\n")
    assert (result.code, result.out) == (1, "")
    lines = ["error: flood needs approval by the user and was not run: the tool requires approval."]
    assert result.err.splitlines() == [*lines, "  add --yes to approve it"]
    assert ask_tools("call", "flood", "city=Oslo", "--yes").out == "Oslo is under water\n"


def test_a_tool_asks_its_question_on_the_terminal(ask_tools, on_terminal, tmp_path):
    (tmp_path / "site.py").write_text(
        """
from tools_core import Context, tool

@tool(timeout=10)
def deploy(context: Context) -> str:
    "Deploy a site."
    return f"to {context.ask('Which region?', ['eu', 'us'])}"
"""
    )
    words = ("call", f"{tmp_path}/site.py:deploy")
    for typed in ("2\n", "mars\nus\n"):
        status, output = on_terminal(*words, typed=typed, prompt="answer: ")
        assert (status, output.splitlines()[-1].removeprefix("answer: ")) == (0, "to us")
        assert "deploy asks: Which region?" in output
    failed = ask_tools(*words)
    assert (failed.code, failed.err.splitlines()[-1]) == (1, "  run it on a terminal to answer")


@pytest.mark.parametrize(
    ("typed", "code", "last"),
    [
        ("y\n", 0, "Oslo is under water"),
        ("\n", 1, "error: flood was not approved. Do not work around this. Tell the user, or continue without it."),
    ],
    ids=["yes", "nothing"],
)
def test_on_a_terminal_the_user_is_asked_and_sees_the_arguments(on_terminal, typed, code, last):
    status, output = on_terminal("call", "flood", "city=Oslo", typed=typed, prompt="[y/N] ")
    assert (status, output.splitlines()[-1].removeprefix("run it? [y/N] ")) == (code, last)
    assert 'flood requires approval: {"city":"Oslo"}' in output


DECIDER = """
    from tools_core import Result

    def make_call(tool, call, context, approve):
        if call.arguments["city"] == "Bergen":
            return Result.error("Bergen stays dry", type="denied")
        return tool.call(call, context).with_metadata({"approve": approve})
"""


def test_a_package_that_decides_about_calls_makes_every_call(ask_tools, site):
    site.install("tools-decide", {"any": "make_call"}, DECIDER, group="ask_tools.call")
    denied = ask_tools("call", "rain", "city=Bergen", "--yes")
    assert (denied.code, denied.err) == (1, "error: Bergen stays dry\n")
    assert ask_tools("call", "rain", "city=Oslo", "--yes", "--json").json["metadata"] == {"approve": "all"}
    assert ask_tools("call", "flood", "city=Oslo", "--json").json["metadata"] == {"approve": None}


@pytest.mark.parametrize("source", ["import not_there", "import sys; sys.exit(3)", None])
def test_a_broken_or_second_ask_tools_call_package_prevents_calls(ask_tools, site, source):
    site.install("tools-decide", {"any": "make_call"}, source or DECIDER, group="ask_tools.call")
    if source is None:
        site.install("tools-judge", {"any": "make_call"}, DECIDER, group="ask_tools.call")
    result = ask_tools("call", "rain", "city=Oslo")
    assert (result.code, result.out) == (1, "")
    assert "tools-decide" in result.err and "decide" in result.err


def test_progress_overwrites_one_line(on_terminal, environment):
    environment["COLUMNS"] = "60"
    status, output = on_terminal("call", "climb", "steps=50")
    assert status == 0
    assert r"50/50 a step \x1b]0;owned\x07" in output
    assert "\x1b" not in output
    *bars, erased, result = output.rstrip("\r\n").split("\r")
    assert (erased.strip(), result) == ("", "None")
    assert {len(bar) for bar in bars} <= set(range(60))
    assert len(bars) < 20  # not one for each report


@pytest.fixture
def interruptible(environment):
    """The command as a process that can be interrupted."""
    if sys.platform == "win32":
        pytest.skip("only on systems with POSIX signals")
    # A process ignores the signal if its parent does, such as a shell for a job in the background.
    code = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler);"
    code += "from tools_core.__main__ import main; sys.exit(main())"

    def start(*words):
        command = [sys._base_executable, "-c", code, *words]
        return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)

    return start


@pytest.mark.parametrize("words", [["list"], ["doctor"], ["lock"], ["call", "hang"]], ids=" ".join)
def test_an_interrupt_while_a_package_is_loaded_names_the_package(interruptible, site, words, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    source = f"import threading; open({str(pipe)!r}, 'w').close(); threading.Event().wait()"
    site.install("tools-hang", {"hang": "get"}, source)
    with interruptible(*words) as process:
        pipe.read_text()  # until the package is being imported
        process.send_signal(signal.SIGINT)
        loading = "interrupted while hang was loaded from tools-hang 1.0 (tools_hang:get)\n"
        assert process.stderr.read() == ("" if words[0] in ("doctor", "lock") else loading)
    assert process.returncode == 130
    assert not (tmp_path / "ask-tools.lock").exists()


COUNT = """
    import sys, threading
    from tools_core import Context, ToolError, tool


    @tool
    def count(context: Context, deaf: bool = False) -> None:
        print("counting", file=sys.stderr, flush=True)
        while not context.cancelled:
            threading.Event().wait(0.01)
        print("cancelled", file=sys.stderr, flush=True)
        if deaf:
            threading.Event().wait()
        raise ToolError("counted to 3 and was cancelled", "cancelled")
"""


@pytest.mark.parametrize("deaf", [False, True])
def test_an_interrupt_cancels_the_call_and_the_second_one_ends_it(interruptible, site, deaf):
    site.install("tools-count", {"count": "count"}, COUNT)
    with interruptible("call", "count", f"deaf={deaf}") as process:
        assert process.stderr.readline() == "counting\n"
        process.send_signal(signal.SIGINT)
        assert process.stderr.readline() == "cancelled\n"
        if deaf:
            process.send_signal(signal.SIGINT)
        assert process.stderr.read() == ("" if deaf else "error: counted to 3 and was cancelled\n")
    assert process.returncode == 130
