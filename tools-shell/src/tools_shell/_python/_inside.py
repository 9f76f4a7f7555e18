"""The program that runs inside of an interpreter: it runs pieces of code in one `__main__`, and answers each.

It is passed to an interpreter as text, so it imports nothing of ours, and works on every Python from 3.8 on. Argument 1
is the descriptor of a channel: a request is code, a reply is fields, each a letter and data; lengths are four bytes.
"""

from __future__ import annotations

import io
import os
import sys
from _ast import Expr, Expression, PyCF_ALLOW_TOP_LEVEL_AWAIT, PyCF_ONLY_AST

if sys.version_info < (3, 8):  # noqa: UP036  (of the interpreter that runs this, not of ours)
    sys.exit("python code needs Python 3.8 or later, and this is " + sys.version)

TYPE_CHECKING = False  # importing typing would take longer than all of this module
if TYPE_CHECKING:
    import signal as _signal
    from typing import Any
else:
    import _signal  # `signal` without its enumerations, which take 5 ms

VALUE = 16_000  # characters of a value, or of a traceback
_FRAMES = 100  # of a traceback, the last ones
_PICTURES, _BYTES, _SIDE = 8, 4 << 20, 2_000  # pictures of one reply, bytes and pixels of each
_COROUTINE = 0x80  # inspect.CO_COROUTINE


class Interpreter:
    """Runs one piece of code after another, as the interactive interpreter does."""

    def __init__(self, channel: int) -> None:
        os.set_inheritable(channel, False)
        self._channel = channel
        self._identity = _identity(channel)
        self._pid = os.getpid()
        self._sources: dict[str, str] = {}
        self._loop: Any = None
        self._path = [entry for entry in sys.path if entry]  # the code may change it
        self._streams = {name: (getattr(sys, name), os.dup(number)) for name, number in (("stdout", 1), ("stderr", 2))}
        for stream, _ in self._streams.values():
            stream.reconfigure(line_buffering=True)  # what was printed is not lost, however the process ends
        self._main = type(sys)("__main__")
        self._main.__dict__["__builtins__"] = sys.modules["builtins"]
        sys.modules["__main__"] = self._main
        sys.argv = [""]
        sys.path[:] = ["", *self._path]

    def serve(self) -> int:
        """Answer until the channel is closed, or one piece of code was all; returns the exit code."""
        status = 0
        while (request := self._read()) is not None:
            is_last, code = request[:1] == b"1", request[1:].decode("utf-8", "surrogatepass")
            reply, status = self._answer(code, is_last=is_last)
            if _identity(self._channel) != self._identity:
                sys.stderr.write("the code has closed the descriptor that its value is reported on\n")
                return status
            data = b"".join(letter + len(value).to_bytes(4, "big") + value for letter, value in reply)
            self._write(len(data).to_bytes(4, "big") + data)
            if is_last:
                return status
        return 0

    def _answer(self, code: str, *, is_last: bool) -> tuple[list[tuple[bytes, bytes]], int]:
        fields: list[tuple[bytes, bytes]] = []
        status = 0
        try:
            try:
                # While no code runs, an interrupt that comes late is ignored.
                _signal.signal(_signal.SIGINT, _signal.default_int_handler)
                _signal.pthread_sigmask(_signal.SIG_UNBLOCK, (_signal.SIGINT,))
                fields = self._run(code)
                if is_last:
                    self._close_loop()
            finally:
                _signal.signal(_signal.SIGINT, _signal.SIG_IGN)
        except SystemExit as error:
            status = self._exit_code(error)
            fields = [(b"x", b"%d" % status)]
        except BaseException as error:  # noqa: BLE001  (whatever the code raises is an answer)
            status = 1
            fields = self._describe(error)
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except BaseException:  # noqa: BLE001, S112  (the code's own stream)
                continue
        if os.getpid() != self._pid:  # a fork of the code has no part in the conversation
            if status and fields[0][0] != b"x":
                sys.stderr.write(dict(fields)[b"b"].decode() + "\n")
            os._exit(status)
        if is_last:
            _signal.signal(_signal.SIGINT, _signal.default_int_handler)
        else:
            self._restore_streams()
        return fields, status

    def _run(self, code: str) -> list[tuple[bytes, bytes]]:
        name = f"<code {len(self._sources) + 1}>"
        self._sources[name] = code
        self._publish()
        flags = PyCF_ALLOW_TOP_LEVEL_AWAIT
        tree = compile(code, name, "exec", PyCF_ONLY_AST | flags, dont_inherit=True)
        last = tree.body.pop() if tree.body and type(tree.body[-1]) is Expr else None
        # All is compiled before anything runs: a mistake in the last line has no effects.
        parts = [compile(tree, name, "exec", flags, dont_inherit=True)]
        if last is not None:
            parts.append(compile(Expression(last.value), name, "eval", flags, dont_inherit=True))
        value = None
        for part in parts:
            value = eval(part, self._main.__dict__)  # noqa: S307  (running code is what this program is for)
            if part.co_flags & _COROUTINE:
                value = self._await(value)
        if last is None or value is None:
            return _pictures(None)
        sys.modules["builtins"].__dict__["_"] = value
        return [(b"v", _encoded(_shown(value))), *_pictures(value)]

    def _await(self, coroutine: Any) -> Any:
        asyncio = self._load("asyncio")
        if self._loop is None or self._loop.is_closed():
            self._loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self._loop)
        task = self._loop.create_task(coroutine)
        try:
            return self._loop.run_until_complete(task)
        except BaseException:
            if not task.done():  # interrupted: it must not go on at the next `await`
                task.cancel()
                self._loop.run_until_complete(asyncio.wait({task}))
            raise

    def _close_loop(self) -> None:
        """End the tasks that are left, as `asyncio.run` does."""
        if self._loop is not None and not self._loop.is_closed():
            asyncio = self._load("asyncio")
            tasks = asyncio.all_tasks(self._loop)
            for task in tasks:
                task.cancel()
            if tasks:
                self._loop.run_until_complete(asyncio.wait(tasks))
            self._loop.close()

    def _exit_code(self, error: SystemExit) -> int:
        code = error.code
        if code is None or isinstance(code, int):
            return int(code or 0) & 0xFF
        sys.stderr.write(f"{code}\n")
        return 1

    def _describe(self, error: BaseException) -> list[tuple[bytes, bytes]]:
        """Return the type, the message, and a traceback from the first frame of the code on."""
        try:
            message = str(error)
        except Exception as failure:  # noqa: BLE001  (the code's own method)
            message = f"(its message cannot be shown: {type(failure).__name__})"
        try:
            traceback = self._load("traceback")
            self._publish()
            frames = error.__traceback__
            while frames is not None and frames.tb_frame.f_code.co_filename not in self._sources:
                frames = frames.tb_next
            shown = traceback.TracebackException(type(error), error, frames, limit=-_FRAMES)
            text = "".join(shown.format()).rstrip("\n")
        except Exception as failure:  # noqa: BLE001  (the code may have broken what this needs)
            text = f"{type(error).__name__}: {message}\n(no traceback: {type(failure).__name__})"
        fields = ((b"t", type(error).__name__), (b"m", message), (b"b", text))
        return [(letter, _encoded(_clipped(part))) for letter, part in fields]

    def _publish(self) -> None:
        """Let tracebacks show the lines of the code, once the module that reads them is loaded."""
        linecache = sys.modules.get("linecache")
        if linecache is not None:
            for name, code in self._sources.items():
                linecache.cache[name] = (len(code), None, code.splitlines(True), name)

    def _load(self, name: str) -> Any:
        """Import from the standard library, whatever the workspace has of that name."""
        path, sys.path = sys.path, self._path
        try:
            return __import__(name)
        finally:
            sys.path = path

    def _restore_streams(self) -> None:
        """Undo what the code did to standard output and error."""
        for number, (name, (stream, spare)) in enumerate(self._streams.items(), 1):
            if _identity(number) != _identity(spare):
                os.dup2(spare, number)
            if stream.closed:
                stream = open(number, "w", 1, encoding="utf-8", closefd=False)  # noqa: SIM115, PLW2901
                self._streams[name] = stream, spare
            setattr(sys, name, stream)

    def _read(self) -> bytes | None:
        size = self._exactly(4)
        return self._exactly(int.from_bytes(size, "big")) if size else None

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            chunk = os.read(self._channel, size - len(data))
            if not chunk:
                return b""
            data += chunk
        return data

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._channel, view) :]


def _identity(descriptor: int) -> tuple[float, ...]:
    try:
        return os.fstat(descriptor)[1:3]
    except OSError:
        return ()


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")


def _clipped(text: str) -> str:
    half = VALUE // 2
    if len(text) <= VALUE:
        return text
    return f"{text[:half]}\n[... {len(text) - 2 * half:,} characters omitted ...]\n{text[-half:]}"


def _shown(value: Any) -> str:
    try:
        return _clipped(str(repr(value)))
    except Exception as error:  # noqa: BLE001  (the code's own method)
        return f"<{type(value).__name__} whose repr raised {type(error).__name__}>"


def _pictures(value: Any) -> list[tuple[bytes, bytes]]:
    """Return the open figures of matplotlib, which are closed, and the value, if it is a picture."""
    fields: list[tuple[bytes, bytes]] = []
    try:
        pyplot = sys.modules.get("matplotlib.pyplot")
        figures = [pyplot.figure(number) for number in pyplot.get_fignums()] if pyplot is not None else []
        kind = getattr(sys.modules.get("matplotlib.figure"), "Figure", ())
        if isinstance(value, kind) and all(value is not figure for figure in figures):
            figures.append(value)
        for figure in figures[:_PICTURES]:
            buffer = io.BytesIO()
            figure.savefig(buffer, format="png", dpi=min(figure.dpi, _SIDE / max(figure.get_size_inches())))
            fields.append((b"p", buffer.getvalue()))
        if pyplot is not None:
            pyplot.close("all")
        fields += _represented(value)
        left_out = max(len(figures) - _PICTURES, 0)
    except Exception as error:  # noqa: BLE001  (a library's, or the code's own)
        return [*fields, (b"n", _encoded(f"a picture could not be made: {type(error).__name__}: {error}"[:300]))]
    kept = [field for field in fields if len(field[1]) <= _BYTES]
    left_out += len(fields) - len(kept)
    if left_out:
        text = f"{left_out} pictures were left out: at most {_PICTURES} of {_BYTES >> 20} MiB each are shown"
        kept.append((b"n", _encoded(text)))
    return kept


def _represented(value: Any) -> list[tuple[bytes, bytes]]:
    image = getattr(sys.modules.get("PIL.Image"), "Image", ())
    if isinstance(value, image):
        if max(value.size) > _SIDE:
            value = value.copy()
            value.thumbnail((_SIDE, _SIDE))
        buffer = io.BytesIO()
        (value if value.mode in ("1", "L", "LA", "P", "RGB", "RGBA") else value.convert("RGB")).save(buffer, "PNG")
        return [(b"p", buffer.getvalue())]
    fields = []
    for letter, name in ((b"p", "_repr_png_"), (b"j", "_repr_jpeg_")):
        method = getattr(type(value), name, None)
        made = method(value) if callable(method) else None
        made = made[0] if isinstance(made, tuple) else made  # the second is metadata
        if isinstance(made, bytes):
            fields.append((letter, made))
    return fields


if __name__ == "__main__":
    sys.exit(Interpreter(int(sys.argv[1])).serve())
