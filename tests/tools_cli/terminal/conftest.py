"""`ask-tools` on a pseudo-terminal, for a user without settings in an empty folder."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
from types import SimpleNamespace

import pytest

COMMAND = [sys.executable, "-m", "tools_core"]
VARIABLES = ("OPENAI_API_KEY", "ASK_TOOLS_MODEL", "ASK_TOOLS_SESSIONS", "ASK_TOOLS_ISOLATION", "EDITOR", "VISUAL")


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """The current folder and workspace."""
    for name in (*VARIABLES, "NO_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("TERM", "xterm-256color")
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path / "folder")
    return tmp_path / "folder"


class Terminal:
    """A command on a terminal: its output, and the keys of a person."""

    def __init__(self, words, columns=80, stdin=None):
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        self._process = subprocess.Popen(
            [*COMMAND, *words],
            stdin=slave if stdin is None else stdin,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(1, termios.TIOCSCTTY, 0),  # noqa: PLW1509  (Ctrl-C reaches the command)
        )
        os.close(slave)
        self.screen, self._seen = "", 0

    def expect(self, text):
        """Wait until a text is printed after what was expected before."""
        while (place := self.screen.find(text, self._seen)) < 0:
            assert self._read(), f"{text!r} was not printed:\n{self.screen}"
        self._seen = place + len(text)

    def type(self, line, after="answer: "):
        """Type a line when the command asks for it."""
        self.expect(after)
        os.write(self._master, f"{line}\n".encode())

    def interrupt(self):
        """Press Ctrl-C."""
        os.write(self._master, b"\x03")

    def end(self, code=0):
        """Wait for the end of the command, and return everything that it has printed."""
        while self._read():
            pass
        os.close(self._master)
        assert self._process.wait() == code, self.screen
        return self.screen

    def _read(self):
        try:
            assert select.select([self._master], [], [], 90)[0], f"the command printed nothing more:\n{self.screen}"
            data = os.read(self._master, 65_536)
        except OSError:  # the command has ended
            return False
        self.screen += data.decode(errors="replace").replace("\r\n", "\n")
        return bool(data)


@pytest.fixture
def terminal():
    """Run a command on a terminal."""
    return Terminal


@pytest.fixture
def ask():
    """Run a command without a terminal."""

    def run(*words, code=0, text=None):
        pipes = {"stdin": subprocess.DEVNULL} if text is None else {"input": text}
        process = subprocess.run([*COMMAND, *words], check=False, capture_output=True, text=True, **pipes)
        assert process.returncode == code, process.stderr
        return SimpleNamespace(out=process.stdout, err=process.stderr)

    return run
