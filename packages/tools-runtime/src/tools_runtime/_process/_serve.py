"""A worker: takes one call after the other, and answers each."""

from __future__ import annotations

import os
import socket
import sys
import threading
from contextlib import suppress
from struct import pack
from typing import Any, NoReturn

from tools_core import Result, Tool
from tools_runtime._log import said
from tools_runtime._process import _limits
from tools_runtime._process._context import WorkerContext
from tools_runtime._process._main_module import Loader
from tools_runtime._process._system import adopt_orphans, end_of
from tools_runtime._process._wire import (
    CALL_KINDS,
    CHUNK,
    HELLO,
    LOAD,
    OBJECT,
    OUTPUT,
    PROGRESS,
    REPLY,
    REQUEST,
    RESULT,
    request_size,
)
from tools_runtime._process._words import size_of
from tools_runtime._remote._json import decode, encode, is_exact
from tools_runtime._remote._results import write

_AT_ONCE = 1 << 20  # bytes
_LOST = 74  # exit code when the host can no longer be spoken to (EX_IOERR)


def serve(connection: socket.socket, settings: dict[str, Any]) -> None:
    """Be a worker until nobody holds the other end of the socket, or asked for anything for long."""
    adopt_orphans()  # so that all that a tool starts stays below its worker
    _limits.expose()
    _limits.limit(settings["memory"])
    idle = settings["idle"]
    if idle is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, pack("ll", int(idle), int(idle % 1 * 1e6)))
    worker = _Worker(connection, settings)
    try:
        _greet(connection)
        worker.run()
    except OSError:  # the host is gone, or a tool has closed the socket
        os._exit(_LOST)


def _greet(host: socket.socket) -> None:
    said: Any = HELLO.pack(os.getpid())
    end = end_of(os.getpid())
    if end is None:
        host.sendall(said)
        return
    socket.send_fds(host, [said], [end])
    os.close(end)


class _Worker:
    def __init__(self, connection: socket.socket, settings: dict[str, Any]) -> None:
        self._connection = connection
        self._pid = os.getpid()
        self._memory: int | None = settings["memory"]
        self._cpu: int | None = settings["cpu"]
        self._max_rss: int | None = settings["max_rss"]
        self._longest: int = settings["max_result_bytes"]
        self._loader = Loader(settings["main"])
        self._tools: dict[int, Tool | Exception | SystemExit] = {}
        self._read = b""  # what has come and was not yet asked for
        self._number: int | None = None  # of the call that is being made
        self._speaking = threading.Lock()

    def run(self) -> None:
        """Until the end of the socket."""
        while frame := self._next():
            kind, number, _, extra, tool, remaining = REQUEST.unpack_from(frame)
            body = frame[REQUEST.size + extra :]
            if kind in CALL_KINDS:
                packed = frame[REQUEST.size : REQUEST.size + extra] if extra else b""
                self._call(kind, number, tool, body, packed, remaining)
            elif kind == LOAD:
                self._load(tool, body)
            # else the host gave up a call that had just been answered

    def _next(self) -> bytes:
        """The next request, or nothing at the end."""
        read = self._read or self._receive(CHUNK)
        if len(read) < REQUEST.size or len(read) < request_size(read):
            parts = bytearray(read)
            while len(parts) < REQUEST.size or len(parts) < request_size(parts):
                chunk = self._receive(_AT_ONCE)
                if not chunk:
                    return b""
                parts += chunk
            read = bytes(parts)
        size = request_size(read)
        self._read = read[size:]
        return read[:size]

    def _receive(self, most: int) -> bytes:
        while True:
            try:
                return self._connection.recv(most)
            except BlockingIOError:  # idle for long: from now on a request is refused, unless it is here already
                self._connection.shutdown(socket.SHUT_RD)

    def _load(self, number: int, data: bytes) -> None:
        try:
            tool = self._loader.load(data)
            if not isinstance(tool, Tool):
                raise TypeError(f"what came is a {type(tool).__name__}, not a tool")  # noqa: TRY301  (as what its module raises)
        except (Exception, SystemExit) as error:  # noqa: BLE001  (anybody's module, or a program without a guard)
            self._tools[number] = error
        else:
            self._tools[number] = tool

    def _call(self, kind: int, number: int, tool: int, body: bytes, packed: bytes, remaining: float) -> None:
        self._number = number
        if self._cpu is not None:
            _limits.limit_cpu(self._cpu)
        try:
            result = self._result(kind, tool, body, packed, remaining)
        except SystemExit as error:
            self._end(error.code)
        except BaseException as error:  # noqa: BLE001  (what ends the process inline ends it here)
            sys.excepthook(type(error), error, error.__traceback__)
            self._end(1)
        if os.getpid() != self._pid:  # the tool forked, and this is the child that came back
            self._end(0)
        what, told, is_worn = self._told(result)
        with self._speaking:
            self._number = None
            self._connection.sendall(REPLY.pack(what, is_worn, number, len(told)) + told)

    def _result(self, kind: int, number: int, body: bytes, packed: bytes, remaining: float) -> Result:
        tool = self._tools[number]
        if not isinstance(tool, Tool):
            text = f"a worker process cannot load the tool: {said(tool)}"
            return Result.error(text, type="unavailable", exception=tool)
        try:
            arguments = decode(body) if kind == OBJECT else body.decode("utf-8", "surrogatepass")
        except RecursionError:
            return Result.error("the arguments are nested too deeply; send a flatter object", type="validation_error")
        if not packed and remaining < 0:
            return tool.call(arguments)
        context = WorkerContext(
            self._connection,
            lambda: bool(self._read),
            packed=packed,
            timeout=max(remaining, 1e-3) if remaining >= 0 else None,
            report=self._report,
            loader=self._loader,
            enforced=tool.is_async,  # a coroutine ends more cleanly from inside; else it is the host that watches
        )
        return tool.call(arguments, context=context)

    def _told(self, result: Result) -> tuple[int, bytes, bool]:
        """The kind of the reply, the result for the host, and whether this worker should be replaced."""
        is_worn = self._max_rss is not None and _limits.is_beyond(self._max_rss)
        error = result.exception
        if isinstance(error, MemoryError) and self._memory is not None:
            result, is_worn = self._out_of_memory(), True
        try:
            told, is_plain = write(result)
        except MemoryError:
            told, is_plain = write(self._out_of_memory())
            is_worn = True
        if len(told) > self._longest:
            text = f"the result has {size_of(len(told))}, more than the limit of {size_of(self._longest)}"
            told, is_plain = write(Result.error(f"{text}; return less, or write it to a file", type="limit_exceeded"))
        return OUTPUT if is_plain else RESULT, told, is_worn

    def _out_of_memory(self) -> Result:
        if self._memory is None:
            return Result.error("MemoryError: there is no memory left on this machine", type="limit_exceeded")
        text = f"needed more memory than its limit of {size_of(self._memory)}"
        return Result.error(text, type="limit_exceeded", metadata={"memory": self._memory})

    def _report(self, done: float, total: float | None, message: str) -> None:
        """Send progress to the host; of what a tool has left running nothing is said."""
        report: Any = [done, total, message]
        told = encode(report if is_exact(report) else Result.ok(report).to_dict()["output"])
        with self._speaking:
            if self._number is not None and os.getpid() == self._pid and len(told) <= self._longest:
                with suppress(OSError):  # the answer will fail as well
                    self._connection.sendall(REPLY.pack(PROGRESS, False, self._number, len(told)) + told)

    def _end(self, code: object) -> NoReturn:
        with suppress(Exception):  # the tool may have closed or replaced them
            sys.stdout.flush()
            sys.stderr.flush()
        if code is not None and not isinstance(code, int):
            with suppress(Exception):  # as above
                print(code, file=sys.stderr)  # noqa: T201  (as Python does itself)
            code = 1
        os._exit((code or 0) & 0xFF)
