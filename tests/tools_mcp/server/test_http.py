"""The server over HTTP: authentication, limits, runs of clients, and disconnected clients."""

import json
import os
import signal
import socket
import sys
import threading
from contextlib import ExitStack, contextmanager
from pathlib import Path

import anyio
import httpx2
import pytest
from mcp import Client
from starlette.testclient import TestClient

from tools_core import Context, tool
from tools_mcp import Server

PROGRAM = [sys.executable, str(Path(__file__).with_name("program.py"))]


@pytest.fixture(scope="module")
def program(tmp_path_factory, serving):
    """The port of a server that tests share."""
    with serving(tmp_path_factory.mktemp("program"), [*PROGRAM, "--http"]) as (_, port):
        yield port


@pytest.fixture
def noting(tmp_path, serving):
    """The port of a server of one test, which reads what it notes."""
    os.mkfifo(tmp_path / "notes")
    with serving(tmp_path, [*PROGRAM, "--http"]) as (_, port):
        yield port


def request(method, params=None, id=1, era="2026-07-28", envelope=None):
    """The headers and the body of one request."""
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    if era == "2026-07-28":
        headers |= {"MCP-Protocol-Version": era, "Mcp-Method": method}
        headers |= {"Mcp-Name": params["name"]} if params and "name" in params else {}
        params = {**(params or {}), "_meta": {**envelope, **(params or {}).get("_meta", {})}}
    message = {"jsonrpc": "2.0", "id": id, "method": method, "params": params or {}}
    return headers, json.dumps({name: value for name, value in message.items() if value is not None})


def post(port, headers, body):
    return httpx2.post(f"http://127.0.0.1:{port}/mcp", headers=headers, content=body, timeout=60)


def raw(port, headers, body):
    lines = [f"{name}: {value}\r\n" for name, value in {"Host": f"127.0.0.1:{port}", **headers}.items()]
    return f"POST /mcp HTTP/1.1\r\n{''.join(lines)}Content-Length: {len(body)}\r\n\r\n{body}".encode()


@contextmanager
def streaming(port, headers, body):
    """Yield the lines of an answer that has begun."""
    with httpx2.stream("POST", f"http://127.0.0.1:{port}/mcp", headers=headers, content=body, timeout=60) as answer:
        lines = answer.iter_lines()
        assert next(lines) == "event: message"
        yield lines


@pytest.mark.slow
def test_requests_of_browsers_and_invalid_requests_are_refused(program, envelope):
    headers, body = request("tools/call", {"name": "run", "arguments": {}}, envelope=envelope)
    assert post(program, headers, body).status_code == 200
    changes = {
        ("Origin", "https://evil.example"): 403,
        ("Host", "evil.example"): 421,
        ("Mcp-Name", "other"): 400,
        ("Content-Type", "text/plain"): 400,
        ("MCP-Protocol-Version", "1999-01-01"): 400,
    }
    assert {change: post(program, headers | dict([change]), body).status_code for change in changes} == changes


@pytest.mark.slow
def test_a_large_body_is_refused(program, envelope):
    headers, _ = request("tools/list", envelope=envelope)
    assert post(program, headers, "x" * (5 << 20)).status_code == 413


@pytest.fixture
def session():
    """A function that starts a session of one server, and returns a function that sends a request to it."""

    @tool(read_only=True)
    def run(context: Context) -> str:
        """Return the run."""
        return context.run_id

    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
    with TestClient(Server([run]).http_app(token="secret")) as client:  # noqa: S106  (a sample)

        def send(method, params=None, **changes):
            headers, body = request(method, params, None if method.startswith("notif") else 1, "2025-11-25")
            headers |= {"Host": "localhost", "Authorization": "Bearer secret", **changes}
            return client.post("/mcp", headers=headers, content=body)

        def start():
            name = send("initialize", hello).headers["mcp-session-id"]
            return lambda method, params=None, **changes: send(method, params, **{"Mcp-Session-Id": name, **changes})

        yield start


def test_a_session_has_a_run_after_the_initialized_notification(session):
    send = session()
    call = ("tools/call", {"name": "run", "arguments": {}})
    before = [send(*call).text for _ in range(2)]
    send("notifications/initialized")
    after = [send(*call).text for _ in range(2)]
    assert before[0] != before[1]
    assert after[0] == after[1]


@pytest.mark.slow
def test_each_session_and_each_stateless_call_has_a_run(program):
    async def runs(mode):
        async with Client(f"http://127.0.0.1:{program}/mcp", mode=mode) as client:
            return [(await client.call_tool("run", {})).content[0].text for _ in range(2)]

    async def main():
        return [await runs(mode) for mode in ("legacy", "legacy", "2026-07-28")]

    first, second, stateless = anyio.run(main)
    assert first[0] == first[1] != second[0] == second[1]
    assert stateless[0] != stateless[1]


@pytest.mark.slow
def test_a_disconnected_stateless_client_cancels_only_its_call(noting, tmp_path, envelope):
    params = {"name": "wait", "arguments": {}, "_meta": {"progressToken": "t"}}
    headers, body = request("tools/call", params, envelope=envelope)
    with streaming(noting, headers, body) as other:
        with streaming(noting, headers, body):
            pass
        with open(tmp_path / "notes") as notes:
            assert notes.readline() == "ended\n"
        assert '"progress":1' in next(other)
        headers, body = request("tools/call", {"name": "run", "arguments": {}}, envelope=envelope)
        assert post(noting, headers, body).status_code == 200


@pytest.mark.slow
def test_stalled_clients_do_not_block_other_clients(program, envelope):
    headers, body = request("tools/call", {"name": "big", "arguments": {"size": 30_000_000}}, envelope=envelope)
    sent = raw(program, headers, body)
    with ExitStack() as clients:
        for size in (len(sent), len(sent) - 10, 10):
            client = clients.enter_context(socket.create_connection(("127.0.0.1", program)))
            client.sendall(sent[:size])
        headers, body = request("tools/call", {"name": "run", "arguments": {}}, envelope=envelope)
        assert [post(program, headers, body).status_code for _ in range(3)] == [200] * 3


@pytest.mark.slow
def test_a_disconnect_within_a_request_logs_no_error(tmp_path, serving, envelope):
    with serving(tmp_path, [*PROGRAM, "--http"]) as (process, port):
        headers, body = request("tools/list", envelope=envelope)
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(raw(port, headers, body)[:-10])
        assert post(port, headers, body).status_code == 200
        process.terminate()
        assert process.stderr.read() == ""


@pytest.mark.slow
def test_the_end_of_a_session_ends_its_calls(noting, tmp_path):
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
    headers, body = request("initialize", hello, era="2025-11-25")
    session = {"Mcp-Session-Id": post(noting, headers, body).headers["mcp-session-id"]}
    params = {"name": "wait", "arguments": {}, "_meta": {"progressToken": "t"}}
    headers, body = request("tools/call", params, era="2025-11-25")
    with streaming(noting, headers | session, body):
        leaving = threading.Thread(
            target=httpx2.delete, args=(f"http://127.0.0.1:{noting}/mcp",), kwargs={"headers": session}
        )
        leaving.start()
        with open(tmp_path / "notes") as notes:
            assert notes.readline() == "ended\n"
        leaving.join()
    assert post(noting, headers | session, body).status_code == 404


@pytest.mark.slow
def test_listening_clients_do_not_delay_shutdown(tmp_path, serving, envelope):
    with serving(tmp_path, [*PROGRAM, "--http"]) as (process, port):
        filters = {"notifications": {"toolsListChanged": True}}
        headers, body = request("subscriptions/listen", filters, envelope=envelope)
        with streaming(port, headers, body) as lines:
            process.send_signal(signal.SIGTERM)
            assert '"result"' in "".join(lines)  # the stream ends as the protocol has it
        assert process.wait(60) in (0, -signal.SIGTERM)


@pytest.mark.slow
def test_ctrl_c_cancels_running_calls_without_tracebacks(tmp_path, serving, envelope):
    with serving(tmp_path, [*PROGRAM, "--http"]) as (process, port):
        params = {"name": "wait", "arguments": {}, "_meta": {"progressToken": "t"}}
        headers, body = request("tools/call", params, envelope=envelope)
        with streaming(port, headers, body):
            process.send_signal(signal.SIGINT)
            assert "Traceback" not in process.stderr.read()
        assert (tmp_path / "notes").read_text() == "ended\n"


@pytest.mark.slow
def test_a_server_with_a_token_refuses_other_clients(tmp_path, serving, envelope):
    with serving(tmp_path, [*PROGRAM, "--http"], TOKEN="secret") as (_, port):  # noqa: S106  (a sample)
        headers, body = request("tools/list", envelope=envelope)
        for sent in ({}, *({"Authorization": value} for value in ("Bearer wrong", "Basic c2VjcmV0", b"Bearer \xff"))):
            answer = post(port, headers | sent, body)
            assert answer.status_code == 401
            assert answer.headers["www-authenticate"].startswith("Bearer ")
        assert post(port, headers | {"Authorization": "Bearer secret"}, body).status_code == 200


def test_a_server_without_a_token_prints_a_new_one(tmp_path, serving, envelope):
    with serving(tmp_path, [sys.executable, "-m", "tools_core", "serve", "--http", "0"]) as (process, port):
        entry = json.loads(process.stderr.readline().partition(": ")[2])["mcpServers"]["ask-tools"]
        headers, body = request("tools/list", envelope=envelope)
        assert entry["url"] == f"http://127.0.0.1:{port}/mcp"
        assert post(port, headers, body).status_code == 401
        assert post(port, headers | entry["headers"], body).status_code == 200


@pytest.mark.slow
def test_idle_connections_do_not_keep_other_clients_out(tmp_path, serving, envelope):
    limited = ["prlimit", "--nofile=200:200", *PROGRAM, "--http"]
    with ExitStack() as stack:
        process, port = stack.enter_context(serving(tmp_path, limited))
        headers, body = request("tools/list", envelope=envelope)
        for number in range(260):
            client = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            client.sendall(raw(port, headers, body)[: number % 3 * 40])  # of a request, its headers, or nothing
        assert post(port, headers, body).status_code == 200
        process.terminate()
        assert process.stderr.read() == ""


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.2", "example.com", "::"])  # noqa: S104  (refused)
def test_a_host_that_others_can_reach_has_a_token(host):
    with pytest.raises(ValueError, match="no_token is for a server on"):
        Server([]).run_http(host, no_token=True)


@pytest.mark.parametrize(
    ("host", "url", "good", "bad"),
    [
        ("127.0.0.1", None, ["127.0.0.1:80", "localhost", "[::1]:1"], ["evil.example", "localhost.evil.example"]),
        ("127.0.0.1", "https://tools.example:8443/mcp", ["localhost", "tools.example:8443"], ["tools.example"]),
        ("127.0.0.2", None, ["127.0.0.2:80", "localhost"], ["evil.example"]),
        ("192.168.1.2", None, ["192.168.1.2:8000"], ["localhost"]),
        ("0.0.0.0", None, ["anything.example"], []),  # noqa: S104  (not bound)
    ],
    ids=["here", "behind a proxy", "another loopback", "an address", "all addresses"],
)
def test_requests_with_another_host_or_origin_are_refused(host, url, good, bad, envelope):
    headers, body = request("tools/list", envelope=envelope)
    app = Server([]).http_app(host=host, url=url, token="secret")  # noqa: S106  (a sample)
    headers["Authorization"] = "Bearer secret"
    with TestClient(app) as client:
        for name, status in [*((name, 200) for name in good), *((name, 421) for name in bad)]:
            assert client.post("/mcp", headers=headers | {"Host": name}, content=body).status_code == status
        if url is not None:
            headers["Host"] = good[0]
            for origin, status in [("https://tools.example:8443", 200), ("http://tools.example:8443", 403)]:
                sent = headers | {"Origin": origin}
                assert client.post("/mcp", headers=sent, content=body).status_code == status


@pytest.mark.slow
def test_the_command_reads_its_token_from_a_file(tmp_path, serving, envelope):
    (tmp_path / "token").write_text("secret\n")
    command = [sys.executable, "-m", "tools_core", "serve", "--http", "0", "--token-file", "token", "--read-only"]
    with serving(tmp_path, command) as (_, port):
        headers, body = request("tools/list", envelope=envelope)
        assert post(port, headers, body).status_code == 401
        answer = post(port, headers | {"Authorization": "Bearer secret"}, body)
        names = [item["name"] for item in answer.json()["result"]["tools"]]
        headers, body = request("tools/call", {"name": "job_output", "arguments": {}}, envelope=envelope)
        answer = post(port, headers | {"Authorization": "Bearer secret"}, body)
        assert "no session" in answer.json()["result"]["content"][-1]["text"]
    assert "read_file" in names
    assert "bash" not in names
