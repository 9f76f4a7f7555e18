from __future__ import annotations

import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tools_core.command import main
from tools_mcp import McpToolset

ODD = Path(__file__).with_name("odd_server.py")


@pytest.fixture
def log(tmp_path):
    """The file in which the odd server writes what it has seen."""
    return tmp_path / "log"


@pytest.fixture
def command(log):
    """The command of the odd server in a mode: `command("hangs")`."""

    def command(mode=""):
        return [sys.executable, str(ODD), mode, str(log)]

    return command


@pytest.fixture
def odd(command):
    """A toolset of the odd server in a mode."""
    toolsets = []

    def odd(mode="", **options):
        toolsets.append(McpToolset(command(mode), **{"name": "odd", **options}))
        return toolsets[-1]

    yield odd
    for toolset in toolsets:
        toolset.close()


@pytest.fixture
def web():
    """`web(reply)` is the URL of a server of 2025-11-25 with a tool `echo`.

    `reply(request, session)` answers a call: with a result, or with a status, headers and a body. `first` answers all.
    """
    info = {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "web", "version": "1"},
    }
    results = {"initialize": info, "tools/list": {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}}
    servers = []

    def web(reply, first=None):
        class Handler(BaseHTTPRequestHandler):
            sessions = 0

            def do_POST(self):
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                method, session = request["method"], self.headers["Mcp-Session-Id"]
                if method == "initialize":
                    Handler.sessions += 1
                    session = str(Handler.sessions)
                response = (
                    first
                    or results.get(method)
                    or (reply(request, session) if method == "tools/call" else (202, {}, b""))
                )
                if isinstance(response, dict):
                    answer = {"jsonrpc": "2.0", "id": request["id"], "result": response}
                    response = 200, {"Content-Type": "application/json"}, json.dumps(answer).encode()
                status, headers, body = response
                self.send_response(status)
                for name, value in {"Content-Length": len(body), "Mcp-Session-Id": session, **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *words):
                """Print nothing."""

        servers.append(ThreadingHTTPServer(("127.0.0.1", 0), Handler))
        threading.Thread(target=servers[-1].serve_forever, args=(0.01,), daemon=True).start()
        return f"http://127.0.0.1:{servers[-1].server_port}"

    yield web
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture
def ask_tools(tmp_path, monkeypatch, capfd):
    """Run the command as a user whose files are in the test's folder: `ask_tools("mcp", "list").out`."""
    for name, folder in (("HOME", ""), ("XDG_CONFIG_HOME", "config"), ("XDG_CACHE_HOME", "cache")):
        monkeypatch.setenv(name, str(tmp_path / folder))
    for name in [name for name in os.environ if name.startswith("ASK_TOOLS_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)

    def ask_tools(*words, status=0):
        capfd.readouterr()
        code = main([*map(str, words)])
        done = capfd.readouterr()
        assert code == status, done.out + done.err
        return done

    return ask_tools
