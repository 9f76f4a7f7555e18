"""Servers in jobs: the calls of a run reach them on localhost; other runs and the host do not."""

from __future__ import annotations

import socket

import pytest

from tools_core import Context
from tools_shell import Bash, JobInput, JobOutput, JobStart, Python, end_run

SERVER = """
import socket
listener = socket.create_server(("127.0.0.1", 0))
print(f"port {listener.getsockname()[1]}.", flush=True)
while True:
    connection, _ = listener.accept()
    connection.sendall(b"hello")
    connection.close()
"""
CLIENT = "import socket; print(socket.create_connection(('localhost', {port}), 5).recv(5).decode())"


class Run:
    """Calls of one run at one level."""

    def __init__(self, level, root, run_id):
        self.context = Context(workspace=root, run_id=run_id)
        self.bash, self.python, self.start = Bash(sandbox=level), Python(sandbox=level), JobStart(sandbox=level)

    def serve(self):
        """Start a server and return the port; skip the test if the result says that no call can reach it."""
        started = self.start.call({"command": f"exec python3 -u -c '{SERVER}'"}, self.context)
        if "cannot reach the ports of this job" in started.content:
            pytest.skip("this system does not allow private networks")
        read = JobOutput().call({"id": started.output["id"], "wait_for": ".", "wait": 50}, self.context)
        return int(read.output["output"].split()[1].rstrip("."))

    def fetch(self, port, **arguments):
        return self.python.call({"code": CLIENT.format(port=port), **arguments}, self.context).output

    def fetch_by_script(self, port):
        script = f"exec 3<>/dev/tcp/127.0.0.1/{port} && cat <&3"
        return self.bash.call({"command": script}, self.context).output["output"]


@pytest.fixture
def run(level, root):
    yield Run(level, root, "one")
    end_run("one")
    end_run("another")


def test_a_server_answers_every_tool_of_its_run(run):
    assert run.fetch(1, session="s")["error"]["type"] == "ConnectionRefusedError"  # it is older than the server
    port = run.serve()
    assert run.fetch_by_script(port) == "hello"
    assert run.fetch(port)["output"] == "hello\n"
    assert run.fetch(port, session="s")["output"] == "hello\n"
    script = f"read -r line; exec 3<>/dev/tcp/127.0.0.1/{port} && cat <&3"
    other = run.start.call({"command": script, "stdin": True}, run.context)
    JobInput().call({"id": other.output["id"], "text": "go\n"}, run.context)
    read = JobOutput().call({"id": other.output["id"], "until_end": True, "wait": 50}, run.context)
    assert read.output["output"] == "hello"


def test_other_runs_and_the_host_do_not_reach_a_server_in_a_sandbox(run, level, root):
    if level in {"none", "contained"}:
        pytest.skip("it shares the network of the host")
    port, other = run.serve(), Run(level, root, "another")
    assert "hello" not in other.fetch_by_script(port)
    other.serve()
    assert other.fetch(port)["error"]["type"] == "ConnectionRefusedError"
    with socket.socket() as client:
        assert client.connect_ex(("127.0.0.1", port)) != 0


def test_a_private_network_does_not_reach_the_host(run, level):
    if level in {"none", "contained"}:
        pytest.skip("it shares the network of the host")
    run.serve()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        assert run.fetch(listener.getsockname()[1])["error"]["type"] == "ConnectionRefusedError"
    interfaces = run.python.call({"code": "[name for _, name in __import__('socket').if_nameindex()]"}, run.context)
    assert interfaces.output["value"].startswith("['lo'")
