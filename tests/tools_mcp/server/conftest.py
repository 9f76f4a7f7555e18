"""Servers in this process and in child processes, and a client that writes raw lines."""

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

ASK_TOOLS = str(Path(sys.executable).with_name("ask-tools"))
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


@pytest.fixture(params=["2026-07-28", "legacy"])
def mode(request):
    """Both eras of the protocol, as the SDK's client names them."""
    return request.param


@pytest.fixture
def envelope():
    """The `_meta` of each request of 2026-07-28."""
    return ENVELOPE


class Lines:
    """A client on the standard streams of a server, which writes any lines."""

    def __init__(self, command, cwd, **environ):
        streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.process = subprocess.Popen(command, cwd=cwd, env={**os.environ, **environ}, **streams)

    def write(self, *messages):
        for message in messages:
            self.process.stdin.write((message if isinstance(message, bytes) else json.dumps(message).encode()) + b"\n")
        self.process.stdin.flush()

    def read(self):
        return json.loads(self.process.stdout.readline())

    def ask(self, method, params=None, id=1):
        self.write({"jsonrpc": "2.0", "id": id, "method": method, "params": params or {}})
        return self.read()

    def start(self):
        """Shake hands as clients of 2025-11-25 do."""
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
        answer = self.ask("initialize", hello, id=0)
        self.write({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer

    def call(self, name, arguments, id=1, **params):
        return self.ask("tools/call", {"name": name, "arguments": arguments, **params}, id)

    def close(self):
        """Close the server's input, and return its exit code and its standard error."""
        _, errors = self.process.communicate(timeout=60)
        return self.process.returncode, errors.decode()


@pytest.fixture
def lines(tmp_path):
    """Start servers: `lines()` the program, `lines("serve", ...)` the command."""
    started = []

    def start(*words, **environ):
        program = [sys.executable, str(Path(__file__).with_name("program.py"))]
        command = [ASK_TOOLS, *words] if words else program
        client = Lines(command, tmp_path, **environ)
        started.append(client)
        return client

    yield start
    for client in started:
        client.process.kill()
        client.process.communicate()


@pytest.fixture(name="serving", scope="session")
def _serving():
    """Start HTTP servers: `with serving(folder, command) as (process, port)`."""
    return serving


@contextmanager
def serving(folder, command, **environ):
    process = subprocess.Popen(command, cwd=folder, env={**os.environ, **environ}, stderr=subprocess.PIPE, text=True)
    try:
        line = process.stderr.readline()
        assert line.startswith("Serving http://"), line + process.stderr.read()
        yield process, int(line.split(":")[2].split("/")[0])
    finally:
        process.kill()
        process.communicate()
