"""Servers in jobs: the calls of a run reach them on localhost; other runs and the host do not."""

from __future__ import annotations

import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tools_core import Context, ToolError
from tools_shell import Bash, JobInput, JobOutput, JobStart, Python, Sandbox, end_run

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


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        body = f"{self.path} {self.headers['Host']}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Print nothing."""


@pytest.fixture
def served():
    """The port of an HTTP server on this machine, outside of every sandbox."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()


def fetching(url, tunnel=False):
    """Return code that fetches a URL through the proxy, or `/t?x=1` from its host through a tunnel."""
    return f"""
import http.client, os
from urllib.parse import urlsplit
proxy, url = urlsplit(os.environ['HTTPS_PROXY']), urlsplit('{url}')
connection = http.client.HTTPConnection(proxy.hostname, proxy.port)
if {tunnel}:
    connection.set_tunnel(url.hostname, url.port)
connection.request('GET', '/t?x=1' if {tunnel} else '{url}')
answer = connection.getresponse()
print(answer.status, answer.read().decode())
"""


@pytest.fixture(params=["bubblewrap", pytest.param("landlock", marks=pytest.mark.slow)])
def reaching(request, root):
    """`reaching(*hosts)`: runs Python code in a sandbox that reaches these hosts."""
    try:
        Bash(root, sandbox=request.param).diagnose()
    except ToolError as error:
        pytest.skip(f"this system does not have it: {error.message}")

    def reaching(*hosts):
        tool = Python(root, sandbox=Sandbox(level=request.param, network=hosts))
        return lambda code: tool.call(code=code)

    return reaching


@pytest.mark.parametrize("tunnel", [False, True])
def test_a_command_reaches_the_hosts_that_the_user_allows(reaching, served, tunnel):
    run = reaching(f"127.0.0.1:{served}")
    output = run(fetching(f"http://127.0.0.1:{served}/a?b=c", tunnel)).output["output"]
    path = "/t?x=1" if tunnel else "/a?b=c"
    assert output == f"200 {path} 127.0.0.1:{served}\n"


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_programs_reach_an_allowed_server_of_this_machine_by_its_address(reaching, served, name):
    fetch = f"from urllib.request import urlopen; print(urlopen('http://{name}:{served}/a', timeout=9).read().decode())"
    assert reaching(f"{name}:{served}")(fetch).output["output"] == f"/a {name}:{served}\n"


REFUSED = {
    "another port": ("127.0.0.1:1", "http://127.0.0.1:{port}/"),
    "another name for the machine": ("example.org", "http://localhost:{port}/"),
    "an address with other digits": ("example.org", "http://2130706433:{port}/"),
    "a name that ends alike": ("example.org", "http://evilexample.org:80/"),
    "the parent of all names": ("*.example.org", "http://example.org:80/"),
    "a user before the host": ("example.org", "http://example.org@127.0.0.1:{port}/"),
}


@pytest.mark.parametrize("tunnel", [False, True])
@pytest.mark.parametrize("case", REFUSED)
def test_a_command_reaches_no_other_host(reaching, served, case, tunnel):
    host, url = REFUSED[case]
    result = reaching(host)(fetching(url.format(port=served), tunnel))
    assert "200" not in result.content.partition("[done")[0]
    assert "Forbidden" in result.content or "403" in result.content
    direct = f"import socket; socket.create_connection(('127.0.0.1', {served}), 5)"
    assert "ConnectionRefusedError" in reaching(host)(direct).content


def test_a_name_below_an_allowed_one_does_not_lead_to_this_machine(reaching, served, monkeypatch):
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [(2, 1, 6, "", ("127.0.0.1", served))])
    assert "502" in reaching(f"*.example.org:{served}")(fetching(f"http://x.example.org:{served}/")).content


@pytest.mark.parametrize("host", ["", "http://example.org", "example.org/x", "a b", "u@example.org", "example.org:x"])
def test_invalid_names_of_hosts_are_refused(host):
    with pytest.raises(ValueError, match="is not a host"):
        Sandbox(network=(host,))
