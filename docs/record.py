"""Record `ask-tools run` and `ask-tools chat` as pictures: `python docs/record.py` writes docs/images/*.svg.

Each is a real process in a pseudo-terminal, with the model `scripted:demo`. Durations, ids and paths are replaced, so
that two recordings are equal. Needs tools-cli and pyte.
"""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time
from contextlib import suppress
from itertools import groupby
from pathlib import Path

import pyte
from rich.console import Console
from rich.style import Style
from rich.terminal_theme import DIMMED_MONOKAI
from rich.text import Text

IMAGES = Path(__file__).parent / "images"
HOME = Path("/tmp/ask-tools-demo")  # noqa: S108  (its length decides where lines break)
COLUMNS, LINES = 100, 120
LIMIT = 60  # seconds for each step
FILES = {
    "notes.md": "# Holiday\n\nTrains and hotels of the trip to Oslo.\n",
    "hotels.csv": "name,price\nGrand,190\n",
    "trains.csv": "from,to\nBergen,Oslo\n",
    "draft.bak": "old\n",
    "debug.log": "nothing\n",
}
REPLACEMENTS = [
    (re.compile(r"\d{8}-\d{6}-\d{6}-[0-9a-f]{4}"), "20261125-090000-000000-a1b2"),  # copies and changesets
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d"), "2026-11-25 09:00"),
    (re.compile(r"(?<=session )[0-9a-f]{8}\b"), "4f0c91d2"),  # sessions
    (re.compile(r"\b\d+\.\d s\b"), "0.1 s"),
    (re.compile(re.escape(str(HOME))), "~" + " " * (len(str(HOME)) - 1)),  # the columns stay the same
]


def record(name: str, words: list[str], *steps: tuple[str, str]) -> None:
    """Run a command, type each text when the terminal shows the one before it, and write a picture of the end."""
    folder = HOME / "holiday"
    shutil.rmtree(HOME, ignore_errors=True)
    folder.mkdir(parents=True)
    for path, text in FILES.items():
        (folder / path).write_text(text, encoding="utf-8")
    screen = pyte.Screen(COLUMNS, LINES)
    stream = pyte.ByteStream(screen)
    terminal, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    environment = {
        "HOME": str(HOME), "PATH": os.environ["PATH"], "TERM": "xterm-256color", "LANG": "C.UTF-8",
        "ASK_TOOLS_MODEL": "scripted:demo",
    }  # fmt: skip
    command = [sys.executable, "-m", "tools_core", *words]
    streams = {"stdin": child, "stdout": child, "stderr": child}
    process = subprocess.Popen(command, **streams, cwd=folder, env=environment, start_new_session=True)
    os.close(child)

    def read() -> None:
        if select.select([terminal], [], [], 0.1)[0]:
            with suppress(OSError):  # the process has ended
                stream.feed(os.read(terminal, 65_536))

    for expected, text in steps:
        deadline = time.monotonic() + LIMIT
        while expected not in "\n".join(screen.display):
            if time.monotonic() > deadline:
                raise SystemExit(f"{name}: waited for {expected!r} in vain:\n" + "\n".join(screen.display).rstrip())
            read()
        for _ in range(5):  # what follows it
            read()
        os.write(terminal, text.encode())
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    save(name, f"ask-tools {' '.join(words)}", screen)


def save(name: str, title: str, screen: pyte.Screen) -> None:
    """Write what a terminal shows as a picture."""
    rows = [row(screen, line) for line in range(screen.lines)]
    while rows and not rows[-1].plain.strip():
        rows.pop()
    console = Console(record=True, width=screen.columns, file=io.StringIO())
    for text in rows:
        console.print(text, no_wrap=True, crop=True)
    picture = console.export_svg(title=title, theme=DIMMED_MONOKAI, unique_id=name)
    picture = re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL).replace(
        "Fira Code, monospace", "monospace"
    )
    IMAGES.mkdir(exist_ok=True)
    (IMAGES / f"{name}.svg").write_text(picture, encoding="utf-8")


def row(screen: pyte.Screen, line: int) -> Text:
    """Return a line of a terminal with its styles."""
    cells = [screen.buffer[line][column] for column in range(screen.columns)]
    plain = "".join(cell.data for cell in cells)
    for pattern, replacement in REPLACEMENTS:
        plain = pattern.sub(lambda match, text=replacement: text.ljust(len(match[0])), plain)
    plain = re.sub(r"~( +)(/\S*)", lambda match: f"~{match[2]}{match[1]}", plain)  # the path stays whole
    text = Text(plain.rstrip())
    styles = [
        Style(
            color=None if cell.fg == "default" else cell.fg.replace("brown", "yellow"),
            bold=cell.bold, italic=cell.italics, reverse=cell.reverse,
        )
        for cell in cells[: len(text)]
    ]  # fmt: skip
    for style, columns in groupby(range(len(text)), key=styles.__getitem__):
        first, *rest = columns
        text.stylize(style, first, first + len(rest) + 1)
    return text


if __name__ == "__main__":
    preview = ["--mode", "preview"]
    record("run-preview", ["run", "Tidy this folder", *preview, "--yes"], ("what to do with the changes?", ""))
    record(
        "chat", ["chat"], ("mode auto", "Look around\r"), ("to undo: /undo", "/mode preview\r"),
        ("mode preview ", "Tidy this folder\r"), ("4 changes in the copy", "/changes\r"),
        ("what to do", "s notes.md draft.bak debug.log\r"), ("applied 3 changes", "x\r"),
        ("discarded the copy", "/undo 2\r"), ("undone 1 change", ""),
    )  # fmt: skip
    shutil.rmtree(HOME)
