"""Questions of servers to the user (elicitation), asked by `Context.ask` of a running call."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mcp_types import ElicitRequestURLParams, ElicitResult

from tools_core import ToolError
from tools_core.text import visible

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from mcp_types import ElicitRequestParams

    from tools_core import Context

_YES, _NO, _DECLINE = "yes", "no", "decline"


class Questions:
    """Answers the questions of a server during calls: the user of the latest call is asked, one question at a time."""

    def __init__(self) -> None:
        self._contexts: list[Context] = []
        self._asking = asyncio.Lock()

    @contextmanager
    def of(self, context: Context) -> Generator[None]:
        """Ask the user of this call from now on."""
        self._contexts.append(context)
        try:
            yield
        finally:
            self._contexts.remove(context)

    async def answer(self, context: object, params: ElicitRequestParams) -> ElicitResult:  # noqa: ARG002  (of the SDK)
        """Return the user's answer; `cancel` if no user can be asked."""
        if not self._contexts or self._contexts[-1].on_ask is None:
            return ElicitResult(action="cancel")
        async with self._asking:
            return await asyncio.to_thread(_ask, self._contexts[-1], params)


def _ask(context: Context, params: ElicitRequestParams) -> ElicitResult:
    try:
        if isinstance(params, ElicitRequestURLParams):
            text = f"{visible(params.message, keep_layout=True)}\nOpen {visible(params.url)}"
            is_done = _reply(context, text, ("done", _DECLINE)) == "done"
            return ElicitResult(action="accept" if is_done else "decline")
        schema = params.requested_schema
        content = _fill_in(context, visible(params.message, keep_layout=True), schema)
    except _DeclinedError:
        return ElicitResult(action="decline")
    except _UnansweredError:
        return ElicitResult(action="cancel")
    return ElicitResult(action="accept", content=content)


def _fill_in(context: Context, message: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Ask for each member that is required, or for all of them if none is; a form without members is a confirmation."""
    properties, required = schema.get("properties") or {}, schema.get("required") or ()
    if not properties and _reply(context, message, (_YES, _NO)) == _NO:
        raise _DeclinedError
    names = [name for name in properties if name in required] or [*properties]
    return {name: _member(context, message, name, properties[name], is_only=len(names) == 1) for name in names}


def _member(context: Context, message: str, name: str, schema: Mapping[str, Any], *, is_only: bool) -> Any:
    about = [schema.get("title") or name, schema.get("description")]
    text = message if is_only and not schema.get("description") else f"{message}\n{': '.join(filter(None, about))}"
    values = _choices(schema)
    if values:
        return values[_reply(context, text, (*values, _DECLINE))]
    while True:
        answer = _reply(context, text)
        try:
            return {"integer": int, "number": float}.get(str(schema.get("type")), str)(answer)
        except ValueError:
            text = f"{answer} is not a number. {message}"


def _choices(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that a member may have by their titles; empty for any value."""
    if schema.get("type") == "boolean":
        return {_YES: True, _NO: False}
    titled = {str(option.get("title") or option["const"]): option["const"] for option in schema.get("oneOf") or ()}
    titles = schema.get("enumNames") or schema.get("enum") or ()
    return titled or dict(zip(map(str, titles), schema.get("enum") or (), strict=False))


def _reply(context: Context, text: str, choices: tuple[str, ...] = ()) -> str:
    try:
        answer = context.ask(text, choices)
    except ToolError as error:  # none of the choices
        raise _DeclinedError from error
    except BaseException as error:
        if isinstance(error, Exception | KeyboardInterrupt | SystemExit):
            raise
        raise _UnansweredError from error  # the call must not run again: it may have had effects
    if answer == _DECLINE and _DECLINE in choices:
        raise _DeclinedError
    return answer


class _DeclinedError(Exception):
    """The user has declined."""


class _UnansweredError(Exception):
    """There is no answer yet."""
