"""The server on standard streams, as clients start it."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow  # each starts a process


def test_tools_cannot_read_or_write_the_streams_of_the_protocol(lines):
    client = lines()
    client.start()
    assert client.call("shout", {})["result"]["content"][0]["text"] == "ok"
    assert client.call("read", {}, id=2)["result"]["isError"] is False
    _, errors = client.close()
    assert all(word in errors for word in ("printed", "written", "dunder", "child", "logged"))


def test_a_result_larger_than_a_pipe_arrives(lines):
    client = lines()
    client.start()
    assert len(client.call("big", {"size": 3_000_000})["result"]["content"][0]["text"]) == 3_000_000


INPUT = [
    {
        "id": 0,
        "method": "initialize",
        "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}},
    },
    {"method": "notifications/initialized"},
    {"id": 1, "method": "tools/call", "params": {"name": "big", "arguments": {"size": 300_000}}},
    {"id": 2, "method": "tools/call", "params": {"name": "shout", "arguments": {}}},
]


@pytest.mark.parametrize("from_file", [True, False])
@pytest.mark.parametrize("to_file", [True, False])
def test_requests_are_answered_after_the_end_of_the_input(tmp_path, from_file, to_file):
    text = "".join(json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in INPUT)
    (tmp_path / "in").write_text(text)
    program = [sys.executable, str(Path(__file__).with_name("program.py"))]
    with open(tmp_path / "in") as source, open(tmp_path / "out", "w+") as sink:
        streams = {"stdin": source} if from_file else {"input": text}
        streams |= {"stdout": sink if to_file else subprocess.PIPE, "stderr": subprocess.PIPE}
        done = subprocess.run(program, cwd=tmp_path, text=True, timeout=60, check=True, **streams)
        sink.seek(0)
        output = sink.read() if to_file else done.stdout
    answers = {answer["id"]: answer["result"] for answer in map(json.loads, output.splitlines()) if "id" in answer}
    assert len(answers[1]["content"][0]["text"]) == 300_000
    assert answers[2]["content"][0]["text"] == "ok"


def test_an_invalid_line_is_answered_with_an_error(lines):
    client = lines()
    client.start()
    client.write(b"{nonsense", b"[]", b"42", b"", b"\xff\xfe", b'{"jsonrpc": "2.0"}', b"[" * 100_000)
    assert [client.read()["error"]["code"] for _ in range(7)] == [-32700] * 7
    assert "result" in client.call("read", {})
    client.write(b'{"jsonrpc": "2.0", "id": 5, "method": 7}')
    assert client.read()["id"] == 5
    call = (
        b'{"jsonrpc": "2.0", "id": 6, "method": "tools/call", "params": {"name": "big", "arguments": {"x": "\\ud83d"}}}'
    )
    client.write(call)  # half of a character, as a model may write it
    assert client.read()["result"]["isError"]


def test_the_first_request_selects_the_protocol(lines, envelope):
    old, new = lines(), lines()
    assert old.start()["result"]["protocolVersion"] == "2025-11-25"
    discovered = new.ask("server/discover", {"_meta": envelope})["result"]
    assert "2026-07-28" in discovered["supportedVersions"]
    listed = new.ask("tools/list", {"_meta": envelope})["result"]
    assert (listed["resultType"], listed["cacheScope"]) == ("complete", "private")
    assert "ttlMs" in listed
    assert listed["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "ask-tools"
    assert set(old.ask("tools/list")["result"]) == {"tools"}


@pytest.mark.parametrize("name", ["wait", "block"])
@pytest.mark.parametrize("how", ["cancelled", "disconnected", "terminated"])
def test_a_call_ends_with_its_request_or_connection(lines, tmp_path, name, how):
    client = lines()
    client.start()
    assert client.call(name, {}, _meta={"progressToken": "t"})["params"]["progress"] == 1
    if how == "cancelled":
        client.write({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
        assert client.ask("ping", id=2)["id"] == 2  # and no answer to the call
    elif how == "terminated":
        client.process.send_signal(signal.SIGTERM)
    else:
        client.process.stdout.close()
    status, errors = client.close()
    assert (status, errors) == (0, "")
    assert (tmp_path / "notes").read_text() == "ended\n"


def names(client):
    return [tool["name"] for tool in client.ask("tools/list")["result"]["tools"]]


def test_the_command_serves_tools_of_packages_and_files(lines, tmp_path):
    (tmp_path / "lib.py").write_text(
        "from tools_core import tool\n@tool(read_only=True)\ndef hi() -> str:\n    'Hi.'\n    return 'hi'\n"
    )
    client = lines("serve", "--tools", "tools-filesystem:read_file,./lib.py")
    client.start()
    assert names(client) == ["hi", "read_file"]
    assert client.call("hi", {})["result"]["content"][0]["text"] == "hi"


def test_the_command_serves_the_selected_tools(lines, tmp_path):
    (tmp_path / "note.txt").write_text("hello")
    client = lines("serve", "--tools", "read_*,write_file", "--read-only")
    assert "approval" in client.start()["result"]["instructions"]
    assert names(client) == ["read_file"]
    assert "hello" in client.call("read_file", {"path": "note.txt"})["result"]["content"][0]["text"]
    assert client.call("write_file", {"path": "x", "content": "y"})["error"]["code"] == -32602


def test_each_call_is_a_line_of_the_audit_log(lines, tmp_path):
    (tmp_path / "work").mkdir()
    words = ["--tools", "list_directory,write_file", "--audit", "calls.jsonl", "--workspace", "work"]
    client = lines("serve", *words, XDG_CONFIG_HOME=str(tmp_path))
    client.start()
    client.call("list_directory", {}, id=1)
    client.call("write_file", {"path": "a", "content": "x"}, id=2)
    client.close()
    calls = [json.loads(line) for line in (tmp_path / "calls.jsonl").read_text().splitlines()]
    assert [(call["event"], call["tool"], call.get("result")) for call in calls] == [
        ("start", "list_directory", None),
        ("end", "list_directory", "ok"),
        ("start", "write_file", None),
        ("end", "write_file", "error"),
    ]
    assert {call["client"] for call in calls} == {"raw"}
    assert calls[3]["error_type"] == "approval_required"


def test_jobs_of_the_shell_end_with_the_connection(lines, tmp_path):
    client = lines("serve", "--tools", "job_*", "--allow", "job_*", XDG_CONFIG_HOME=str(tmp_path))
    client.start()
    os.mkfifo(tmp_path / "alive")
    assert not client.call("job_start", {"command": "exec sleep 1000 > alive"})["result"]["isError"]
    with open(tmp_path / "alive", "rb") as alive:  # as soon as the job has opened it
        client.close()
        assert alive.read() == b""  # at its end


def test_clients_are_notified_when_a_package_is_installed_or_removed(lines, tmp_path):
    site, info = tmp_path / "site", tmp_path / "site/made-1.0.dist-info"
    site.mkdir()
    client = lines("serve", PYTHONPATH=str(site))
    client.start()
    assert "made" not in names(client)
    (site / "made.py").write_text("from tools_core import tool\n@tool\ndef made() -> str:\n    'Made.'\n")
    (tmp_path / info.name).mkdir()
    (tmp_path / info.name / "METADATA").write_text("Metadata-Version: 2.1\nName: made\nVersion: 1.0\n")
    (tmp_path / info.name / "entry_points.txt").write_text("[ask_tools.tools]\nmade = made:made\n")
    (tmp_path / info.name).rename(info)  # installers write these last
    assert client.read()["method"] == "notifications/tools/list_changed"
    assert "made" in names(client)
    info.rename(tmp_path / info.name)
    assert client.read()["method"] == "notifications/tools/list_changed"
    assert "made" not in names(client)
