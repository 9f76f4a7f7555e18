"""`ask-tools chat` in a pseudo-terminal, and a server that plays the model."""

import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

pyte = pytest.importorskip("pyte")
pytest.importorskip("prompt_toolkit")
pytest.importorskip("openai")

COMMAND = [sys.executable, "-m", "tools_core"]
_LIMIT = 90  # seconds; a backstop


class Terminal:
    """A program in a terminal of pyte. `text` is what the terminal shows, with the lines that scrolled out of it."""

    def __init__(self, words, columns=100, lines=40, **options):
        self.screen = pyte.HistoryScreen(columns, lines, history=1000)
        self._stream = pyte.ByteStream(self.screen)
        self._fd, child = pty.openpty()
        fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        streams = {"stdin": child, "stdout": child, "stderr": child}
        self.process = subprocess.Popen([*COMMAND, *words], **streams, start_new_session=True, **options)
        os.close(child)
        self.raw = b""

    @property
    def text(self):
        history = ["".join(line[x].data for x in range(self.screen.columns)) for line in self.screen.history.top]
        return "\n".join(line.rstrip() for line in [*history, *self.screen.display]).rstrip()

    @property
    def input(self):
        """The line with the cursor."""
        return self.screen.display[self.screen.cursor.y].rstrip()

    def type(self, text):
        os.write(self._fd, text.encode())

    def wait_for(self, *texts, without=None):
        """Wait until the terminal shows all texts, and the text `without` no longer."""

        def is_shown():
            return all(text in self.text for text in texts) and (without is None or without not in self.text)

        self._read_until(is_shown, f"{texts} without {without!r}")

    def wait_until(self, condition):
        """Wait until a condition holds, while the terminal goes on."""
        self._read_until(condition, "a condition")

    def wait_for_end(self):
        self._read_until(lambda: self.process.poll() is not None, "the end")
        return self.process.returncode

    def _read_until(self, is_reached, purpose):
        deadline = time.monotonic() + _LIMIT
        while not is_reached():
            assert time.monotonic() < deadline, f"waited for {purpose} in vain:\n{self.text}"
            if select.select([self._fd], [], [], 0.05)[0]:
                try:
                    data = os.read(self._fd, 65_536)
                except OSError:  # the program has ended
                    self.process.wait(_LIMIT)
                    continue
                self.raw += data
                self._stream.feed(data)

    def hang_up(self):
        """Close the terminal; it is the terminal of no session, so that no signal tells the program."""
        os.close(self._fd)
        self._fd = os.open(os.devnull, os.O_RDWR)

    def close(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        os.close(self._fd)


class Model:
    """A server that plays a model: a reply is a list of texts, calls (name, arguments) and events to wait for."""

    def __init__(self):
        self.replies, self.requests, self.names = [], [], []
        model = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):  # /v1/models
                self.send_response(200 if model.names else 404)
                self.send_header("Content-Type", "application/json")
                self.end_headers()
                data = [{"id": name, "object": "model", "created": 0, "owned_by": "x"} for name in model.names]
                self.wfile.write(json.dumps({"object": "list", "data": data}).encode())

            def do_POST(self):
                model.requests.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.end_headers()
                with suppress(ConnectionError):  # the user has interrupted the reply
                    for chunk in _chunks(model.replies.pop(0), len(model.requests)):
                        self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())

            def log_message(self, *words):
                """Print nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def texts(self, request=-1, role="user"):
        """Return the texts of the messages of a role in a request."""
        return [message["content"] for message in self.requests[request]["messages"] if message["role"] == role]

    def close(self):
        self._server.shutdown()
        self._server.server_close()


def _chunks(reply, number):
    def chunk(delta, reason=None):
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "gpt-5", "choices": [choice]}

    calls = [item for item in reply if isinstance(item, tuple)]
    for item in reply:
        if isinstance(item, threading.Event):
            item.wait(_LIMIT)
        elif isinstance(item, str):
            yield chunk({"content": item})
        else:
            index = calls.index(item)
            function = {"name": item[0], "arguments": json.dumps(item[1])}
            call = {"index": index, "id": f"call_{number}_{index}", "type": "function", "function": function}
            yield chunk({"tool_calls": [call]})
    yield chunk({}, "tool_calls" if calls else "stop")
    usage = {"prompt_tokens": 1200, "completion_tokens": 300, "total_tokens": 1500}
    yield chunk({}) | {"choices": [], "usage": usage}


@pytest.fixture
def model(monkeypatch):
    """A model for `open_chat("--model", "openai:gpt-5")`: append its replies to `model.replies`."""
    model = Model()
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    monkeypatch.setenv("OPENAI_BASE_URL", model.url)
    yield model
    model.close()


@pytest.fixture
def place(tmp_path, monkeypatch):
    """The current folder, which is empty, and a home without sessions, policy and keys."""
    for name in (
        "ANTHROPIC_API_KEY",
        "ASK_TOOLS_MODEL",
        "ASK_TOOLS_SESSIONS",
        "NO_COLOR",
        "COLORFGBG",
        "VISUAL",
        "EDITOR",
    ):
        monkeypatch.delenv(name, raising=False)
    for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path / "folder")
    monkeypatch.setenv("TERM", "xterm-256color")
    return tmp_path / "folder"


@pytest.fixture
def open_chat(place):
    """Start a chat: `open_chat("--model", "scripted:demo", columns=60)`."""
    terminals = []

    def start(*words, model="scripted:demo", mode="ask", columns=100, lines=40, env=None):
        options = [*(["--model", model] if model else []), *(["--mode", mode] if mode else [])]
        terminal = Terminal(["chat", *options, *words], columns, lines, env={**os.environ, **(env or {})})
        terminals.append(terminal)
        return terminal

    yield start
    for terminal in terminals:
        terminal.close()
