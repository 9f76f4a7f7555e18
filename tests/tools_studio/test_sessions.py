"""Sessions: what agents of other programs did, live, and calls that wait for approval."""

from __future__ import annotations

import json
import re
import time
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest

from tools_agent import Agent, Assistant, ScriptedProvider, Session, ToolResult, Usage, User, open_store
from tools_core import Result, ToolCall, registry
from tools_runtime import Policy
from tools_workspace import Checkpoint, Workspace


def wait_for(studio, path, text):
    """Fetch a page again until it has a text."""
    deadline = time.monotonic() + 30
    while text not in (html := studio.get(path).text):
        assert time.monotonic() < deadline, html
    return html


@pytest.fixture
def files(serve):
    """A studio for a model that writes files."""
    return serve("--tools", "tools-filesystem")


def waiting_call(studio, path):
    """Return the id of the call that waits for approval."""
    return re.search(r'name="call_id" value="([^"]+)"', studio.get(path).text)[1]


def test_a_call_that_waits_for_approval_runs_once_it_is_approved(files):
    path = files.run_agent()
    html = files.get(path).text
    assert "waits for approval" in html and "+You asked: What is here?" in html
    assert "waits for you" in files.get("/sessions-list").text
    files.post(f"{path}/approve", {"call_id": waiting_call(files, path), "arguments": ""})
    html = wait_for(files, path, "completed")
    assert "Done: summary.md has the list of files." in html
    assert (files.workspace / "summary.md").exists()
    assert "waits for you" not in files.get("/sessions-list").text


def test_arguments_are_edited_before_a_call_is_approved(files):
    path = files.run_agent()
    arguments = json.dumps({"path": "other.md", "content": "mine\n"})
    files.post(f"{path}/approve", {"call_id": waiting_call(files, path), "arguments": arguments})
    wait_for(files, path, "completed")
    assert (files.workspace / "other.md").read_text() == "mine\n"
    assert not (files.workspace / "summary.md").exists()


def test_a_denied_call_tells_the_model_why(files):
    path = files.run_agent()
    files.post(f"{path}/deny", {"call_id": waiting_call(files, path), "reason": "not today"})
    assert "not today" in wait_for(files, path, "completed")
    assert not (files.workspace / "summary.md").exists()


@pytest.fixture
def waiting(files):
    """The session of another program, in which three calls wait for approval."""
    calls = [ToolCall(id, "write_file", {"path": f"{id}.txt", "content": ""}) for id in "abc"]
    metadata = {"model": "scripted:demo", "workspace": str(files.workspace), "tools": ["write_file"]}
    with open_store(f"{files.environment['HOME']}/.local/share/ask-tools/sessions.sqlite3") as store:
        session = Session(id="three", store=store, metadata=metadata)
        options = {"policy": Policy(files=[], project=files.workspace), "workspace": files.workspace}
        Agent(session, model=ScriptedProvider(calls), tools=[registry["write_file"]], **options).generate("Write")
        yield session


def test_answers_given_at_the_same_time_are_all_kept(files, waiting):
    with ThreadPoolExecutor() as threads:
        responses = list(threads.map(lambda id: files.post("/sessions/three/approve", {"call_id": id}), "abc"))
    assert [response.status_code for response in responses] == [200, 200, 200]
    wait_for(files, "/sessions/three", "completed")
    assert sorted(path.name for path in files.workspace.glob("*.txt")) == ["a.txt", "b.txt", "c.txt"]


def test_a_session_is_continued_once_by_several_requests(files, waiting):
    for request in waiting.pending_approvals:
        waiting.approve(request["call_id"])
    with ThreadPoolExecutor() as threads:
        list(threads.map(lambda _: files.post("/sessions/three/continue"), range(4)))
    assert "in use by another run" not in wait_for(files, "/sessions/three", "completed")


@pytest.mark.parametrize(
    "body", [{"call_id": []}, {"call_id": "a", "arguments": "[1]"}, {"call_id": "a", "arguments": "1"}]
)
def test_a_malformed_answer_leaves_the_session_unchanged(files, waiting, body):
    assert files.post("/sessions/three/approve", body).status_code in (404, 409)
    assert len(waiting.pending_approvals) == 3


def test_sessions_continue_in_a_new_copy_after_theirs_was_discarded(files):
    with Workspace(files.workspace).copy() as copy:
        path = files.run_agent(workspace=copy.path)
    files.post(f"{path}/approve", {"call_id": waiting_call(files, path)})  # a call in another folder needs another yes
    assert f"<dd><code>{copy.path}" not in wait_for(files, path, "waits for approval")
    files.post(f"{path}/approve", {"call_id": waiting_call(files, path)})
    wait_for(files, path, "completed")
    assert "+You asked: What is here?" in files.get("/changes").text
    assert not (files.workspace / "summary.md").exists()


def test_the_changes_of_a_turn_are_undone_next_to_its_prompt(files, monkeypatch):
    monkeypatch.setenv("HOME", files.environment["HOME"])  # where checkpoints are kept
    path = files.run_agent(id="tidy")
    file = files.workspace / "kept.txt"
    file.write_text("before\n")
    with Checkpoint(Workspace(files.workspace)) as checkpoint:
        for title in ("first", "second"):
            checkpoint.begin(title, session="tidy" if title == "first" else "another")
            file.write_text(f"{title}\n")
            (files.workspace / f"{title}.txt").write_text("new\n")
            checkpoint.end()
    html = files.get(path).text
    assert html.count("Undo 2 changes") == 1
    changeset = re.search(r'"changeset": "([^"]+)"', html)[1]
    assert files.post(f"{path}/undo", {"changeset": changeset}).status_code == 409  # the second turn changed it since
    file.write_text("first\n")
    assert "Undo 2 changes" not in files.post(f"{path}/undo", {"changeset": changeset}).text
    assert file.read_text() == "before\n" and not (files.workspace / "first.txt").exists()


@pytest.fixture
def stored(serve):
    """A studio, and a session of another process with a priced model and two calls."""
    with open_store(f"{serve.environment['HOME']}/.local/share/ask-tools/sessions.sqlite3") as store:
        session = Session(
            [User(content="Weather in Oslo and Rome?")], id="trip", store=store, metadata={"title": "The trip"}
        )
        calls = (ToolCall("a", "weather", {"city": "Oslo"}), ToolCall("b", "weather", '{"city": "Rome"}'))
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
        log.end("run")
        yield serve("--tools", "shop.py:chart"), session


@pytest.mark.slow
def test_a_timeline_has_messages_calls_durations_tokens_and_cost(stored):
    studio, _ = stored
    html = studio.get("/sessions/trip").text
    assert "The trip" in studio.get("/sessions").text
    assert "<strong>look</strong>" in html
    assert html.index("Weather in Oslo and Rome?") < html.rindex("12 degrees</pre>") < html.rindex("no such city")
    assert "1,200 → 80 tokens" in html
    assert html.count(">{\n  &#34;city&#34;: ") == 2  # whether a server sends arguments as an object or as text
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
