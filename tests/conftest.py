"""Rules for all tests of this repository."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from hypothesis import settings

CACHE = Path(__file__).parents[1] / ".cache"
CI = os.environ.get("CI") == "true"
# A test may skip because of the machine's system, kernel or user. What can be installed is installed in CI.
MISSING = re.compile(r"not installed|could not import|not downloaded")

# A shell starts background processes with these signals ignored, and programs that tests start would inherit that.
for number in (signal.SIGINT, getattr(signal, "SIGQUIT", signal.SIGINT)):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)

# Machines differ in speed, so examples have no deadline; CI runs the same examples each time.
settings.register_profile("house", deadline=None, derandomize=CI, print_blob=True)
settings.load_profile("house")


@pytest.fixture(scope="session")
def download():
    """Download a distribution with pip, into `.cache`: `download("name==1.0", "--only-binary=:all:")` is its path."""

    def download(release, *options):
        folder = CACHE / release
        if not folder.exists():
            CACHE.mkdir(exist_ok=True)
            with tempfile.TemporaryDirectory(dir=CACHE) as new:
                pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
                done = subprocess.run([*pip, *options, "--dest", f"{new}/files", release], check=False)
                if done.returncode:
                    pytest.skip(f"{release} is not downloaded: pip cannot reach an index")
                if not folder.exists():  # another worker may have been faster
                    os.rename(f"{new}/files", folder)
        return next(folder.iterdir())

    return download


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    return refuse_skip((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report():
    return refuse_skip((yield))


def refuse_skip(report):
    """In CI, fail a test that skips because a package is missing."""
    if CI and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2].removeprefix("Skipped: ")
        if MISSING.search(reason):
            report.outcome = "failed"
            report.longrepr = f"skipped in CI: {reason}"
    return report


def event(value):
    """One server-sent event, as providers write it."""
    return (f"event: {value['type']}\n" if "type" in value else "") + f"data: {json.dumps(value)}\n\n"


@pytest.fixture
def model_server():
    """`model_server(reply).url` is a provider: `reply(path, body)` returns a JSON object, or the list of its events."""
    servers = []

    def start(reply):
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                answer = reply(self.path.partition("?")[0], body)
                is_stream = isinstance(answer, list)
                text = "".join(map(event, answer)) if is_stream else json.dumps(answer)
                sent = text.encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream" if is_stream else "application/json")
                self.send_header("Content-Length", str(len(sent)))
                self.end_headers()
                self.wfile.write(sent)

            def log_message(self, *words):
                """Print nothing."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()
