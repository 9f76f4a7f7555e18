"""The files of docs/operate.md work: the commands of the unit and the image, the proxy, and the dump of a database."""

from __future__ import annotations

import http.client
import json
import re
import shlex
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tools_agent import Agent, ScriptedProvider, Session, open_store

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/operate.md").read_text(encoding="utf-8")
BLOCKS = {match[1]: match[2] for match in re.finditer(r"^```\w+\n# (\S+)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)}
TOKEN = "secret"  # noqa: S105  (of the test)
PUBLIC = "tools.example.com"
INITIALIZE = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}  # fmt: skip
pytestmark = pytest.mark.slow


def words_of_unit():
    (line,) = re.findall(r"^ExecStart=(.*)$", BLOCKS["/etc/systemd/system/ask-tools.service"], re.MULTILINE)
    return shlex.split(line)


def words_of_image(instruction="CMD"):
    (line,) = re.findall(rf"^{instruction} (\[.*\])$", BLOCKS["Dockerfile"], re.MULTILINE)
    return json.loads(line)


@pytest.fixture
def place(tmp_path):
    """The files of the page below a folder of the test."""
    for folder in ("etc/ask-tools", "srv/tools/shared", "var/log/ask-tools", "run/secrets"):
        (tmp_path / folder).mkdir(parents=True)
    for path in ("etc/ask-tools/token", "run/secrets/token"):
        (tmp_path / path).write_text(f"{TOKEN}\n")
    (tmp_path / "etc/ask-tools/policy.toml").write_text(BLOCKS["policy.toml"])
    return tmp_path


@pytest.fixture
def closing():
    """Callbacks at the end of the test."""
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def serve(place):
    """Start a command of the page with its paths in the test's folder, and return the port."""
    processes = []

    def started(words):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        words = [word.replace("${CREDENTIALS_DIRECTORY}", "/run/secrets") for word in words]
        words = [re.sub(r"^[\d.]+:8000$", f"127.0.0.1:{port}", word) for word in words]
        words = [f"{place}{word}" if word.startswith(("/etc", "/run", "/srv", "/var")) else word for word in words]
        command = [sys.executable, "-m", "tools_core", *words[1:]]
        process = subprocess.Popen(command, cwd=place / "srv/tools", stderr=subprocess.PIPE, text=True)
        processes.append(process)
        assert "Serving" in process.stderr.readline()
        return port

    yield started
    for process in processes:
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=20)
        assert process.returncode == -signal.SIGTERM
        assert "Traceback" not in errors


def post(connection, message, token=TOKEN, host=PUBLIC, session=None):
    """Send a message as a client of the public address; return the status, the session and the answer."""
    headers = {"Host": host, "Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    headers |= {"Authorization": f"Bearer {token}"} if token else {}
    headers |= {"Mcp-Session-Id": session} if session else {}
    connection.request("POST", "/mcp", json.dumps(message), headers)
    response = connection.getresponse()
    text = response.read().decode()
    data = text.partition("data: ")[2] or text
    is_answer = response.headers.get("Content-Type", "").startswith(("application/json", "text/event-stream"))
    return response.status, response.headers.get("Mcp-Session-Id"), json.loads(data) if is_answer and data else None


def call(connection, name, arguments):
    """Call a tool in a new session."""
    _, session, _ = post(connection, INITIALIZE)
    post(connection, {"jsonrpc": "2.0", "method": "notifications/initialized"}, session=session)
    params = {"name": name, "arguments": arguments}
    message = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}
    return post(connection, message, session=session)[2]["result"]


@pytest.mark.parametrize("words", [words_of_unit, words_of_image], ids=["systemd", "docker"])
def test_the_command_of_the_page_serves_with_token_policy_and_audit(words, serve, place, closing):
    port = serve(words())
    connection = http.client.HTTPConnection("127.0.0.1", port)
    closing.callback(connection.close)
    assert post(connection, INITIALIZE, token=None)[0] == 401
    assert post(connection, INITIALIZE, host="other.example.com")[0] == 421
    assert not call(connection, "write_file", {"path": "shared/a.txt", "content": "hi"}).get("isError")
    assert (place / "srv/tools/shared/a.txt").read_text() == "hi"
    refused = call(connection, "bash", {"command": "id"})
    assert refused["isError"]
    assert "this server runs no commands" in refused["content"][0]["text"]
    lines = [json.loads(line) for line in (place / "var/log/ask-tools/calls.jsonl").read_text().splitlines()]
    assert [line["result"] for line in lines if line["event"] == "end"] == ["ok", "error"]
    if words is words_of_image:
        health = [word.replace("8000", str(port)) for word in words_of_image("HEALTHCHECK CMD")]
        assert subprocess.run([sys.executable, *health[1:]], check=False).returncode == 0


def certificate(folder):
    """A self-signed certificate for the public name."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, PUBLIC)])
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    signed = builder.not_valid_before(now).not_valid_after(now + timedelta(days=1)).sign(key, hashes.SHA256())
    form = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (folder / "tools.pem").write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    (folder / "tools.key").write_bytes(key.private_bytes(serialization.Encoding.PEM, *form))


def nginx(stack, folder, port):
    """nginx with the configuration of the page."""
    program = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin")
    if program is None:
        pytest.skip("nginx is not installed")
    certificate(folder)
    with socket.create_server(("127.0.0.1", 0)) as free:
        public = free.getsockname()[1]
    text = BLOCKS["/etc/nginx/conf.d/tools.conf"].replace("listen 443", f"listen 127.0.0.1:{public}")
    text = text.replace(":8000", f":{port}").replace("/etc/ssl/", f"{folder}/")
    names = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    paths = "".join(f"{name}_temp_path {folder}/{name};\n" for name in names)
    main = f"pid {folder}/pid;\nerror_log stderr;\nevents {{}}\nhttp {{\naccess_log off;\n{paths}{text}}}\n"
    (folder / "nginx.conf").write_text(main)
    words = [program, "-p", str(folder), "-e", "stderr", "-c", str(folder / "nginx.conf")]
    assert subprocess.run([*words, "-t"], check=False).returncode == 0
    words[words.index("stderr")] = f"{folder}/errors"
    subprocess.run([*words], check=True, timeout=20)  # returns when it listens
    stack.callback(subprocess.run, [*words, "-s", "stop"], check=True)
    return http.client.HTTPSConnection("127.0.0.1", public, context=ssl._create_unverified_context())  # noqa: S323


def python_proxy(stack, _folder, port):
    """A reverse proxy that passes requests on, Host included."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            upstream = http.client.HTTPConnection("127.0.0.1", port)
            body = self.rfile.read(int(self.headers["Content-Length"]))
            upstream.request("POST", self.path, body, dict(self.headers))
            response = upstream.getresponse()
            data = response.read()
            self.send_response(response.status)
            for name, value in response.getheaders():
                if name.lower() not in ("transfer-encoding", "content-length", "connection"):
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
            upstream.close()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    stack.callback(server.server_close)
    stack.callback(server.shutdown)
    return http.client.HTTPConnection("127.0.0.1", server.server_port)


@pytest.mark.parametrize("proxy", [nginx, python_proxy])
def test_clients_reach_the_server_through_a_proxy(proxy, serve, place, closing):
    connection = proxy(closing, place, serve(words_of_unit()))
    closing.callback(connection.close)
    assert post(connection, INITIALIZE, token=None)[0] == 401
    result = call(connection, "write_file", {"path": "shared/b.txt", "content": "hi"})
    assert not result.get("isError")


def test_systemd_accepts_the_unit(tmp_path):
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("this system has no systemd")
    text = BLOCKS["/etc/systemd/system/ask-tools.service"]
    unit = tmp_path / "ask-tools.service"
    text = text.replace("/opt/ask-tools/bin/ask-tools", shutil.which("env")).replace("User=tools", "User=daemon")
    unit.write_text(text)
    checked = subprocess.run([analyze, "verify", unit], capture_output=True, text=True, check=False)
    assert "ask-tools.service" not in checked.stderr


def test_a_dump_of_postgresql_restores_sessions(postgresql, tmp_path):
    url = postgresql.new_database()
    name = urlsplit(url).path.removeprefix("/")
    with open_store(url) as store:
        Agent("greeting", store=store, model=ScriptedProvider("Hello!")).generate("Hi")
    place = ["-h", postgresql.folder, "-U", "tester"]
    dump = f"{postgresql.folder}/sessions.dump"
    postgresql._run("pg_dump", *place, "--format=custom", f"--file={dump}", name)
    postgresql._run("psql", *place, "-c", f"DROP DATABASE {name}", "-c", f"CREATE DATABASE {name}", "postgres")
    postgresql._run("pg_restore", *place, f"--dbname={name}", dump)
    with open_store(url) as store:
        session = Session.open(store, "greeting")
        assert [message.content for message in session] == ["Hi", "Hello!"]
        assert Agent(session, model=ScriptedProvider("Again!")).generate("More").content == "Again!"
