"""The command as a real process, with real distributions in a folder on its path."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import tools_core

# Not the interpreter of this environment, which would list this repository's packages. It starts faster without
# site-packages.
PYTHON = [sys._base_executable, "-S"]

SOURCES = [Path(tools_core.__file__).parents[1], Path(tools_core.__file__).parents[3] / "scaffold/src"]

WEATHER = '''
from typing import Annotated, Literal

from tools_core import Context, Halt, Image, Result, ToolError, tool


@tool(read_only=True)
def forecast(city: Annotated[str, "City name"], days: int = 3, units: Literal["C", "F"] = "C") -> dict:
    """Forecast the weather.

    Says nothing about the past.
    """
    return {"city": city, "days": days, "units": units}


@tool
def rain(city: str) -> str:
    """Say whether it rains."""
    return f"rain in {city}"


@tool
def missing() -> str:
    """Never find anything."""
    raise ToolError("no such city; try Oslo", "not_found")


@tool
def goodbye() -> str:
    """End the conversation."""
    raise Halt("good night")


@tool(requires_approval=True)
def flood(city: str) -> str:
    """Let it rain."""
    return f"{city} is under water"


@tool
def radar() -> list:
    """Show a picture."""
    return ["now:", Image(b"\\x89PNG\\r\\n\\x1a\\n\\x1b[31m")]


@tool
def climb(steps: int, context: Context) -> str:
    """Report progress."""
    for step in range(steps):
        context.progress(step + 1, steps, "a step \\x1b]0;owned\\x07")
    return f"{context.workspace}"


@tool
def evil() -> str:
    """Try to take over a terminal."""
    return "\\x1b]0;owned\\x07\\x1b[2Jsafe\\u202etxt.exe\\u200b\\tend\\r"


@tool
def leave() -> str:
    """End the whole program."""
    raise SystemExit(7)
'''
WEATHER_TOOLS = ["forecast", "rain", "missing", "goodbye", "flood", "radar", "climb", "evil", "leave"]


class Site:
    """A folder with installed distributions, like site-packages."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.marks = folder.parent / "marks"  # elsewhere: a new file here would count as an installation
        self.marks.mkdir()

    def install(self, distribution, entries, source, *, group="ask_tools.tools", version="1.0"):
        """Add a distribution with one module, which writes a file when it is imported."""
        module = distribution.replace("-", "_")
        mark = f"open({str(self.marks / module)!r}, 'a').write('x')\n"
        (self.folder / f"{module}.py").write_text(mark + textwrap.dedent(source), encoding="utf-8")
        info = self.folder / f"{module}-{version}.dist-info"
        info.mkdir()
        metadata = f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n"
        (info / "METADATA").write_text(metadata, encoding="utf-8")
        lines = "\n".join(f"{name} = {module}:{attribute}" for name, attribute in entries.items())
        (info / "entry_points.txt").write_text(f"[{group}]\n{lines}\n", encoding="utf-8")

    def install_weather(self):
        self.install("tools-weather", {name: name for name in WEATHER_TOOLS}, WEATHER)

    def change(self, distribution, old, new):
        path = self.folder / f"{distribution.replace('-', '_')}.py"
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))
        shutil.rmtree(self.folder / "__pycache__", ignore_errors=True)

    @property
    def imported(self):
        """The packages that were imported since this was last read."""
        marks = sorted(self.marks.iterdir())
        for mark in marks:
            mark.unlink()
        return [mark.name for mark in marks]


class CommandResult:
    """The exit code and the output of a process."""

    def __init__(self, done: subprocess.CompletedProcess[str]) -> None:
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr

    @property
    def json(self):
        return json.loads(self.out)

    def __repr__(self) -> str:
        return f"exit code {self.code}\n--- out\n{self.out}\n--- err\n{self.err}"


@pytest.fixture
def site(tmp_path):
    folder = tmp_path / "site"
    folder.mkdir()
    return Site(folder)


@pytest.fixture
def environment(site, tmp_path):
    """Environment variables of the command: the site before the sources, and no settings of this machine."""
    variables = {
        name: value for name, value in os.environ.items() if not name.startswith(("ASK_TOOLS", "COLUMNS", "XDG_"))
    }
    path = os.pathsep.join(map(str, [site.folder, *SOURCES]))
    return {**variables, "PYTHONPATH": path, "PYTHONUTF8": "1", "HOME": str(tmp_path)}


@pytest.fixture
def ask_tools(environment, tmp_path):
    """Run `ask-tools` with words in an empty folder."""
    (tmp_path / "here").mkdir()

    def run(*words, stdin="", python=PYTHON, **variables):
        done = subprocess.run(
            [*python, "-m", "tools_core", *words],
            input=stdin,
            capture_output=True,
            encoding="utf-8",
            check=False,
            timeout=300,
            cwd=tmp_path / "here",
            env={**environment, **variables},
        )
        return CommandResult(done)

    return run


@pytest.fixture
def on_terminal(environment, tmp_path):
    """Run `ask-tools` on a pseudo-terminal, type `typed` after a prompt, and return the exit code and the output."""
    pty = pytest.importorskip("pty", reason="only on systems with pseudo-terminals", exc_type=ImportError)

    def run(*words, typed="", prompt="", program=(*PYTHON, "-m", "tools_core")):
        child, terminal = pty.fork()
        if child == 0:
            os.chdir(tmp_path)
            os.execvpe(program[0], [*program, *words], environment)  # noqa: S606 - the child becomes it
        output = b""
        while True:
            if typed and prompt.encode() in output:
                os.write(terminal, typed.encode())
                typed = ""
            try:
                block = os.read(terminal, 65536)
            except OSError:  # the end on Linux; on macOS an empty read
                break
            if not block:
                break
            output += block
        os.close(terminal)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), output.decode()

    return run
