"""The kernel: runs one piece of code after another in the same `__main__`, and answers each on a channel of its own."""

from __future__ import annotations

import os
import sys
import time
from _ast import Expr, Expression, PyCF_ALLOW_TOP_LEVEL_AWAIT, PyCF_ONLY_AST

from tools_shell._kernel._frames import NONCE, encoded, pack, unpack
from tools_shell._kernel._pictures import pictures
from tools_shell._kernel._surroundings import Cells, Stream, identity
from tools_shell._kernel._values import clip, message_of, name_of, shown

TYPE_CHECKING = False  # importing typing for it would cost more than all of this module
if TYPE_CHECKING:
    import signal as _signal
    from collections.abc import Callable
    from types import CodeType, FrameType, TracebackType
    from typing import Any, TypeGuard
else:
    import _signal  # what `signal` is made of, without the 5 ms of its enumerations

_MESSAGE = 4_000  # characters of the message of an exception
_TRACEBACK = 8_000
_FRAMES = 1_000  # the last ones, as Python does where nothing is caught: it takes a millisecond to look at one
_SHORT = 200  # characters of what may be a single expression, which takes less time
_LATE = 0.5  # seconds for an interrupt to arrive that is known to be on its way
_FILE_TOO_LARGE = 27  # errno.EFBIG
_HUGE = 1 << 63  # an exit code from here on is -1 to Python
_COROUTINE = 0x80  # inspect.CO_COROUTINE
# Their handlers are the code's own, and what these raise is the code's, too: they wait until code runs again.
_LATER = {_signal.SIGALRM, _signal.SIGVTALRM, _signal.SIGPROF, _signal.SIGUSR1, _signal.SIGUSR2, _signal.SIGCHLD}

# What becomes of these where we do not handle them.
_USUAL: dict[int, Any] = {_signal.SIGINT: _signal.default_int_handler, _signal.SIGTERM: _signal.SIG_DFL}
_HEARD = _LATER.union(_USUAL)  # when code runs: code before it may have blocked them


class Kernel:
    """Runs one piece of code after another in the same `__main__`, and answers each."""

    def __init__(self, channel: int) -> None:
        os.set_inheritable(channel, False)
        self._channel = channel
        self._file = identity(channel)
        self._pid = os.getpid()
        self._main = type(sys)("__main__")
        self._main.__dict__["__builtins__"] = self._builtins = sys.modules["builtins"]
        self._flags = PyCF_ALLOW_TOP_LEVEL_AWAIT
        self._cells = Cells()
        self._streams = [Stream("stdout", 1), Stream("stderr", 2)]
        self._loop: Any = None
        self._is_armed = False  # whether an interrupt is for the code
        self._handler = self._on_interrupt  # one object, to be recognized by
        self._interrupts = 0
        self._path = [entry for entry in sys.path if entry]  # as it was: the code may change it
        sys.argv = [""]
        self._mask: Any = ()  # the signals that were blocked before a fork
        os.register_at_fork(before=self._hold, after_in_parent=self._release, after_in_child=self._leave)

    def serve(self) -> int:
        """Answer until nobody asks any more; returns the exit code."""
        self._disarm()
        while True:
            header = self._read(NONCE + 4)
            if not header:
                return 0
            request = dict(unpack(self._read(int.from_bytes(header[NONCE:], "big"))))
            if b"s" in request:
                self._await_interrupts(int(request[b"s"]))
            reply, status = self._answer(request[b"c"].decode("utf-8", "surrogatepass"), request[b"n"].decode())
            self._write(header[:NONCE] + pack(reply))
            if b"o" in request:
                self._guarded(self._close_loop)
                self._retire()
                return status

    def _answer(self, code: str, name: str) -> tuple[list[tuple[bytes, bytes]], int]:
        self._interrupts = 0
        sys.modules["__main__"] = self._main
        reply, error = self._guarded(self._run, code, name)
        if os.getpid() != self._pid:
            self._end_apart(error)
        if identity(self._channel) != self._file:
            self._end_apart(error, "the code has closed the descriptor by which its value is told\n")
        fields: list[tuple[bytes, bytes]] = reply or []
        status = 0
        if error is not None:
            status = 1
            fields = self._guarded(pictures, None)[0] or []
            if _is_exit(error):
                status = self._status(error)
                fields.append((b"x", b"%d" % status))
            else:
                fields += self._guarded(self._describe, error)[0] or [(b"t", encoded(name_of(error)))]
        self._guarded(self._flush)
        for stream in self._streams:
            for note in stream.restore():
                fields.append((b"n", encoded(note)))
        return fields, status

    def _run(self, code: str, name: str) -> list[tuple[bytes, bytes]]:
        self._cells.add(name, code)
        value = None  # which statements have
        parts = self._compile(code, name)
        if any(part.co_flags & _COROUTINE for part in parts):
            value = self._await(self._evaluated(parts))
        else:
            for part in parts:
                value = eval(part, self._main.__dict__)  # noqa: S307  (running code is what this program is for)
        if os.getpid() != self._pid:
            return []
        fields = []
        if value is not None:
            vars(self._builtins)["_"] = value  # as the interactive interpreter does
            text, is_cut = shown(value)
            fields = [(b"v", encoded(text)), *([(b"V", b"")] if is_cut else [])]
        return fields + pictures(value)

    def _compile(self, code: str, name: str) -> list[CodeType]:
        """All of it before anything runs: a mistake in the last line has no effects."""
        if len(code) < _SHORT and "\n" not in code and "\\" not in code:  # which has no warnings to give twice
            try:
                return [compile(code, name, "eval", self._flags, dont_inherit=True)]
            except SyntaxError:  # it is a statement, or will be refused as one
                pass
        tree = compile(code, name, "exec", PyCF_ONLY_AST | self._flags, dont_inherit=True)
        last = tree.body.pop() if tree.body and type(tree.body[-1]) is Expr else None
        made = [compile(tree, name, "exec", self._flags, dont_inherit=True)]
        if "__future__" in code:
            future = self._load("__future__")
            for feature in future.all_feature_names:
                self._flags |= made[0].co_flags & getattr(future, feature).compiler_flag
        if last is not None:
            made.append(compile(Expression(last.value), name, "eval", self._flags, dont_inherit=True))
        return made

    # ---- what the code does to us

    def _guarded(self, call: Callable[..., Any], *arguments: Any) -> tuple[Any, BaseException | None]:
        """What comes of `call`, and what it raised; only here an interrupt, or a signal of the code's own, is heard."""
        try:
            try:
                self._is_armed = True
                _signal.pthread_sigmask(_signal.SIG_UNBLOCK, _HEARD)
                return call(*arguments), None
            finally:
                self._disarm()
        except BaseException as error:  # noqa: BLE001  (whatever the code raises is an answer)
            self._disarm()  # an interrupt may have come just before it was done
            return None, error

    def _disarm(self) -> None:
        self._is_armed = False
        _signal.pthread_sigmask(_signal.SIG_BLOCK, _LATER)
        for number in _USUAL:
            if _signal.getsignal(number) is not self._handler:
                _signal.signal(number, self._handler)

    def _retire(self) -> None:
        """Leave the end of the process, with its threads and its `atexit`, to the signals as they are by default."""
        for number, usual in _USUAL.items():
            _signal.signal(number, usual)
        _signal.pthread_sigmask(_signal.SIG_UNBLOCK, _LATER)

    def _on_interrupt(self, _number: int, _frame: FrameType | None) -> None:
        self._interrupts += 1
        if self._is_armed:
            raise KeyboardInterrupt

    def _await_interrupts(self, count: int) -> None:
        """So many were sent to the last piece of code, which may have ended first: they are not for the next one."""
        until = time.monotonic() + _LATE
        while self._interrupts < count and time.monotonic() < until:
            time.sleep(0.002)

    def _hold(self) -> None:
        """Have signals wait that Python would forget in a fork which it has not finished."""
        self._mask = _signal.pthread_sigmask(_signal.SIG_BLOCK, _USUAL)

    def _release(self) -> None:
        _signal.pthread_sigmask(_signal.SIG_SETMASK, self._mask)

    def _leave(self) -> None:
        """A fork of the code's own has no part in the conversation."""
        for descriptor in (self._channel, *(stream.spare for stream in self._streams)):
            try:
                os.close(descriptor)
            except OSError:  # the code has closed it
                continue
        for number, usual in _USUAL.items():  # it is interrupted and ended as any other program
            if _signal.getsignal(number) is self._handler:
                _signal.signal(number, usual)
        self._release()

    def _end_apart(self, error: BaseException | None, note: str = "") -> None:
        """The end of the code is the end of a process that nobody hears: a fork of the code's own, say."""
        status = 1
        try:
            if error is None or _is_exit(error):
                status = 0 if error is None else self._status(error)
            else:
                sys.stderr.write(f"{self._traceback(error)}\n")
            sys.stderr.write(note)
            self._flush()
        finally:
            os._exit(status)

    def _flush(self) -> None:
        for stream in self._streams:
            stream.flush()

    def _status(self, error: SystemExit) -> int:
        def said() -> int:
            code = error.code
            if code is None or isinstance(code, int):
                number = int(code or 0)
                return number & 0xFF if -_HUGE <= number < _HUGE else 0xFF
            sys.stderr.write(f"{code}\n")
            return 1

        status, failure = self._guarded(said)
        return status if failure is None else 1

    # ---- coroutines

    async def _evaluated(self, parts: list[CodeType]) -> Any:
        value = None
        for part in parts:
            value = eval(part, self._main.__dict__)  # noqa: S307  (see _run)
            if part.co_flags & _COROUTINE:
                value = await value
        return value

    def _await(self, coroutine: Any) -> Any:
        asyncio = self._load("asyncio")
        if self._loop is None or self._loop.is_closed():
            self._loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self._loop)  # each time: `asyncio.run` unsets it
        task = self._loop.create_task(coroutine)
        try:
            return self._loop.run_until_complete(task)
        except BaseException as error:
            try:
                if not task.done():  # it was interrupted: it must not go on at the next `await`
                    task.cancel()
                    self._loop.run_until_complete(asyncio.wait({task}))
            finally:
                if task.done() and not task.cancelled():
                    task.exception()  # or its loss would be logged
            if task.cancelled():
                try:
                    task.result()
                except asyncio.CancelledError as place:  # which alone knows where the code was
                    raise error from place
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
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.close()

    # ---- exceptions

    def _describe(self, error: Any) -> list[tuple[bytes, bytes]]:
        """The exception by class, message and traceback."""
        message = clip(message_of(error), _MESSAGE)
        fields = [(b"t", encoded(name_of(error))), (b"m", encoded(message))]
        try:
            text = self._traceback(error)
        except Exception as failure:  # noqa: BLE001  (the code may have broken what this needs: the rest is still worth it)
            text = f"(no traceback can be shown: {type(failure).__name__})"
        return [*fields, (b"b", encoded(clip(text, _TRACEBACK)))]

    def _traceback(self, error: BaseException) -> str:
        traceback = self._load("traceback")
        self._cells.publish()  # again: the code may have cleared the cache
        made = traceback.TracebackException(type(error), error, self._cut(error.__traceback__), limit=-_FRAMES)
        link = made
        while link is not None:
            link.stack[:] = [frame for frame in link.stack if frame.filename != _HERE]  # where an interrupt came from
            link = link.__cause__ or link.__context__
        return "".join(made.format()).rstrip("\n")

    def _cut(self, traceback: TracebackType | None) -> TracebackType | None:
        """From the first frame on that belongs to the code: what is above it is ours, or the event loop's."""
        while traceback is not None and traceback.tb_frame.f_code.co_filename not in self._cells:
            traceback = traceback.tb_next
        return traceback

    def _load(self, name: str) -> Any:
        """A module of the standard library, whatever the workspace has of that name."""
        path, sys.path = sys.path, self._path
        try:
            return __import__(name)
        finally:
            sys.path = path

    # ---- the channel

    def _read(self, size: int) -> bytes:
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
            try:
                view = view[os.write(self._channel, view) :]
            except OSError as error:
                if error.errno != _FILE_TOO_LARGE:
                    raise
                return self._place(view)
        return None

    def _place(self, data: memoryview) -> None:
        """Put data into the memory that the channel is, where a limit on the size of files has no say."""
        start = os.lseek(self._channel, 0, os.SEEK_CUR)
        with self._load("mmap").mmap(self._channel, 0) as memory:
            memory[start : start + len(data)] = data


def _is_exit(error: BaseException) -> TypeGuard[SystemExit]:
    return issubclass(type(error), SystemExit)  # `isinstance` would ask the exception, too, which may be the code's own


def main(channel: int) -> int:
    """Serve whoever is at the other end of `channel`; returns the exit code."""
    return Kernel(channel).serve()


_HERE = main.__code__.co_filename
