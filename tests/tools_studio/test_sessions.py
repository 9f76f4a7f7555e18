"""Sessions, chats with the demo model, changes and reports of evaluations."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time

import httpx2
import pytest

from tools_agent import Assistant, Session, ToolResult, Usage, User, open_store
from tools_core import Result, ToolCall


def wait_for(studio, path, text):
    """Fetch a page again until it has a text."""
    deadline = time.monotonic() + 30
    while text not in (html := studio.get(path).text):
        assert time.monotonic() < deadline, html
    return html


def chat(studio, prompt, **fields):
    """Begin a chat with the demo model, and return the path of its session."""
    response = studio.post("/chat", {"prompt": prompt, "model": "scripted:demo", **fields})
    assert response.status_code == 303, response.text
    return response.headers["location"]


@pytest.fixture
def files(serve):
    """A studio for a model that writes files."""
    return serve("--tools", "tools-filesystem")


def test_a_chat_waits_for_approval_and_continues_with_it(files):
    path = chat(files, "What is here?", tools=["list_directory", "write_file"])
    html = wait_for(files, path, "waits for approval")
    assert "+You asked: What is here?" in html or "You asked: What is here?" in html
    assert not (files.workspace / "summary.md").exists()
    call = re.search(r'name="call_id" value="([^"]+)"', html)[1]
    files.post(f"{path}/approve", {"call_id": call, "arguments": ""})
    html = wait_for(files, path, "completed")
    assert "Done: summary.md has the list of files." in html
    assert (files.workspace / "summary.md").exists()


def test_the_list_shows_which_session_waits_for_the_user(files):
    path = chat(files, "What is here?", tools=["list_directory", "write_file"])
    html = wait_for(files, path, "waits for approval")
    assert "waits for you" in wait_for(files, "/sessions-list", "waits for you")
    files.post(f"{path}/deny", {"call_id": re.search(r'name="call_id" value="([^"]+)"', html)[1], "reason": ""})
    wait_for(files, path, "completed")
    assert "waits for you" not in files.get("/sessions-list").text


def test_arguments_are_edited_before_a_call_is_approved(files):
    path = chat(files, "What is here?", tools=["list_directory", "write_file"])
    call = re.search(r'name="call_id" value="([^"]+)"', wait_for(files, path, "waits for approval"))[1]
    arguments = json.dumps({"path": "other.md", "content": "mine\n"})
    files.post(f"{path}/approve", {"call_id": call, "arguments": arguments})
    wait_for(files, path, "completed")
    assert (files.workspace / "other.md").read_text() == "mine\n"
    assert not (files.workspace / "summary.md").exists()


def test_a_denied_call_tells_the_model_why(files):
    path = chat(files, "What is here?", tools=["list_directory", "write_file"])
    call = re.search(r'name="call_id" value="([^"]+)"', wait_for(files, path, "waits for approval"))[1]
    files.post(f"{path}/deny", {"call_id": call, "reason": "not today"})
    assert "not today" in wait_for(files, path, "completed")
    assert not (files.workspace / "summary.md").exists()


@pytest.mark.slow
def test_changes_of_a_chat_in_a_copy_are_applied_and_undone(files):
    path = chat(files, "What is here?", tools=["list_directory", "write_file"], in_copy="on")
    call = re.search(r'name="call_id" value="([^"]+)"', wait_for(files, path, "waits for approval"))[1]
    files.post(f"{path}/approve", {"call_id": call})
    wait_for(files, path, "completed")
    html = files.get("/changes").text
    assert "summary.md" in html
    assert not (files.workspace / "summary.md").exists()
    copy = re.search(r"/changes/([^/]+)/apply", html)[1]
    html = files.post(f"/changes/{copy}/apply").text
    assert (files.workspace / "summary.md").exists()
    changeset = re.search(r"/changes/([^/]+)/undo", html)[1]
    assert "undone" in files.post(f"/changes/{changeset}/undo").text
    assert not (files.workspace / "summary.md").exists()


def test_a_chat_whose_copy_was_discarded_continues_in_a_new_copy(files):
    path = chat(files, "What is here?", tools=["list_directory", "write_file"], in_copy="on")
    call = re.search(r'name="call_id" value="([^"]+)"', wait_for(files, path, "waits for approval"))[1]
    files.post(f"{path}/deny", {"call_id": call, "reason": "no"})
    wait_for(files, path, "completed")
    html = files.get("/changes").text
    assert "What is here?" in html
    files.post(f"/changes/{re.search(r'/changes/([^/]+)/discard', html)[1]}/discard")
    files.post(f"{path}/message", {"prompt": "And now?"})
    html = wait_for(files, path, "waits for approval")
    assert "cannot be opened" not in html and "/ask-tools/copies/" in html


@pytest.mark.slow
def test_a_model_without_a_key_is_an_error_that_names_the_variable(files):
    response = files.post("/chat", {"prompt": "Hi", "model": "openai:gpt-5"})
    assert response.status_code == 409
    assert "OPENAI_API_KEY" in response.text


@pytest.fixture
def stored(serve):
    """A studio, and a session of another process with a priced model and two calls."""
    with open_store(f"{serve.environment['HOME']}/.local/share/ask-tools/sessions.sqlite3") as store:
        session = Session(
            [User(content="Weather in Oslo and Rome?")], id="trip", store=store, metadata={"title": "The trip"}
        )
        calls = (ToolCall("a", "weather", {"city": "Oslo"}), ToolCall("b", "weather", {"city": "Rome"}))
        usage = Usage(input_tokens=1200, output_tokens=80)
        log = session.log
        log.begin("run")
        log.start_run()
        log.add(Assistant(content="I **look**.", tool_calls=calls, usage=usage, provider="openai", model="gpt-5"))
        for call, result in zip(calls, (Result.ok("12 degrees"), Result.error("no such city")), strict=True):
            log.start_call(call)
            log.finish_call(call.id, result)
        log.add(Assistant(content="12 degrees in Oslo."))
        log.finish_run("completed")
        log.end()
        yield serve("--tools", "shop.py:chart"), session


@pytest.mark.slow
def test_a_timeline_has_messages_calls_durations_tokens_and_cost(stored):
    studio, _ = stored
    html = studio.get("/sessions/trip").text
    assert "The trip" in studio.get("/sessions").text
    assert "<strong>look</strong>" in html
    assert html.index("Weather in Oslo and Rome?") < html.rindex("12 degrees</pre>") < html.rindex("no such city")
    assert "1,200 → 80 tokens" in html
    assert "$0.00" in html
    assert re.search(r'<span class="pill done">done</span>\s*<span class="muted">\d+ ms', html)


@pytest.mark.slow
def test_a_session_is_forked_after_any_message(stored):
    studio, session = stored
    html = studio.get("/sessions/trip").text
    seq = re.findall(r"""data-body='\{"until": (\d+)\}'""", html)[0]
    fork = studio.post("/sessions/trip/fork", {"until": int(seq)}).headers["location"]
    assert "Weather in Oslo and Rome?" in studio.get(fork).text
    assert "12 degrees" not in studio.get(fork).text
    assert [message.role for message in session] == ["user", "assistant", "tool", "tool", "assistant"]


@pytest.mark.slow
def test_a_session_is_exported_as_json_and_as_markdown(stored):
    studio, session = stored
    exported = studio.get("/sessions/trip/export.json")
    assert 'filename="trip.json"' in exported.headers["content-disposition"]
    messages = exported.json()["messages"]
    assert [message["role"] for message in messages] == [message.role for message in session]
    assert Session(messages).messages == session.messages
    assert isinstance(session[2], ToolResult)
    text = studio.get("/sessions/trip/export.md").text
    assert text.startswith("# The trip\n")
    assert '### weather\n\n````json\n{\n  "city": "Oslo"\n}' in text


@pytest.mark.slow
def test_changes_by_another_process_reach_an_open_page(stored):
    studio, session = stored
    studio.get("/sessions/trip")
    with httpx2.stream("GET", f"{studio.base}/events?after=0", cookies=studio.client.cookies, timeout=30) as events:
        lines = events.iter_lines()
        first = next(line for line in lines if '"topic": "sessions"' in line)
        assert first
        session.log.add(User(content="And tomorrow?"))
        assert next(line for line in lines if '"topic": "session:trip"' in line)
    assert "And tomorrow?" in studio.get("/sessions/trip").text


@pytest.mark.slow
def test_an_unknown_session_is_an_error_page(stored):
    studio, _ = stored
    response = studio.get("/sessions/missing")
    assert response.status_code == 404
    assert "missing" in response.text


@pytest.mark.slow
def test_the_last_reports_of_evaluations_are_shown_with_the_rate_of_each_tool(serve):
    evals = serve.workspace / "evals"
    evals.mkdir()
    (evals / "cases.toml").write_text(
        'tools = ["tools-filesystem"]\n'
        '[[case]]\nquestion = "Find files by name pattern"\nexpect = [{ tool = "glob" }]\n'
        '[[case]]\nquestion = "Delete a file permanently"\nexpect = [{ tool = "grep" }]\n'
    )
    (evals / "other.json").write_text('{"not": "a report"}')
    command = [sys.executable, "-m", "tools_core", "eval", "--model", "scripted:words", "--json"]
    done = subprocess.run(
        command, cwd=serve.workspace, env=serve.environment, capture_output=True, text=True, check=False
    )
    (evals / "tuesday.json").write_text(done.stdout)
    html = serve("--tools", "glob").get("/evals").text
    assert "evals/tuesday.json" in html, done.stderr
    assert "1 of 2" in html
    assert "Delete a file permanently" in html
    assert "other.json" not in html
