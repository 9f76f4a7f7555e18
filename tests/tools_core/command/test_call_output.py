"""What a call would do, what it gives as it is, what it saves, and how far it has come."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools_core._cli import _progress

PNG = b"\x89PNG\r\n\x1a\n"
SOURCE = '''
    import datetime
    import sys
    import threading

    from tools_core import Context, Effects, Image, Result, Tool, tool


    @tool(read_only=True)
    def plan(day: datetime.date, count: int = 1, note: str = "", context: Context = None) -> str:
        """Plan a day."""
        raise RuntimeError("it was run")


    class Careful(Tool):
        """Say what a call would do."""

        requires_approval = True

        def execute(self, mode: str) -> str:
            raise RuntimeError("it was run")

        def effects(self, arguments, context=None):
            if arguments["mode"] == "odd":
                raise KeyError("mode")
            return Effects({"read_only": arguments["mode"] == "look", "destructive": arguments["mode"] != "look"})


    @tool
    def picture() -> Image:
        """Draw."""
        return Image(b"\\x89PNG\\r\\n\\x1a\\n1")


    @tool
    def pictures() -> list:
        """Draw twice."""
        return ["see:", Image(b"\\x89PNG\\r\\n\\x1a\\n1"), Image(b"\\x89PNG\\r\\n\\x1a\\n2")]


    @tool
    def evil() -> str:
        """Try to take over a terminal."""
        return "\\x1b[2Jtext without an end of line"


    @tool
    def steps(total: int, context: Context) -> str:
        """Report progress."""
        for done in range(total):
            context.progress(done + 1, total, "日本 " * 100)
        return "done"


    @tool
    def endless(context: Context) -> str:
        """Report progress of something without an end."""
        context.progress(3, None, "a line\\nand another")
        raise ValueError("no luck")


    @tool
    def wait(context: Context) -> str:
        """Wait."""
        context.progress(1, 2, "waiting")
        print("here", file=sys.stderr, flush=True)
        threading.Event().wait()
'''
TOOLS = {name: name for name in ("plan", "picture", "pictures", "evil", "steps", "endless", "wait")}


@pytest.fixture(autouse=True)
def tools(site):
    site.install("tools-odd", {**TOOLS, "careful": "Careful"}, SOURCE)


@pytest.fixture
def here(tmp_path):
    return tmp_path / "here"


def test_a_dry_run_shows_what_would_be_passed_and_runs_nothing(ask_tools):
    ended = ask_tools("call", "plan", '{"day": "2024-02-29", "count": "2"}', "--dry-run")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines() == [
        "would call plan (tools-odd 1.0)",
        "  day = datetime.date(2024, 2, 29)",
        "  count = 2",
        'repaired count: "2" -> 2',
        "annotations: read-only",
        "nothing was run",
    ]


def test_a_dry_run_as_json_has_the_arguments_as_json(ask_tools):
    ended = ask_tools("call", "plan", "day=2024-02-29", "--dry-run", "--json")
    assert ended.json == {
        "name": "plan",
        "arguments": {"day": "2024-02-29"},
        "repaired": [],
        "annotations": {"read_only": True},
        "requires_approval": False,
    }


def test_a_dry_run_tells_the_hints_for_these_arguments_and_asks_nobody(ask_tools):
    looks = ask_tools("call", "careful", "mode=look", "--dry-run", "--json").json
    writes = ask_tools("call", "careful", "mode=write", "--dry-run", "--json").json
    assert (looks["annotations"]["read_only"], writes["annotations"]["read_only"]) == (True, False)
    assert looks["requires_approval"] is True
    odd = ask_tools("call", "careful", "mode=odd", "--dry-run")
    assert (odd.code, odd.out) == (1, "")
    assert odd.err == "error: careful cannot say what it would do: KeyError: 'mode'\n"


def test_a_dry_run_of_wrong_arguments_is_wrong_usage(ask_tools):
    ended = ask_tools("call", "plan", "day=tomorrow", "--dry-run")
    assert (ended.code, ended.out) == (2, "")
    assert "day" in ended.err
    assert ask_tools("call", "plan", "day=tomorrow", "--dry-run", "--json").json["error_type"] == "validation_error"


def test_raw_text_goes_to_a_terminal_as_it_is_and_nothing_is_added(on_terminal, environment):
    _, shown = on_terminal("call", "evil", "--raw")
    assert shown == "\x1b[2Jtext without an end of line"
    command = [sys._base_executable, "-m", "tools_core", "call", "evil", "--raw"]
    done = subprocess.run(command, env=environment, capture_output=True, check=True)
    assert done.stdout == b"\x1b[2Jtext without an end of line"


def test_raw_gives_the_bytes_of_one_block_and_says_where_several_can_go(environment, ask_tools):
    command = [sys._base_executable, "-m", "tools_core", "call", "picture", "--raw"]
    done = subprocess.run(command, env=environment, capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (PNG + b"1", b"")
    several = ask_tools("call", "pictures", "--raw")
    assert (several.code, several.out) == (1, "")
    assert several.err.endswith("there are 2\n  --save FILE writes each to a file\n")


def test_one_block_is_saved_to_the_file_and_several_to_numbered_ones(ask_tools, here):
    one = ask_tools("call", "picture", "--save", "a.png")
    assert (one.code, one.out, one.err) == (0, "", "saved a.png (9 bytes)\n")
    assert (here / "a.png").read_bytes() == PNG + b"1"
    two = ask_tools("call", "pictures", "--save", "b.png")
    assert (two.code, two.out) == (0, "")
    assert two.err.splitlines() == ["see:", "saved b-1.png (9 bytes)", "saved b-2.png (9 bytes)"]
    assert [(here / f"b-{number}.png").read_bytes() for number in (1, 2)] == [PNG + b"1", PNG + b"2"]


def test_a_text_is_saved_as_it_is_and_json_is_printed_besides(ask_tools, here):
    ended = ask_tools("call", "evil", "--save", "a.txt", "--json")
    assert ended.json["output"].startswith("\x1b[2J")
    assert (here / "a.txt").read_bytes() == b"\x1b[2Jtext without an end of line"


@pytest.mark.parametrize("there", ["a.png", "a-1.png"])
def test_nothing_is_overwritten_and_the_tool_not_run_for_nothing(ask_tools, here, there):
    (here / there).write_text("mine")
    ended = ask_tools("call", "pictures", "--save", "a.png")
    assert (ended.code, ended.err) == (2, f"error: --save: {there} is there already\n  add --force to overwrite it\n")
    assert sorted(os.listdir(here)) == [there]
    assert ask_tools("call", "pictures", "--save", "a.png", "--force").code == 0
    assert (here / "a-1.png").read_bytes() == PNG + b"1"


def test_the_second_of_several_is_not_overwritten_either(ask_tools, here):
    (here / "a-2.png").write_text("mine")
    ended = ask_tools("call", "pictures", "--save", "a.png")
    assert (ended.code, sorted(os.listdir(here))) == (1, ["a-2.png"])
    assert (here / "a-2.png").read_text() == "mine"


def test_a_failed_tool_saves_nothing(ask_tools, here):
    assert ask_tools("call", "plan", "day=2024-01-01", "--save", "a.txt").code == 1
    assert os.listdir(here) == []


@pytest.mark.parametrize(
    ("target", "words"), [("absent/a.png", "no folder absent"), (".", ". is a folder")], ids=["absent", "folder"]
)
def test_a_place_where_nothing_can_be_saved_is_told_before_the_tool_runs(ask_tools, target, words):
    ended = ask_tools("call", "picture", "--save", target)
    assert ended.code == 2
    assert words in ended.err


def test_a_full_disk_leaves_no_half_of_a_file_and_the_old_one_whole(environment, here, ask_tools):
    resource = pytest.importorskip("resource", reason="only on systems with POSIX limits")

    def no_room():
        resource.setrlimit(resource.RLIMIT_FSIZE, (4, 4))

    (here / "old.png").write_text("old")
    for words in (["--save", "new.png"], ["--save", "old.png", "--force"]):
        done = subprocess.run(
            [sys._base_executable, "-m", "tools_core", "call", "picture", *words],
            env=environment, cwd=here, preexec_fn=no_room, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 1
        assert done.stderr.startswith(f"error: --save: {words[1]} cannot be written: ")
    assert os.listdir(here) == ["old.png"]
    assert (here / "old.png").read_text() == "old"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_what_is_no_file_is_written_to_and_not_replaced(ask_tools, here):
    pipe = here / "pipe"  # and no device of the machine, which a mistake would replace
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert ask_tools("call", "picture", "--save", "pipe", "--force").code == 0
        assert os.read(reader, 100) == PNG + b"1"
    finally:
        os.close(reader)
    assert pipe.is_fifo()


def test_two_ways_to_show_a_result_exclude_each_other(ask_tools):
    for words in (["--raw", "--save", "x"], ["--dry-run", "--raw"]):
        ended = ask_tools("call", "picture", *words)
        assert (ended.code, ended.out) == (2, "")
        assert "not allowed with" in ended.err
    assert ask_tools("call", "picture", "--raw", "--json").json["error_type"] == "validation_error"


def lines_of(shown):
    """What each line held when it was left, as a terminal shows it: a return begins it anew."""
    left = []
    for line in shown.split("\n"):
        cells = ""
        for part in line.split("\r"):
            cells = part + cells[len(part) :]
        left.append(cells.rstrip())
    return left


def test_progress_is_a_bar_on_a_terminal_that_keeps_to_its_line_and_leaves_it_clean(on_terminal, environment):
    environment["COLUMNS"] = "60"
    ended, shown = on_terminal("call", "steps", "total=500")
    assert ended == 0
    assert "[########################] 500/500 日本" in shown
    assert lines_of(shown) == ["done", ""]
    widest = max((part for part in shown.split("\r")), key=_progress._columns)
    assert _progress._columns(widest) == 59
    assert shown.count("#]") + shown.count("-]") < 100  # not a bar for each of 500 reports


def test_a_bar_is_gone_before_an_error_is_told(on_terminal):
    ended, shown = on_terminal("call", "endless")
    assert ended == 1
    assert r"3 a line\nand another" in shown
    assert lines_of(shown) == ["error: ValueError: no luck", ""]


def test_elsewhere_there_is_no_progress_unless_plain_lines_are_asked_for(ask_tools):
    assert ask_tools("call", "steps", "total=2").err == ""
    plain = ask_tools("call", "steps", "total=2", "--progress", "plain")
    assert (plain.out, [line.split()[0] for line in plain.err.splitlines()]) == ("done\n", ["1/2", "2/2"])
    assert ask_tools("call", "steps", "total=2", "--progress", "bar").err == ""
    assert ask_tools("call", "steps", "total=2", "--progress", "none").err == ""


def test_on_a_terminal_it_can_be_plain_or_none(on_terminal):
    _, plain = on_terminal("call", "endless", "--progress", "plain")
    assert plain.splitlines()[0] == r"3 a line\nand another"
    _, none = on_terminal("call", "steps", "total=3", "--progress", "none")
    assert none == "done\r\n"


numbers = st.integers() | st.floats()


@given(numbers, numbers | st.none())
def test_a_bar_can_be_made_of_any_numbers(done, total):
    bar = _progress._bar(done, total) + _progress._counted(done, total)
    assert bar.count("#") + bar.count("-") <= _progress._WIDTH + 4


@given(st.text())
def test_a_line_is_cut_to_what_fits(text):
    assert _progress._columns(_progress._fitting(text)) <= 79
