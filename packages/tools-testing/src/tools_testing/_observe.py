"""One call of a tool, with everything that can be seen of it from outside."""

from __future__ import annotations

import contextlib
import copy
import io
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tools_core import Result, ToolError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tools_core import Context, Tool


class NeverEnds(Exception):
    """A call was still running when nobody would have waited any longer."""


def within(seconds: float, function: Callable[[], Any]) -> Any:
    """Run something in a thread that may be left behind; NeverEnds when it takes longer."""
    outcome: list[Any] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(function())
        except BaseException as error:  # noqa: BLE001  (raised again where it is waited for)
            failure.append(error)

    thread = threading.Thread(target=run, name="tools-testing call", daemon=True)
    thread.start()
    thread.join(seconds)
    if failure:
        raise failure[0]
    if not outcome:
        raise NeverEnds(f"had not ended after {seconds:g} s")
    return outcome[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What went in, and what came out in every way."""

    arguments: Any
    result: Any = None
    raised: BaseException | None = None
    printed: str = ""
    is_late: bool = False
    arguments_after: Any = None
    definition_before: dict[str, Any]
    definition_after: dict[str, Any]

    @property
    def answer(self) -> Result | None:
        """The result, where there is one."""
        return self.result if isinstance(self.result, Result) else None


def observe(tool: Tool, arguments: Any, context: Context, seconds: float) -> Observation:
    """Call a tool once, wait at most so many seconds, and note all that happens."""
    before = tool.definition
    sent = _copied(arguments)
    result: Any = None
    raised: BaseException | None = None
    is_late = False

    def call() -> tuple[Any, BaseException | None]:
        try:
            return tool.call(sent, context), None
        # That anything at all passes through `call` is what is looked for.
        except BaseException as error:  # noqa: BLE001
            return None, error

    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        try:
            result, raised = within(seconds, call)
        except NeverEnds:
            is_late = True
    return Observation(
        arguments=arguments, result=result, raised=raised, printed=out.getvalue() + err.getvalue(), is_late=is_late,
        arguments_after=sent, definition_before=before, definition_after=tool.definition,
    )  # fmt: skip


def _copied(arguments: Any) -> Any:
    try:
        return copy.deepcopy(arguments)
    except (TypeError, RecursionError):  # something hostile that cannot be copied cannot be watched either
        return arguments


def crash(result: Result) -> str | None:
    """Why an error is a defect of the tool and no answer; None when it is one."""
    error = result.exception
    if isinstance(error, Exception) and not isinstance(error, ToolError) and result.error_type == "execution_error":
        return f"the body crashed: {result.error_message}"
    return None


def is_mute(result: Result) -> bool:
    """Whether an error says nothing but the name of its class."""
    if result.is_ok:
        return False
    message = (result.error_message or "").strip()
    return not message or (result.exception is not None and message == type(result.exception).__name__)
