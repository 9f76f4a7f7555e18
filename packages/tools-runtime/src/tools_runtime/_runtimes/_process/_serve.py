"""The worker process: it runs calls from its connection one after another."""

from __future__ import annotations

import ast
import contextvars
import os
import pickle
import sys
import threading
from contextlib import suppress
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from io import open_code
from multiprocessing import process, spawn
from traceback import print_exc
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from tools_core import Result, Tool
from tools_runtime._runtimes._process._messages import dump
from tools_runtime.remote import describe_error, pack_result, unpack_context

if TYPE_CHECKING:
    from multiprocessing.connection import Connection


class Settings(NamedTuple):
    """The options of a worker."""

    environment: dict[str, str]
    main: dict[str, str]  # where the program is, for `multiprocessing.spawn.prepare`
    preload: tuple[str, ...]
    memory: int | None
    max_result_bytes: int


def serve(connection: Connection, settings: Settings) -> int:
    """Run calls until the connection ends; return the exit code of this process."""
    os.environ.clear()
    os.environ.update(settings.environment)
    sys.modules["__main__"] = sys.modules["__mp_main__"] = ModuleType("__main__")  # without names of the fork server
    try:
        _Server(connection, settings).run()
    except (EOFError, BrokenPipeError):  # the host has ended
        return 0
    except BaseException as error:  # noqa: BLE001  (an exception that ends a process ends this one)
        if isinstance(error, SystemExit) and isinstance(error.code, int | None):
            return (error.code or 0) & 0xFF
        print_exc()
        return 1
    finally:
        _flush()


class _Server:
    def __init__(self, connection: Connection, settings: Settings) -> None:
        self._connection = connection
        self._settings = settings
        self._variables: dict[bytes, bytes] = vars(os.environ)["_data"]  # comparing os.environ itself takes 40 us
        self._unchanged = dict(self._variables)
        self._pid = os.getpid()
        self._tools: dict[int, bytes | Tool] = {}
        self._number = 0  # of the current call
        self._sending = threading.Lock()

    def run(self) -> NoReturn:
        """Take messages until the connection ends."""
        while True:
            kind, content = pickle.loads(self._connection.recv_bytes())  # noqa: S301  (of the host)
            if kind == "tool":
                self._tools[content[0]] = content[1]
                continue
            answer = contextvars.Context().run(self._answer, *content)
            if os.getpid() != self._pid:  # the tool forked, and the child has returned as well
                os._exit(0)
            with self._sending:
                self._number += 1
                self._connection.send_bytes(answer)
            if self._variables != self._unchanged:  # the next call may be of another user
                os.environ.clear()
                os.environ.update(self._settings.environment)
            _flush()

    def _answer(self, number: int, packed: bytes, folder: str | None, surroundings: Any) -> bytes:
        try:
            for name in self._settings.preload:
                import_module(name)
            tool = self._tools[number]
            if isinstance(tool, bytes):
                tool = self._tools[number] = self._load(tool)
            arguments = self._load(packed)
            if folder is not None:
                os.chdir(folder)
        except (Exception, SystemExit) as error:  # noqa: BLE001  (a user's module, or a program without a guard)
            text = f"A worker process cannot prepare the call: {describe_error(error)}"
            return self._pack(Result.error(text, type="unavailable", exception=error))
        report = partial(self._report, self._number)
        context = None if surroundings is None else unpack_context(surroundings, self._load, report)
        return self._pack(tool.call(arguments, context=context))

    def _report(self, number: int, done: float, total: float | None, message: str) -> None:
        """Send progress, unless the call has ended and only a thread of the tool continues."""
        content = dump(("progress", (done, total, message)))
        with self._sending:
            if number == self._number and os.getpid() == self._pid:
                self._connection.send_bytes(content)

    def _pack(self, result: Result) -> bytes:
        """Return the answer; without memory it is the last one of this worker."""
        memory, limit = self._settings.memory, self._settings.max_result_bytes
        try:
            is_last, packed = isinstance(result.exception, MemoryError), pack_result(result, dump)
        except MemoryError:
            is_last, packed = True, b""
        if is_last:
            text = "MemoryError: the machine has no memory left"
            if memory is not None:
                text = f"The call needed more memory than its limit of {memory:,} bytes."
            result = Result.error(text, type="limit_exceeded", metadata={"memory": memory})
        elif len(packed) > limit:
            text = f"The result has {len(packed):,} bytes, more than the limit of {limit:,}. "
            result = Result.error(f"{text}Return less, or write it to a file.", type="limit_exceeded")
        else:
            return dump(("result", (packed, False)))
        return dump(("result", (pack_result(result, dump), is_last)))

    def _load(self, data: bytes) -> Any:
        """Unpickle an object; if its class or function is defined in the program, import that first."""
        try:
            return pickle.loads(data)  # noqa: S301  (of the host)
        except AttributeError:
            if b"__main__" not in data and b"__mp_main__" not in data:
                raise
        if not self._settings.main:
            raise ImportError(
                "it is defined in a program without a file, such as a notebook; "
                'move it to a module, or run it with runtime="thread"'
            )
        if not _has_guard(self._settings.main):
            raise ImportError(
                'its program has no `if __name__ == "__main__":` and would run again in the worker; '
                "put what the program does below that line, or move the tool to a module"
            )
        current: Any = process.current_process()
        current._inheriting = True  # multiprocessing refuses to start processes while this is set
        try:
            spawn.prepare(self._settings.main)
        finally:
            del current._inheriting
        return pickle.loads(data)  # noqa: S301  (as above)


def _has_guard(main: dict[str, str]) -> bool:
    """Return whether an import of the program skips the part below `if __name__ ...`."""
    path = main.get("init_main_from_path")
    if path is None:
        spec = find_spec(main["init_main_from_name"])
        path = "" if spec is None or spec.origin is None else spec.origin
    try:
        with open_code(path) as file:
            program = ast.parse(file.read())
    except (OSError, SyntaxError, ValueError):  # no source, as in a compiled program
        return True
    tests = [statement.test for statement in program.body if isinstance(statement, ast.If)]
    return any(isinstance(part, ast.Name) and part.id == "__name__" for test in tests for part in ast.walk(test))


def _flush() -> None:
    with suppress(Exception):  # a tool may have closed or replaced it
        sys.stdout.flush()
