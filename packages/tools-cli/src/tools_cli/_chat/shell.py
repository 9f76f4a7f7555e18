"""`!command`: the shell of the user, outside of any sandbox, with the user's own environment."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
from contextlib import suppress

_MAX_OUTPUT = 30_000  # characters that the model reads
_ESCAPE = re.compile(  # sequences of ECMA-48, and the strings of a terminal, such as its title
    r"\x1b(?:\][^\x07\x1b]*(?:\x07|\x1b\\)|[PX^_][^\x1b]*\x1b\\|\[[0-?]*[ -/]*[@-~]|[ -/]*[0-~])"
    r"|[^\n\r]*\r(?=[^\n])|[\x00-\x08\x0b-\x1f\x7f]"
)
_FULL_SCREEN = re.compile(rb"\x1b\[\?(?:1049|1047|47)h")


def user_shell() -> str:
    """Return the program of the user's shell."""
    return os.environ.get("SHELL") or "/bin/sh"


def run_on_terminal(command: str, folder: str, source: int, target: int) -> tuple[int, bytes]:
    """Run a command in a pseudo-terminal between two descriptors of the terminal; return its code and its output.

    Programs that need a terminal work, such as an editor or a pager. The source must be in raw mode.
    """
    master, slave = pty.openpty()
    size = _copied_size(target, master, b"")
    process = subprocess.Popen(
        [user_shell(), "-c", command], cwd=folder, stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509  (Ctrl-C reaches the command)
    )  # fmt: skip
    os.close(slave)
    output = bytearray()
    try:
        with suppress(OSError):  # all programs have closed the terminal
            while True:
                is_running = process.poll() is None
                ready = select.select([source, master], [], [], 0.1 if is_running else 0)[0]
                size = _copied_size(target, master, size)
                if source in ready:
                    _write(master, os.read(source, 65_536) or b"\x04")
                if master in ready:
                    data = os.read(master, 65_536)
                    output += data
                    _write(target, data)
                elif not is_running:
                    break
    finally:
        os.close(master)  # the programs that still run receive a hang-up
    return process.wait(), bytes(output)


def outcome_of(code: int) -> str:
    """Return how a command ended, in words."""
    return f"exit code {code}" if code >= 0 else f"ended by {signal.Signals(-code).name}"


def readable(output: bytes) -> str | None:
    """Return the text of an output without escape sequences, and without its middle if it is long.

    None for a program that filled the screen, such as an editor.
    """
    if _FULL_SCREEN.search(output):
        return None
    text = _ESCAPE.sub("", output.decode(errors="replace")).strip("\n")
    hidden = len(text) - _MAX_OUTPUT
    half = _MAX_OUTPUT // 2
    return text if hidden <= 0 else f"{text[:half]}\n[... {hidden:,} characters omitted ...]\n{text[-half:]}"


def _copied_size(source: int, target: int, before: bytes) -> bytes:
    """Give a terminal the size of another one, unless it is still the one from before; return the size."""
    try:
        lines, columns = os.get_terminal_size(source)[::-1]
    except OSError:
        lines, columns = 24, 80
    size = struct.pack("HHHH", lines, columns, 0, 0)
    if size != before:
        fcntl.ioctl(target, termios.TIOCSWINSZ, size)
    return size


def _write(target: int, data: bytes) -> None:
    while data:
        data = data[os.write(target, data) :]
