"""`ask-tools run` and `ask-tools sessions` as users run them, with a model that follows a script."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from types import SimpleNamespace

import pytest

from tools_agent import Assistant, Session, User, open_store
from tools_core import ToolCall

pytest.importorskip("tools_filesystem")

COMMAND = [sys.executable, "-m", "tools_core"]


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """The current folder, which is empty, and a home without sessions, policy and keys."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "ASK_TOOLS_MODEL", "ASK_TOOLS_SESSIONS"):
        monkeypatch.delenv(name, raising=False)
    for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path / "folder")
    return tmp_path / "folder"


def ask(*words, code=0):
    process = subprocess.run([*COMMAND, *words], check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert process.returncode == code, process.stderr
    return SimpleNamespace(out=process.stdout, err=process.stderr)


def test_an_approval_in_another_process_runs_the_pending_call(place):
    first = ask("run", "Look around", "--model", "scripted:demo", "--session", "demo", code=1)
    assert first.out.splitlines()[0] == "I am a script, not a model. First I look at the folder."
    assert re.search(r"→ list_directory \{\}\n← .*empty", first.err)
    assert first.err.endswith("interrupted: approval_required; continue with: ask-tools run --session demo\n")
    assert not (place / "summary.md").exists()

    ask(*shlex.split(re.search(r"approve: ask-tools (.*)", first.err)[1]))
    second = ask("run", "--session", "demo")  # the session stores its model
    assert second.out == "Done: summary.md has the list of files.\n"
    assert second.err.endswith("session demo\n1 change in this turn; to undo: ask-tools undo\n")
    assert "You asked: Look around" in (place / "summary.md").read_text()


@pytest.mark.slow
def test_pending_calls_are_printed_uncut_without_a_terminal(place):
    prompt = "Look around, " + "very " * 100 + "carefully"
    run = ask("run", prompt, "--model", "scripted:demo", "--session", "demo", code=1)
    lines = [
        "write_file needs approval: no rule matches;",
        '  path = "summary.md"',
        "  files: summary.md",
        f"  │ +You asked: {prompt}",
        "  approve: ask-tools sessions approve demo --call ",
    ]
    for printed in (run.err, ask("sessions", "show", "demo").out):
        assert [line for line in lines if line not in printed] == []


@pytest.mark.slow
def test_yes_approves_calls_and_json_prints_the_response(place):
    done = json.loads(ask("run", "Look", "--model", "scripted:demo", "--yes", "--output-format", "json").out)
    assert (done["outcome"], done["steps"], done["pending"]) == ("completed", 3, [])
    assert done["content"] == "Done: summary.md has the list of files."
    assert (place / "summary.md").exists()
    again = ask("run", "--session", done["session"])  # a completed session repeats its reply
    assert again.out == f"{done['content']}\n"


@pytest.mark.slow
def test_a_stream_of_json_begins_with_a_start_and_ends_with_an_end(place):
    words = ("run", "list_directory", "--tools", "list_*", "--output-format", "stream-json")
    lines = [json.loads(line) for line in ask(*words, "--model", "scripted:demo").out.splitlines()]
    types = dict.fromkeys(line["type"] for line in lines)
    assert list(types) == [
        "start", "text_delta", "tool_call_delta", "text_done", "tool_call_done", "usage_update", "tool_started",
        "tool_finished", "end",
    ]  # fmt: skip
    assert (lines[0]["model"], lines[0]["tools"]) == ("scripted:demo", ["list_directory"])
    assert lines[-1]["session"] == lines[0]["session"]
    assert (lines[-1]["exit_code"], lines[-1]["outcome"], lines[-1]["steps"]) == (0, "completed", 2)
    waiting = json.loads(ask("run", "Look", "--model", "scripted:demo", "--output-format", "json", code=1).out)
    assert (waiting["exit_code"], waiting["pending"][0]["tool"]) == (1, "write_file")
    error = json.loads(ask(*words, "--model", "nope", code=2).out)
    assert (error["type"], error["exit_code"]) == ("error", 2)
    assert "expected a model such as" in error["message"]


def test_the_demo_model_calls_a_tool_in_a_file(place):
    (place / "weather.py").write_text(
        "from tools_core import tool\n@tool(read_only=True)\ndef weather(city: str, days: int) -> str:\n"
        "    'Forecast.'\n    return f'{city}: sunny for {days} d'\n"
    )
    done = ask("run", "Weather in Oslo?", "--model", "scripted:demo", "--tools", "./weather.py:weather")
    assert done.out.endswith("weather returned: Oslo: sunny for 1 d\n")


@pytest.mark.slow
def test_the_demo_model_deletes_one_file_too_many_in_a_preview_alone(place):
    (place / "notes.md").write_text("# Notes\n\nbuy milk\n")
    (place / "budget.csv").write_text("1,2\n")
    (place / "draft.bak").write_text("old\n")
    words = ("run", "Tidy this folder", "--model", "scripted:demo", "--yes")
    preview = ask(*words, "--mode", "preview")
    assert "deleted draft.bak, budget.csv. budget.csv was one too many" in preview.out
    assert ask("changes", "--stat").out.splitlines() == ["deleted budget.csv", "deleted draft.bak", "changed notes.md"]
    assert ask(*words).out.endswith("I delete files in a preview alone: add --mode preview.\n")
    assert (place / "notes.md").read_text() == "# Notes\n\nbuy milk\n\n## Files\n\n- notes.md\n"
    assert sorted(os.listdir(place)) == ["budget.csv", "draft.bak", "notes.md"]


@pytest.mark.slow
def test_tools_are_chosen_by_name_or_pattern_and_the_steps_are_limited(place):
    (place / "mine.py").write_text(
        "from tools_core import tool\n@tool\ndef write_file(path: str, content: str) -> str:\n"
        "    'Write.'\n    print('noise')\n    return content.upper()\n"
    )
    demo = ("run", "Hi", "--model", "scripted:demo")
    done = ask(*demo, "--tools", "list_*,./mine.py:write_file", "--yes", "--session", "s")
    assert "← # SUMMARY" in done.err and "noise" in done.err and "noise" not in done.out
    assert "I call grep" in ask(*demo, "--tools", "grep").out
    limited = ask("run", "Hi", "--session", "s", "--max-steps", "1", code=1)
    assert limited.err.endswith("interrupted: max_steps; continue with: ask-tools run --session s\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "Hi", "--model", "anthropic:claude"], "anthropic: no API key; set the environment variable ANTHROPIC"),
        (["run", "Hi", "--model", "nobody:x"], "the providers are openai, openai-responses, anthropic, gemini"),
        (["run", "Hi"], "which model? --model PROVIDER:NAME"),
        (["run"], "there is nothing to do: give a prompt, --session NAME or -c"),
        (["run", "--session", "x", "--model", "scripted:demo"], "there is no session 'x'"),
        (["run", "Hi", "--session", "x"], "there is no session 'x'"),
        (["run", "Hi", "--model", "scripted:demo", "--tools", "nope"], "nope"),
        (["run", "Hi", "--model", "scripted:demo", "--policy", "nope.toml"], "nope.toml: there is no such file"),
        (["run", "Hi", "--model", "scripted:demo", "--store", "mysql://x"], "mysql:// is not a store"),
        (["sessions", "show"], "show needs a NAME"),
    ],
)
def test_wrong_usage_is_an_error_and_creates_no_session(place, words, message):
    assert message in ask(*words, code=2).err
    with open_store() as store:
        assert store.sessions() == []


@pytest.mark.slow
@pytest.mark.parametrize("words", [["run", "Hi"], ["run"], ["sessions", "show"], ["sessions", "delete"]])
def test_the_error_for_a_misspelt_session_suggests_the_right_name(words):
    with open_store() as store:
        Session([User(content="Hi")], id="tidy-up", store=store)
    option = ["--session"] if words[0] == "run" else []
    error = ask(*words, *option, "tidi-up", code=2).err
    assert "there is no session 'tidi-up'\n  did you mean tidy-up?" in error


@pytest.mark.slow
def test_a_question_of_a_tool_is_answered_by_another_process(place):
    (place / "book.py").write_text(
        "from tools_core import Context, tool\n@tool(read_only=True)\ndef book(context: Context) -> str:\n"
        "    'Book.'\n    return context.ask('Which day?', ['Monday', 'Friday'])\n"
    )
    words = ["run", "--session", "s", "--tools", "./book.py"]
    pending = ask(*words, "Book it", "--model", "scripted:demo", code=1).err
    assert (
        "waits for an answer: book asks: Which day? (Monday, Friday)\n  answer: ask-tools sessions answer s" in pending
    )
    assert "one of Monday, Friday" in ask("sessions", "answer", "s", "Sunday", code=2).err
    ask("sessions", "answer", "s", "Friday")
    assert ask(*words).out == "book returned: Friday\n"
    assert "no such call waits for an answer" in ask("sessions", "answer", "s", "Friday", code=2).err


@pytest.mark.slow
def test_sessions_are_listed_shown_forked_and_deleted(place):
    calls = (ToolCall("call_1", "read_file", {"path": "a\x1b[2J"}),)
    with open_store() as store:
        messages = [User(content="Hi"), Assistant(content="Look:", tool_calls=calls)]
        Session(messages, id="one", store=store, metadata={"model": "scripted:demo", "title": "Hi"})
    assert re.search(r"^one +\d{4}-\S+ \S+ +scripted:demo +Hi$", ask("sessions", "list").out, re.MULTILINE)
    output = ask("sessions", "show", "one").out
    assert output == 'user: Hi\nassistant: Look:\n  calls read_file {"path":"a\\u001b[2J"}\n'
    history = ask("sessions", "show", "one", "--history").out.splitlines()
    assert re.match(r"2 +\S+ \S+ +message +\{", history[2])

    assert ask("sessions", "fork", "one", "two", "--until", "1").out == "two\n"
    session = json.loads(ask("sessions", "show", "two", "--json").out)
    roles = [message["role"] for message in session["messages"]]
    assert (session["id"], roles, session["pending"]) == ("two", ["user"], [])
    ask("sessions", "delete", "one")
    assert [session["id"] for session in json.loads(ask("sessions", "list", "--json").out)] == ["two"]


@pytest.mark.slow
def test_a_session_has_one_run_and_continues_after_ctrl_c(place):
    source = "from time import sleep\nfrom tools_core import tool\n@tool\ndef list_directory() -> str:\n    'List.'\n"
    (place / "slow.py").write_text(f"{source}    sleep(600)\n    return ''\n")
    (place / "fast.py").write_text(f"{source}    return 'a file'\n")
    tools = "./slow.py:list_directory,write_file"
    words = ["run", "Hi", "--model", "scripted:demo", "--session", "s", "--yes", "--tools", tools]
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([*COMMAND, *words], **pipes) as process:
        assert process.stderr.readline() == "→ list_directory {}\n"  # printed while the call runs
        assert "session 's' is in use" in ask("run", "--session", "s", code=1).err
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130
        assert process.stderr.read().endswith(f"continue with: ask-tools run --session s --tools {tools}\n")
    done = ask("run", "--session", "s", "--yes", "--tools", "./fast.py:list_directory,write_file")
    assert done.out.endswith("Done: summary.md has the list of files.\n")
    assert "Cancelled by the caller" in (place / "summary.md").read_text()


def test_a_preview_changes_a_copy_until_the_changes_are_applied(place):
    (place / "notes.txt").write_text("notes\n")
    tools = ("--tools", "list_directory,write_file")
    preview = ask("run", "Look around", "--model", "scripted:demo", *tools, "--mode", "preview")
    assert "1 change in the copy:\n" in preview.err
    assert "  added summary.md\n" in preview.err
    assert os.listdir(place) == ["notes.txt"]
    assert "+# Summary" in ask("changes").out
    assert "to undo: ask-tools undo" in ask("apply").out
    assert (place / "summary.md").read_text().startswith("# Summary")
    ask("undo")
    assert os.listdir(place) == ["notes.txt"]
