"""The program inside an interpreter: runs pieces of code in one `__main__`, and replies to each.

It is passed to the interpreter as text, imports only the standard library, and supports Python 3.11 and later.
Argument 1 is the descriptor of a channel. A request is a line with a tuple: whether it is the last one, and the code. A
reply is a line with a JSON object whose values are strings.
"""

from __future__ import annotations

import io
import os
import sys
from _ast import Expr, Expression, PyCF_ALLOW_TOP_LEVEL_AWAIT, PyCF_ONLY_AST
from _json import encode_basestring_ascii  # `json` takes 8 ms

TYPE_CHECKING = False  # importing typing would take longer than all of this module
if TYPE_CHECKING:
    import signal as _signal
    from types import CodeType
    from typing import Any
else:
    import _signal  # `signal` without its enums, which take 5 ms

VALUE = 16_000  # characters of a value, or of a traceback
_FRAMES = 100  # of a traceback, the last ones
_PICTURES, _BYTES, _SIDE = 8, 4 << 20, 2_000  # images in a reply; bytes and pixels of each
_PNG = b"\x89PNG\r\n\x1a\n"
_COROUTINE = 0x80  # inspect.CO_COROUTINE


class Interpreter:
    """Runs pieces of code as the interactive interpreter does."""

    def __init__(self, channel: int) -> None:
        os.set_inheritable(channel, False)
        self._channel = channel
        self._pid = os.getpid()
        self._sources: dict[str, str] = {}
        self._runner: Any = None
        self._path = [entry for entry in sys.path if entry]  # the code may change it
        self._streams = sys.stdout, sys.stderr
        stream: Any
        for stream in self._streams:
            # Printed lines are not lost if the process is killed.
            stream.reconfigure(line_buffering=True, write_through=False)
        self._main = type(sys)("__main__")
        self._main.__dict__["__builtins__"] = sys.modules["builtins"]
        sys.modules["__main__"] = self._main
        sys.argv = [""]
        sys.path[:] = ["", *self._path]

    def serve(self) -> int:
        """Serve requests until the channel is closed or the last one was served; return the exit code."""
        os.write(self._channel, b" ")  # it has started
        for request in open(self._channel, "rb", closefd=False):  # noqa: SIM115
            is_last, code = eval(request)  # noqa: S307  (written by the host)
            reply, status = self._answer(code, is_last=is_last)
            if os.getpid() != self._pid:  # a forked child must not reply
                if "traceback" in reply:
                    sys.stderr.write(reply["traceback"] + "\n")
                    sys.stderr.flush()
                os._exit(status)
            fields = ", ".join(f'"{name}": {encode_basestring_ascii(value)}' for name, value in reply.items())
            with open(self._channel, "wb", closefd=False) as replies:
                replies.write(f"{{{fields}}}\n".encode())
            if is_last:
                return status
        return 0

    def _answer(self, code: str, *, is_last: bool) -> tuple[dict[str, str], int]:
        reply: dict[str, str] = {}
        status = 0
        try:
            try:
                # Ignore late interrupts while no code runs.
                _signal.signal(_signal.SIGINT, _signal.default_int_handler)
                _signal.pthread_sigmask(_signal.SIG_UNBLOCK, (_signal.SIGINT,))
                reply = self._run(code)
                if is_last and self._runner is not None:
                    self._runner.close()  # cancels remaining tasks
            finally:
                _signal.signal(_signal.SIGINT, _signal.SIG_IGN)
        except SystemExit as error:
            status = _exit_code(error)
            reply = {"exit_code": str(status)}
        except BaseException as error:  # noqa: BLE001  (any exception becomes a reply)
            status = 1
            reply = self._describe(error)
        sys.stdout, sys.stderr = self._streams  # the code may have replaced or closed them
        for stream in self._streams:
            if not stream.closed:
                stream.flush()
        if is_last:
            _signal.signal(_signal.SIGINT, _signal.default_int_handler)
        return reply, status

    def _run(self, code: str) -> dict[str, str]:
        name = f"<code {len(self._sources) + 1}>"
        self._sources[name] = code
        self._publish()
        flags = PyCF_ALLOW_TOP_LEVEL_AWAIT
        tree = compile(code, name, "exec", PyCF_ONLY_AST | flags, dont_inherit=True)
        last = tree.body.pop() if tree.body and type(tree.body[-1]) is Expr else None
        # Compile all before running, so that a syntax error in the last line has no effects.
        parts = [compile(tree, name, "exec", flags, dont_inherit=True)]
        if last is not None:
            parts.append(compile(Expression(last.value), name, "eval", flags, dont_inherit=True))
        value = [self._evaluate(part) for part in parts][-1]
        if last is None or value is None:
            return _pictures(None)
        sys.modules["builtins"].__dict__["_"] = value
        return {"value": _shown(value), **_pictures(value)}

    def _evaluate(self, code: CodeType) -> Any:
        value = eval(code, self._main.__dict__)  # noqa: S307  (running code is what this program is for)
        if not code.co_flags & _COROUTINE:
            return value
        if self._runner is None:
            self._runner = self._load("asyncio").Runner()
        return self._runner.run(value)

    def _describe(self, error: BaseException) -> dict[str, str]:
        """Return the type, the message, and the traceback without the frames of this program."""
        traceback = self._load("traceback")
        self._publish()
        frames = error.__traceback__
        while frames is not None and frames.tb_frame.f_code.co_filename not in self._sources:
            frames = frames.tb_next
        described = traceback.TracebackException(type(error), error, frames, limit=-_FRAMES)
        described.stack[:] = [frame for frame in described.stack if frame.filename != "<setup>"]
        text = "".join(described.format()).rstrip("\n")
        return {"type": type(error).__name__, "message": _clipped(str(described)), "traceback": _clipped(text)}

    def _publish(self) -> None:
        """Make the source lines of the code available to tracebacks."""
        linecache = sys.modules.get("linecache")
        if linecache is not None:
            for name, code in self._sources.items():
                linecache.cache[name] = (len(code), None, code.splitlines(True), name)

    def _load(self, name: str) -> Any:
        """Import from the standard library, even if the workspace has a module of the same name."""
        path, sys.path = sys.path, self._path
        try:
            return __import__(name)
        finally:
            sys.path = path


def _exit_code(error: SystemExit) -> int:
    code = error.code
    if code is None or isinstance(code, int):
        return int(code or 0) & 0xFF
    sys.stderr.write(f"{code}\n")
    return 1


def _clipped(text: str) -> str:
    half = VALUE // 2
    if len(text) > VALUE:
        text = f"{text[:half]}\n[... {len(text) - 2 * half:,} characters omitted ...]\n{text[-half:]}"
    return text.encode("utf-8", "backslashreplace").decode()


def _shown(value: Any) -> str:
    try:
        return _clipped(repr(value))
    except Exception as error:  # noqa: BLE001  (the code's own method)
        return f"<{type(value).__name__} whose repr raised {type(error).__name__}>"


def _pictures(value: Any) -> dict[str, str]:
    """Return open matplotlib figures, which are closed, and a picture as the value, as PNG in base64."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    images: list[bytes] = []
    try:
        figures = [pyplot.figure(number) for number in pyplot.get_fignums()] if pyplot is not None else []
        kind = getattr(sys.modules.get("matplotlib.figure"), "Figure", ())
        if isinstance(value, kind) and all(value is not figure for figure in figures):
            figures.append(value)
        for figure in figures[:_PICTURES]:
            buffer = io.BytesIO()
            figure.savefig(buffer, format="png", dpi=min(figure.dpi, _SIDE / max(figure.get_size_inches())))
            images.append(buffer.getvalue())
        if pyplot is not None:
            pyplot.close("all")
        shows = getattr(type(value), "_repr_png_", None)  # IPython's convention, which Pillow follows
        if callable(shows) and isinstance(image := shows(value), bytes) and image.startswith(_PNG):
            images.append(image)
    except Exception as error:  # noqa: BLE001  (code of a library or of the model)
        return {"note": _clipped(f"an image failed: {type(error).__name__}: {error}"[:300])}
    small = [image for image in images if len(image) <= _BYTES]
    fields = {}
    if small:
        from binascii import b2a_base64

        fields["images"] = " ".join(b2a_base64(image, newline=False).decode() for image in small)
    if left_out := max(len(figures) - _PICTURES, 0) + len(images) - len(small):
        text = f"{left_out} images were omitted: at most {_PICTURES} of up to {_BYTES >> 20} MiB are shown"
        fields["note"] = text
    return fields


if __name__ == "__main__":
    sys.exit(Interpreter(int(sys.argv[1])).serve())
