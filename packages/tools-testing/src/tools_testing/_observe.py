"""Calls of one tool, with everything that can be observed of each from outside."""

from __future__ import annotations

import contextlib
import copy
import io
import os
import secrets
import tempfile
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tools_core import Context, Result

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from tools_core import Tool

_VARIABLE = "TOOLS_TESTING_API_TOKEN"
_GRACE = 5.0  # seconds after the deadline until a call counts as endless


class NeverEnds(Exception):
    """Raised if a function did not return in time."""


def within(seconds: float, function: Callable[[], Any]) -> Any:
    """Run a function in a thread; NeverEnds if it takes longer, and the thread continues."""
    returned: list[Any] = []
    raised: list[BaseException] = []

    def run() -> None:
        try:
            returned.append(function())
        except BaseException as error:  # noqa: BLE001  (raised again in the caller's thread)
            raised.append(error)

    thread = threading.Thread(target=run, name="tools-testing call", daemon=True)
    thread.start()
    thread.join(seconds)
    if raised:
        raise raised[0]
    if not returned:
        raise NeverEnds(f"did not end within {seconds:g} s")
    return returned[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedCall:
    """One call: its arguments and its outcome.

    `kind` is that of the arguments: "valid", "invalid" or "hostile". `arguments_after` and `definition_after` are their
    state after the call. `repeated` is the result of a second equal call, if the tool promises to return the same.
    """

    kind: str
    limit: float
    secret: str
    arguments: Any
    arguments_after: Any
    definition_before: dict[str, Any]
    definition_after: dict[str, Any]
    returned: Any = None
    raised: BaseException | None = None
    printed: str = ""
    is_endless: bool = False
    repeated: Result | None = None

    @property
    def result(self) -> Result | None:
        """The returned value, if it is a Result."""
        return self.returned if isinstance(self.returned, Result) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Calls one tool and observes each call."""

    tool: Tool
    limit: float
    secret: str
    workspace: str
    context: Context | None = None

    def new_context(self) -> Context:
        """Return a context for one call, with a deadline."""
        if self.context is not None:
            return self.context.for_call(self.limit)
        return Context(workspace=self.workspace, state={"api_token": self.secret}, timeout=self.limit)

    def __call__(self, arguments: Any, kind: str = "valid") -> ObservedCall:
        """Call the tool, with a copy of the arguments."""
        definition = self.tool.definition
        sent = _copied(arguments)
        returned: Any = None
        raised: BaseException | None = None
        is_endless = False
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
            try:
                returned = within(self.limit + _GRACE, lambda: self.tool.call(sent, self.new_context()))
            except NeverEnds:
                is_endless = True
            # `call` should let nothing through: whatever it raises is observed.
            except BaseException as error:  # noqa: BLE001
                raised = error
        return ObservedCall(
            kind=kind, limit=self.limit, secret=self.secret, arguments=arguments,
            arguments_after=sent, definition_before=definition, definition_after=self.tool.definition,
            returned=returned, raised=raised, printed=out.getvalue() + err.getvalue(), is_endless=is_endless,
            repeated=self._repeated(arguments, kind, returned),
        )  # fmt: skip

    def _repeated(self, arguments: Any, kind: str, first: Any) -> Result | None:
        tool = self.tool
        promises = tool.read_only and not tool.open_world and tool.idempotent is not False
        if kind != "valid" or not promises or not isinstance(first, Result):
            return None
        if first.error_type == "timeout_error":
            return None
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            return self.tool.call(_copied(arguments), self.new_context())


@contextlib.contextmanager
def calling(tool: Tool, *, limit: float, context: Context | None = None) -> Generator[Caller]:
    """Provide a caller with an empty workspace, and with a secret that must not leak.

    The secret is in the state of the default context and in an environment variable.
    """
    secret = secrets.token_hex(12)
    with tempfile.TemporaryDirectory(prefix="tools-testing-", ignore_cleanup_errors=True) as workspace:
        os.environ[_VARIABLE] = secret
        try:
            yield Caller(tool=tool, limit=limit, secret=secret, workspace=workspace, context=context)
        finally:
            os.environ.pop(_VARIABLE, None)


def _copied(arguments: Any) -> Any:
    try:
        return copy.deepcopy(arguments)
    except (TypeError, RecursionError):  # some hostile arguments cannot be copied
        return arguments
