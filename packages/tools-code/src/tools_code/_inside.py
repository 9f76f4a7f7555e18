"""The program inside the interpreter: functions that send calls to the host, and wait for the results.

It is passed to the interpreter as text, imports only the standard library, and supports Python 3.11 and later. Both
directions are lines of JSON. A call is `{"id", "name", "arguments"}`, with `"flush": true` if no other call can follow
before its result. A line with `flush` alone ends a batch of calls; the first line is such a line. A result is `{"id",
"value"}`, or `{"id", "error", "error_type"}`.
"""

from __future__ import annotations

import json
import os
import random
import socket
import threading
import time
from concurrent.futures import Future
from typing import Any

_SILENCE = 0.02  # seconds without a call after which threads of the code are assumed to wait for results
_THREADS = 3  # the main thread, and two of the channel


class ToolError(Exception):
    """A call that failed; `error_type` is its kind, such as "not_found"."""

    __module__ = "__main__"

    def __init__(self, message: str, error_type: str = "execution_error") -> None:
        super().__init__(message)
        self.error_type = error_type


class Channel:
    """The connection to the host."""

    def __init__(self, descriptor: int) -> None:
        os.set_inheritable(descriptor, False)
        self._socket = socket.socket(fileno=descriptor)
        self._futures: dict[int, Future[Any]] = {}
        self._lock = threading.Lock()
        self._count = 0
        self._process = os.getpid()
        self._is_flush_due = False  # in the event loop
        self.has_unflushed = threading.Event()  # calls of threads: the batch ends when no other one follows
        for target in (self._receive, self._flush_calls_of_threads):
            threading.Thread(target=target, daemon=True).start()

    def send(self, name: str, arguments: dict[str, Any], *, flush: bool) -> Future[Any]:
        """Send a call, and return the future of its result."""
        if os.getpid() != self._process:  # a fork has the connection, but not the thread that receives results
            raise RuntimeError(f"{name} cannot be called in another process; use threads, which may call functions")
        future: Future[Any] = Future()
        with self._lock:
            self._count += 1
            self._futures[self._count] = future
            try:
                call = json.dumps({"id": self._count, "name": name, "arguments": arguments, "flush": flush})
            except (TypeError, ValueError) as error:
                del self._futures[self._count]
                raise TypeError(f"arguments of {name} are JSON values: {error}") from None
            self._socket.sendall(call.encode() + b"\n")
        return future

    def flush(self) -> None:
        """End the batch of calls."""
        self._is_flush_due = False
        with self._lock:
            self._socket.sendall(b'{"flush": true}\n')

    def flush_after_tasks(self, loop: Any) -> None:
        """End the batch of calls once the other tasks of an event loop have run to their next `await`."""
        if not self._is_flush_due:
            self._is_flush_due = True
            loop.call_soon(self.flush)

    def _flush_calls_of_threads(self) -> None:
        while self.has_unflushed.wait():
            count = 0
            while count != self._count:
                count = self._count
                time.sleep(_SILENCE)
            self.has_unflushed.clear()
            self.flush()

    def _receive(self) -> None:
        for line in self._socket.makefile("rb"):
            result = json.loads(line)
            future = self._futures.pop(result["id"])
            if "error" in result:
                future.set_exception(ToolError(result["error"], result["error_type"]))
            else:
                future.set_result(result["value"])


class Function:
    """A tool as a function. `function.aio(...)` is awaitable, for calls that run at once."""

    def __init__(self, channel: Channel, name: str, parameters: list[str], identifier: str, stub: str) -> None:
        self._channel = channel
        self._name = name
        self._parameters = parameters
        self.__name__ = self.__qualname__ = identifier
        self.__doc__ = stub

    def __call__(self, /, *values: Any, **arguments: Any) -> Any:
        is_alone = threading.active_count() <= _THREADS and threading.current_thread() is threading.main_thread()
        future = self._channel.send(self._name, self._bind(values, arguments), flush=is_alone)
        if not is_alone:
            self._channel.has_unflushed.set()
        if (error := future.exception()) is not None:
            raise error  # without the frames of the future
        return future.result()

    async def aio(self, /, *values: Any, **arguments: Any) -> Any:
        import asyncio

        future = self._channel.send(self._name, self._bind(values, arguments), flush=False)
        self._channel.flush_after_tasks(asyncio.get_running_loop())
        return await asyncio.wrap_future(future)

    def _bind(self, values: tuple[Any, ...], arguments: dict[str, Any]) -> dict[str, Any]:
        if len(values) > len(self._parameters):
            raise TypeError(f"{self.__name__} takes {len(self._parameters)} arguments, got {len(values)}")
        positional = dict(zip(self._parameters, values, strict=False))
        if twice := positional.keys() & arguments.keys():
            raise TypeError(f"{self.__name__} got two values for {', '.join(sorted(twice))}")
        return {**positional, **arguments}

    def __repr__(self) -> str:
        return f"<function {self.__name__}>"


def connect(descriptor: int, functions: list[tuple[str, list[str], str, str]]) -> dict[str, Any]:
    """Return the names of the code: the functions, and `ToolError`."""
    random.seed(0)  # so that code takes the same path when it resumes
    channel = Channel(descriptor)
    names: dict[str, Any] = {"ToolError": ToolError}
    for name, parameters, identifier, stub in functions:
        names[identifier] = Function(channel, name, parameters, identifier, stub)
    channel.flush()  # it is ready
    return names
