"""The worker process: it takes one call after the other from its connection, and answers each."""

from __future__ import annotations

import contextvars
import os
import pickle
import sys
import threading
from contextlib import suppress
from functools import partial
from importlib import import_module
from multiprocessing import process, spawn
from traceback import print_exc
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from tools_core import Context, Result, Tool
from tools_runtime._errors import describe_error
from tools_runtime._place._process._errors import pack_error
from tools_runtime._place._process._system import be_killed_first, end_with_parent, limit_memory

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
    """Make calls until the connection ends; returns the exit code of this process."""
    os.setsid()
    end_with_parent()
    be_killed_first()
    if settings.memory is not None:
        limit_memory(settings.memory)
    os.environ.clear()
    os.environ.update(settings.environment)
    sys.modules["__main__"] = sys.modules["__mp_main__"] = ModuleType("__main__")  # without names of the fork server
    try:
        connection.send(("ready", _preload(settings.preload)))
        _Server(connection, settings).run()
    except (EOFError, BrokenPipeError):  # the host has ended
        return 0
    except SystemExit as error:
        return _exit_code(error)
    except BaseException:  # noqa: BLE001  (an exception that ends a process ends this one)
        print_exc()
        return 1
    finally:
        with suppress(Exception):  # a tool may have closed or replaced them
            sys.stdout.flush()
            sys.stderr.flush()
    return 0


def _preload(names: tuple[str, ...]) -> str | None:
    """Import modules; returns the problem if there is one."""
    for name in names:
        try:
            import_module(name)
        except Exception as error:  # noqa: BLE001  (a user's module may raise anything)
            return f"cannot preload the module {name}: {describe_error(error)}"
    return None


class _Server:
    def __init__(self, connection: Connection, settings: Settings) -> None:
        self._connection = connection
        self._settings = settings
        self._main = settings.main
        self._environment = settings.environment
        self._variables: dict[bytes, bytes] = vars(os.environ)["_data"]  # comparing os.environ itself takes 40 us
        self._unchanged = dict(self._variables)
        self._pid = os.getpid()
        self._tools: dict[int, bytes | Tool] = {}
        self._number = 0  # of the current call
        self._sending = threading.Lock()

    def run(self) -> None:
        """Take messages until the connection ends."""
        while True:
            kind, content = pickle.loads(self._connection.recv_bytes())  # noqa: S301  (of the host)
            if kind == "tool":
                self._tools[content[0]] = content[1]
            else:
                answer = contextvars.Context().run(self._answer, *content)
                if os.getpid() != self._pid:  # the tool forked, and the child has returned as well
                    os._exit(0)
                with self._sending:
                    self._number += 1
                    self._connection.send_bytes(answer)
                self._restore()

    def _answer(self, number: int, packed: bytes, folder: str | None, surroundings: Any) -> bytes:
        try:
            tool = self._tool(number)
            arguments = _load(packed, self._main)
            if folder is not None:
                os.chdir(folder)
        except (Exception, SystemExit) as error:  # noqa: BLE001  (a user's module, or a program without a guard)
            text = f"A worker process cannot prepare the call: {describe_error(error)}"
            return self._pack(Result.error(text, type="unavailable", exception=error))
        context = None if surroundings is None else self._context(*surroundings)
        return self._pack(tool.call(arguments, context=context))

    def _tool(self, number: int) -> Tool:
        tool = self._tools[number]
        if isinstance(tool, bytes):
            tool = self._tools[number] = _load(tool, self._main)
        return tool

    def _context(
        self, parts: dict[str, Any], items: dict[str, bytes], refused: dict[str, str], wants_progress: bool
    ) -> Context:
        return Context(
            **parts,
            state=State(items, refused, self._main),
            on_progress=partial(self._report, self._number) if wants_progress else None,
            enforced=False,  # the host watches the time, and kills
        )

    def _pack(self, result: Result) -> bytes:
        """Write the answer: the result, its exception, and whether the worker must not be used again."""
        is_out_of_memory = isinstance(result.exception, MemoryError)
        if is_out_of_memory and self._settings.memory is not None:
            result = _out_of_memory(self._settings.memory)
        try:
            error = None if result.exception is None else pack_error(result.exception)
            answer = pickle.dumps(("result", (result, error, is_out_of_memory)), pickle.HIGHEST_PROTOCOL)
        except MemoryError:
            return pickle.dumps(("result", (_out_of_memory(self._settings.memory), None, True)))
        except Exception as error:  # noqa: BLE001  (a user's class may fail in any way)
            return self._pack(_not_picklable(result.output, error))
        if len(answer) > self._settings.max_result_bytes:
            text = (
                f"The result has {len(answer):,} bytes, more than the limit of {self._settings.max_result_bytes:,}. "
                "Return less, or write it to a file."
            )
            return self._pack(Result.error(text, type="limit_exceeded"))
        return answer

    def _report(self, number: int, done: float, total: float | None, message: str) -> None:
        """Send progress, unless the call has ended and a thread of the tool goes on."""
        content = pickle.dumps(("progress", (done, total, message)))
        with self._sending:
            if number == self._number and os.getpid() == self._pid:
                self._connection.send_bytes(content)

    def _restore(self) -> None:
        """Undo what the call may have changed and the next call, of another run, must not see."""
        if self._variables != self._unchanged:
            os.environ.clear()
            os.environ.update(self._environment)
        with suppress(Exception):  # a tool may have closed or replaced it
            sys.stdout.flush()


class State(dict[str, Any]):
    """The items of a caller's state; one that could not be sent raises a KeyError with the reason."""

    def __init__(self, items: dict[str, bytes], refused: dict[str, str], main: dict[str, str]) -> None:
        super().__init__()
        self._refused = refused
        for key, data in items.items():
            try:
                self[key] = _load(data, main)
            except Exception as error:  # noqa: BLE001  (a user's class may fail in any way)
                refused[key] = describe_error(error)

    def __missing__(self, key: str) -> Any:
        reason = self._refused.get(key)
        raise KeyError(key if reason is None else f"{key!r} cannot be sent to a worker process ({reason})")


def _load(data: bytes, main: dict[str, str]) -> Any:
    """Unpickle an object; if its class or function is defined in the program, import that first."""
    try:
        return pickle.loads(data)  # noqa: S301  (of the host)
    except AttributeError:
        if b"__main__" not in data and b"__mp_main__" not in data:
            raise
    if not main:
        raise ImportError(
            "it is defined in a program without a file, such as a notebook; "
            'move it to a module, or run it with runtime="thread"'
        )
    _import_main(main)
    return pickle.loads(data)  # noqa: S301  (as above)


def _import_main(main: dict[str, str]) -> None:
    """Import the program as `__mp_main__`, unless that was done."""
    current: Any = process.current_process()
    current._inheriting = True  # multiprocessing refuses to start processes while this is set
    try:
        spawn.prepare(main)
    finally:
        del current._inheriting


def _out_of_memory(limit: int | None) -> Result:
    if limit is None:
        return Result.error("MemoryError: the machine has no memory left", type="limit_exceeded")
    text = f"The call needed more memory than its limit of {limit:,} bytes."
    return Result.error(text, type="limit_exceeded", metadata={"memory": limit})


def _not_picklable(output: object, error: Exception) -> Result:
    return Result.error(
        f"The tool returned a {type(output).__name__} that cannot be sent from a worker process "
        f'({describe_error(error)}). Return plain data, or run the tool with runtime="thread".'
    )


def _exit_code(error: SystemExit) -> int:
    if error.code is None or isinstance(error.code, int):
        return (error.code or 0) & 0xFF
    print(error.code, file=sys.stderr)  # noqa: T201  (as Python does)
    return 1
