"""The interpreter of one run of code: a sandboxed process, and the calls that its code sends."""

from __future__ import annotations

import json
import math
import shutil
import socket
import tempfile
import time
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from select import select
from typing import TYPE_CHECKING, Any, NamedTuple

from tools_code._stubs import Stub
from tools_core import Context, Result, ToolError
from tools_core.threads import in_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

    from tools_shell import Python

_START = 60.0  # seconds for the interpreter and its sandbox
_PREFIX = "ask-tools-code-"
_MAX_AGE = 7 * 24 * 3600  # seconds after which the folder of a killed process is removed
_LARGEST = 16 << 20  # bytes of a call
_LARGEST_BATCH = 64 << 20  # bytes of the calls that arrive at once
_SETUP = """\
namespace = {{"__name__": "tools_code"}}
exec(compile({source!r}, "<setup>", "exec"), namespace)
globals().update(namespace["connect"]({descriptor}, {functions!r}))
del namespace
"""
_SEARCH = Stub("", ["query", "limit"], "search_tools", "Return the signatures of matching functions.")  # no tool's name
_ENVIRONMENT = {"PYTHONHASHSEED": "0"}  # so that sets have the same order when the code resumes


class CodeCall(NamedTuple):
    """A call that the code waits for; `is_alone` if no other one can follow before its result."""

    id: int
    name: str
    arguments: dict[str, Any]
    is_alone: bool


class Interpreter:
    """Runs code in an empty folder, in a thread that waits for the sandboxed process.

    `timeout` is in seconds, without the start of the interpreter and the time in which the code waits for its calls. At
    most `max_calls` calls may arrive at once.
    """

    def __init__(
        self,
        python: Python,
        code: str,
        stubs: Sequence[Stub],
        *,
        timeout: float,
        max_calls: int,
        search: Callable[..., str],
    ) -> None:
        self._search = search
        self._max_calls = max_calls
        self._timeout = timeout
        self._left = _START
        self._until = time.monotonic() + _START
        self._is_ready = False
        self._folder = _new_folder()
        self._context = Context(workspace=self._folder)
        self._socket, other = socket.socketpair()
        self._heard = bytearray()
        self._calls: list[CodeCall] = []  # of the batch that arrives
        self._size = 0  # of the batch, in bytes
        self._has_ended = False
        descriptor = other.detach()
        functions = [(stub.name, stub.parameters, stub.identifier, stub.text) for stub in (*stubs, _SEARCH)]
        setup = _SETUP.format(source=_program(), descriptor=descriptor, functions=functions)
        self._result = in_thread(
            lambda: python.run(code, self._context, setup=setup, env=_ENVIRONMENT, descriptors=[descriptor])
        )
        self._result.add_done_callback(self._wake)

    def _wake(self, _: object) -> None:
        """Let `next_calls` see the end of a process that did not start, or left its socket to another one."""
        with suppress(OSError):  # it is closed
            self._socket.shutdown(socket.SHUT_RD)

    def next_calls(self, patience: float | None = None) -> list[CodeCall]:
        """Wait for calls that the code waits for at once; an empty list if the code has ended.

        Raises TimeoutError after `patience` seconds without a call, and ToolError after the time limit.
        """
        end = math.inf if patience is None else time.monotonic() + patience
        while not self._has_ended:
            with self._counted():
                has_data = select([self._socket], [], [], max(min(self._left, end - time.monotonic()), 0))[0]
            if not (has_data and self._left):
                raise TimeoutError if self._left else self._time_out()
            with self._counted():  # code that sends without end must not outlast its limit
                is_complete = self._receive()
            if is_complete:
                break
            if time.monotonic() > end:
                raise TimeoutError
        calls, self._calls, self._size = self._calls, [], 0
        return calls

    @contextmanager
    def _counted(self) -> Generator[None]:
        """Count the time of a block for the limit."""
        self._until = time.monotonic() + self._left
        yield
        self._left = max(self._until - time.monotonic(), 0)

    def _time_out(self) -> ToolError:
        text = f"{self.stop()}[timed out after {self._timeout:g} s, without its calls: run less code at once]"
        return ToolError(text, "timeout_error")

    def _receive(self) -> bool:
        """Read what has arrived; return whether a batch of calls is complete."""
        chunk = self._socket.recv(1 << 16)
        self._has_ended = not chunk
        self._heard += chunk
        is_complete = False
        lines: list[bytearray] = []
        if b"\n" in chunk:
            *lines, self._heard = self._heard.split(b"\n")
        if lines and not self._is_ready:
            self._is_ready, self._until = True, time.monotonic() + self._timeout
        for line in lines:
            call = _parsed(line)
            if call is not None and call.name == _SEARCH.name:
                self._send(call, self._matches(call.arguments))
                if time.monotonic() > self._until:
                    self._left = 0
                    raise self._time_out()
            elif call is not None:
                self._calls.append(call)
                self._size += len(line)
                is_complete |= call.is_alone
            else:
                is_complete |= bool(self._calls)
        if len(self._heard) > _LARGEST:
            raise self._limited(f"a call with more than {_LARGEST >> 20} MiB of arguments")
        if self._size > _LARGEST_BATCH:
            raise self._limited(f"calls at once with more than {_LARGEST_BATCH >> 20} MiB of arguments")
        if len(self._calls) > self._max_calls:
            raise self._limited(f"the limit of {self._max_calls} calls")
        return is_complete

    def _limited(self, reason: str) -> ToolError:
        return ToolError(f"{self.stop()}[stopped at {reason}]", "limit_exceeded")

    def _matches(self, arguments: Mapping[str, Any]) -> Result:
        try:
            return Result.text(self._search(**arguments))
        except (TypeError, ValueError) as error:
            return Result.error(f"search_tools(query: str, limit: int = 5): {error}", type="validation_error")

    def answer(self, call: CodeCall, result: Result) -> None:
        """Send the result of a call."""
        with self._counted():
            self._send(call, result)

    def _send(self, call: CodeCall, result: Result) -> None:
        value = result.to_dict()
        if result.ok:
            output = value["output"] if value["output"] is not None else value.get("content")
            reply = {"id": call.id, "value": output}
        else:
            reply = {"id": call.id, "error": result.error, "error_type": result.error_type}
        self._socket.settimeout(max(self._until - time.monotonic(), 0.1))  # the code need not read
        try:
            self._socket.sendall(json.dumps(reply).encode() + b"\n")
        except OSError:
            self._has_ended = True
        self._socket.settimeout(None)

    def result(self) -> Result:
        """Wait for the end of the process, and return its output, the last value, and the traceback."""
        try:
            result = self._result.result(self._left)
        except TimeoutError:
            raise self._time_out() from None
        facts: Mapping[str, Any] = result.output if result.ok else result.metadata
        if "output" not in facts:  # it did not start
            return result
        error = facts.get("error", {})
        parts = [facts["output"], f"=> {facts['value']}" if facts.get("value") else "", error.get("traceback", "")]
        if not error and facts.get("exit_code"):
            parts.append(f"[exit {facts['exit_code']}]")
        text = "\n".join(part.removesuffix("\n") for part in (*parts, *facts.get("notes", ())) if part)
        if not result.ok or error or facts.get("exit_code"):
            return Result.error(text or str(result), type=result.error_type or "execution_error")
        images = [block for block in result.content if not isinstance(block, str)]
        return Result.ok(facts.get("value"), content=[text, *images] if images else text)

    def stop(self) -> str:
        """End the process, and return what it has printed."""
        self._context.cancel()
        return str(self._result.result().metadata.get("output", ""))

    def close(self) -> None:
        """End the process, and remove its folder."""
        self._context.cancel()
        self._result.exception()  # wait
        self._socket.close()
        shutil.rmtree(self._folder, ignore_errors=True)


def _new_folder() -> str:
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):  # of another user, or removed meanwhile
            if time.time() - path.stat().st_mtime > _MAX_AGE:
                shutil.rmtree(path)
    return tempfile.mkdtemp(prefix=_PREFIX)


@cache
def _program() -> str:
    return Path(__file__).with_name("_inside.py").read_text("utf-8")


def _parsed(line: bytearray) -> CodeCall | None:
    """Return a call, or None for the end of a batch. Raises ToolError for anything else: the code has the socket."""
    try:
        value = json.loads(line)
        if "id" not in value and value["flush"]:
            return None
        call = CodeCall(value["id"], value["name"], value["arguments"], value["flush"])
        if [*map(type, call)] == [int, str, dict, bool]:
            return call
    except (ValueError, TypeError, KeyError):
        pass
    raise ToolError("the code wrote to the socket of its calls; call the functions instead", "validation_error")
