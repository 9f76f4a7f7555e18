"""The search by `rg`, where it is installed: told which folders to look into, kept inside, and bounded.

It counts the matching lines of each file in one go. Which lines those are it is asked in a second, if that cannot be
told without it, of files that are already open here; so that what is shown was read through descriptors that cannot
lead out.
"""

from __future__ import annotations

import os
import select
import subprocess
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

from tools_core import ToolError
from tools_filesystem._search._landlock import start_confined
from tools_filesystem._search._scan import Hit

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Iterable, Iterator

    from tools_filesystem._search._budget import Budget
    from tools_filesystem._search._regex import Query
    from tools_filesystem._search._scan import Part
    from tools_filesystem._workspace import Workspace

_MOST_OUTPUT = 32 << 20
_MOST_MEMORY = 1 << 30  # a line is held whole by rg
_MOST_ARGUMENTS = 256 << 10  # bytes of folder names in one start
_MOST_COMPLAINTS = 4096
_FIRST_FOLDERS = 400  # that rg is started with, while more are being found
_MOST_RUNNING = 2
_TICK = 200  # milliseconds between two looks at whether anybody still waits
_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache", "/nix/store")
_ALWAYS = (
    "--no-config", "--color=never", "--no-heading", "--no-messages", "--no-mmap", "--encoding=none", "--null",
    "--with-filename",
)  # fmt: skip
_ESCAPED = str.maketrans({char: f"\\{char}" for char in "\\*?[]{}!"})
_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+")


class EngineError(Exception):
    """rg did not do its work, for a reason that is not the pattern."""


def find_rg(workspace: Workspace) -> str | None:
    """Where rg is; None if it is not installed, or lies where a tool could have put it."""
    if not os.path.isdir("/proc/self/fd"):  # how it is told which folder is meant
        return None
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        path = os.path.join(folder, "rg")
        if folder.startswith("/") and os.access(path, os.X_OK) and os.path.isfile(path):
            return None if _is_writable_place(path, workspace) else path
    return None


def _is_writable_place(path: str, workspace: Workspace) -> bool:
    real = os.path.realpath(path)
    return any(f"{real}/".startswith(f"{os.path.realpath(root.path)}/") for root in workspace.roots if root.writable)


class Counting:
    """Processes of rg that count, a few at a time."""

    def __init__(self, rg: Ripgrep, start: int, how: list[str]) -> None:
        self.running: list[subprocess.Popen[bytes]] = []
        self._rg, self._start, self._how = rg, start, how
        self._found: dict[str, int] = {}

    def begin(self, folders: list[str], without: list[str]) -> None:
        """Count in the files right in these folders, each of which is empty or ends with a slash, without some."""
        left_out = [f"--glob=!/{path.translate(_ESCAPED)}" for path in without]
        self._begin("--hidden", "--max-depth=1", *left_out, "--", *(f"./{folder}" for folder in folders))

    def begin_all(self, depth: int, *, hidden: bool) -> None:
        """Count in all files that lie at most so deep."""
        self._begin(f"--max-depth={depth}", "--one-file-system", "--hidden" if hidden else "--no-hidden", "--", "./")

    def found(self) -> dict[str, int]:
        """The count of each file that has one, when all is done."""
        while self.running:
            self._finish()
        return self._found

    def _begin(self, *arguments: str) -> None:
        if len(self.running) == _MOST_RUNNING:
            self._finish()
        self.running.append(self._rg.start([*self._how, *arguments], self._start))

    def _finish(self) -> None:
        self._found.update(_parse_counts(self._rg.finish(self.running.pop(0))))


class Ripgrep:
    """One search by rg."""

    name = "rg"

    def __init__(self, program: str, query: Query, budget: Budget) -> None:
        self._program = program
        self._budget = budget
        self._query = [f"--regexp={query.source}"]
        self._query += ["--fixed-strings"] if query.is_fixed else []
        self._query += ["--ignore-case" if query.ignore_case else "--case-sensitive"]
        self.is_partial = False  # rg could not read everything

    @contextmanager
    def counting(self, start: int, *, endings: Iterable[str] = ()) -> Generator[Counting]:
        """Count the matching lines of files below a descriptor; `endings` may leave out others.

        What is still running at the end of the block is killed.
        """
        # A count takes reading to the end, which also shows whether a file is binary.
        how = ["--count", "--no-ignore", *self._query]
        if all(map(_SAFE.issuperset, endings)):
            how += [f"--glob=*{ending}" for ending in endings]
        counting = Counting(self, start, how)
        try:
            yield counting
        finally:
            for process in counting.running:
                _end(process)

    def count_in(self, file: int) -> int:
        """The number of matching lines of one open file, taken as text."""
        output = self._run(["--count", "--text", *self._query, "--", f"/proc/self/fd/{file}"], [file])
        return sum(count for _, count in _parse_counts(output))

    def hits(self, parts: list[Part]) -> dict[int, list[Hit]]:
        """The lines of open files that match, by the file: as many as are to be passed over and taken."""
        most = max(part.skip + part.take for part in parts)
        # Only where the lines are is asked for; a limit of one column keeps the lines themselves out.
        how = ["--line-number", "--byte-offset", "--column", "--max-columns=1", "--text", "--threads=1",
               f"--max-count={most}"]  # fmt: skip
        paths = {f"/proc/self/fd/{part.file}": part.file for part in parts}
        found: dict[int, list[Hit]] = {file: [] for file in paths.values()}
        for line in self._run([*how, *self._query, "--", *paths], paths.values()).split(b"\n"):
            path, _, rest = line.partition(b"\0")
            numbers = rest.split(b":", 3)
            if len(numbers) < 3:
                continue
            file = paths[path.decode()]
            if len(numbers) == 4 and numbers[2].isdigit():
                number, column, start = map(int, numbers[:3])
            else:  # rg tells no column of what is empty and lies behind the last byte, as `$` may
                number, start = map(int, numbers[:2])
                column = os.fstat(file).st_size - start + 1
            found[file].append(Hit(number, start, column - 1))
        return found

    def start(self, arguments: list[str], folder: int) -> subprocess.Popen[bytes]:
        """Start rg in a folder that it cannot read out of."""
        opened = [os.open(path, os.O_PATH) for path in (self._program, *_LIBRARIES) if os.path.exists(path)]
        start = self._starter(arguments, f"/proc/self/fd/{folder}", ())
        try:
            with open(os.devnull, "rb") as nothing:  # here, because the confined thread cannot
                try:
                    return _limited(start_confined(partial(start, stdin=nothing), [folder, *opened]))
                except OSError:  # no Landlock here; what rg reports is read again through descriptors in any case
                    return _limited(start(stdin=nothing))
        except OSError as error:
            raise EngineError(f"rg cannot be started: {error.strerror}") from error
        finally:
            for descriptor in opened:
                os.close(descriptor)

    def finish(self, process: subprocess.Popen[bytes]) -> bytes:
        """What rg writes until it ends, or until the budget does."""
        try:
            output, complaints, is_whole = self._read(process)
        finally:
            code = _end(process)
        if not is_whole:
            return output[: output.rfind(b"\n") + 1]
        if code == 2 and complaints and not output:
            raise _explained(complaints)
        if code not in (0, 1, 2):
            raise EngineError(f"rg ended with {code}")
        self.is_partial = self.is_partial or code == 2
        return output

    def _run(self, arguments: list[str], files: Collection[int]) -> bytes:
        """Run rg over open files, which are all that it is told of."""
        try:
            process = self._starter(arguments, "/", files)(stdin=subprocess.DEVNULL)
        except OSError as error:
            raise EngineError(f"rg cannot be started: {error.strerror}") from error
        return self.finish(_limited(process))

    def _starter(self, arguments: list[str], folder: str, files: Collection[int]) -> partial[subprocess.Popen[bytes]]:
        return partial(
            subprocess.Popen, [self._program, *_ALWAYS, *arguments], cwd=folder, env={}, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, pass_fds=files, bufsize=0, process_group=0,
        )  # fmt: skip

    def _read(self, process: subprocess.Popen[bytes]) -> tuple[bytes, bytes, bool]:
        """What the process writes to its two pipes, and whether that is all."""
        assert process.stdout is not None  # noqa: S101  (said to the type checker)
        assert process.stderr is not None  # noqa: S101
        out, complaints = bytearray(), bytearray()
        kept = {process.stdout.fileno(): (out, _MOST_OUTPUT), process.stderr.fileno(): (complaints, _MOST_COMPLAINTS)}
        ready = select.poll()
        for descriptor in kept:
            ready.register(descriptor, select.POLLIN)
        is_whole = True
        while kept and is_whole:
            for descriptor, _ in ready.poll(min(_TICK, 1 + 1000 * self._budget.left())):
                data = os.read(descriptor, 1 << 16)
                into, most = kept[descriptor]
                into += data[: most - len(into)]
                if not data:
                    ready.unregister(descriptor)
                    del kept[descriptor]
            is_whole = self._budget.take()
            if len(out) >= _MOST_OUTPUT:
                self._budget.stop("too many files match")
                is_whole = False
        return bytes(out), bytes(complaints), is_whole


def _limited(process: subprocess.Popen[bytes]) -> subprocess.Popen[bytes]:
    import resource  # POSIX alone

    with suppress(OSError, AttributeError, ValueError):
        resource.prlimit(process.pid, resource.RLIMIT_DATA, (_MOST_MEMORY, _MOST_MEMORY))
    return process


def _end(process: subprocess.Popen[bytes]) -> int:
    """Kill it if it still runs, and take back all that it had; how it ended."""
    process.kill()
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
    return process.wait()


def batches(folders: Iterable[str]) -> Iterator[list[str]]:
    """Some folders at a time, of the first ones few, so that the work begins soon."""
    some: list[str] = []
    most, size = _FIRST_FOLDERS, 0
    for folder in folders:
        some.append(folder)
        size += len(folder) + 11
        if len(some) >= most or size > _MOST_ARGUMENTS:
            yield some
            most, some, size = most * 4, [], 0
    if some:
        yield some


def _parse_counts(output: bytes) -> Iterator[tuple[str, int]]:
    """Each path ends with a NUL, and has a count and a line break behind it."""
    at = 0
    while (end := output.find(b"\0", at)) >= 0 and (stop := output.find(b"\n", end)) >= 0:
        yield os.fsdecode(output[at:end]).removeprefix("./"), int(output[end + 1 : stop])
        at = stop + 1


def _explained(complaints: bytes) -> ToolError:
    text = complaints.decode(errors="replace").partition("\n\nConsider")[0].strip()
    if "regex" in text.lower() or "literal" in text or "escape" in text:
        message = f"pattern is no valid regular expression: {text}\nfixed_strings=true searches for plain text"
        return ToolError(message, "validation_error")
    raise EngineError(text)
