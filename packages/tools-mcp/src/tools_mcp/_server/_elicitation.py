"""Approval of calls and answers to questions of tools by the client's user, through elicitation."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from concurrent.futures import CancelledError
from contextvars import ContextVar
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from threading import get_ident
from typing import TYPE_CHECKING, Any

from mcp.shared.exceptions import MCPError
from mcp_types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from tools_core import Denial
from tools_core.text import visible

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from mcp.server.context import ServerRequestContext
    from mcp_types import CallToolRequestParams

    from tools_core import ApprovalRequest, Question, ToolCall
    from tools_mcp._server._runs import Run

    Approved = str | Denial | None

_NO_ELICITATION = "This client has no way to ask its user (it does not offer elicitation)."
_CANCELLED = "The client closed the question without an answer (`cancel`): perhaps it has not shown it to its user."
_NO_ANSWER = "The client gave no answer, perhaps without asking its user."
_PARTS_RUN = "Earlier calls of it have run, and this client starts it again for each question: run only the rest."
# By a word of the name that a client sends.
_CLIENTS = {
    "claude-code": "claude-code",
    "claude-ai": "claude-desktop",
    "codex": "codex",
    "gemini": "gemini-cli",
    "cursor": "cursor",
    "visual studio code": "vscode",
    "zed": "zed",
}
_MAX_SHOWN = 30_000  # characters of the arguments: a user must see all of them
_SCOPES = {"once": "this call", "run": "such calls in this session", "project": "such calls in this project"}


@dataclass
class Elicitation:
    """Asks the client's user during one call; in the stateless protocol, `next_round` is the result that asks.

    A stateless call runs again in each round: its state has the responses of the earlier rounds.
    """

    ctx: ServerRequestContext[Any, Any]
    params: CallToolRequestParams
    call: ToolCall
    run: Run
    advice: str
    next_round: InputRequiredResult | None = field(default=None, init=False)
    obstacle: str = field(default="", init=False)  # the reason why there is no answer
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop, init=False)
    _thread: int = field(default_factory=get_ident, init=False)
    _parts_run: bool = field(default=False, init=False)  # whether calls that this call runs were approved
    _forms: dict[str, tuple[str, ElicitRequestFormParams]] = field(default_factory=dict, init=False)  # of this round
    _form_counts: Counter[str] = field(default_factory=Counter, init=False)  # the number of forms by subject

    @property
    def can_ask(self) -> bool:
        """Return whether the client has declared support for forms."""
        capabilities = self.ctx.session.client_capabilities
        offered = None if capabilities is None else capabilities.elicitation
        return offered is not None and (offered.form is not None or offered.url is None)

    async def approve(self, request: ApprovalRequest) -> Approved:
        """Return the scope of the user's approval, a refusal, or None if there is no answer yet."""
        is_part = (request.call.id, request.call.name) != (self.call.id, self.call.name)
        approving = self._approve_part(request) if is_part else self._approve(request)
        if get_ident() == self._thread:
            return await approving
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(approving, self._loop))

    async def _approve_part(self, request: ApprovalRequest) -> Approved:
        """Approve a call that another call runs, such as `run_code`: no round may repeat it."""
        approved = await self._approve(request)
        if self.next_round is not None:
            return None
        self._parts_run = self._parts_run or isinstance(approved, str)
        return approved

    async def _approve(self, request: ApprovalRequest) -> Approved:
        arguments = json.dumps(dict(request.arguments), ensure_ascii=False, default=str, indent=2)
        scopes = [scope for scope in request.scopes if self.run.is_kept or scope != "run"]
        call = request.key.rpartition(".")[2]  # without the run, which is another one in the next round
        ways, response, self.obstacle = self._ways(request.call.name), None, ""
        if not self.can_ask:
            self.obstacle = _NO_ELICITATION
        elif len(arguments) > _MAX_SHOWN:
            self.obstacle = f"The arguments have {len(arguments):,} characters, too many to show to the user."
        else:
            try:
                response = await self._elicit("approval", call, _approval_form(request, arguments, scopes))
            except MCPError as error:
                self.obstacle = f"The client could not ask its user: {error}"
        if response is not None and response.action == "cancel":
            response, self.obstacle = None, _CANCELLED
        self.obstacle = self.obstacle and f"{self.obstacle} {ways}"
        return None if response is None else _read(response, scopes, ways)

    def _ways(self, name: str) -> str:
        """Return the ways to allow a call without a question."""
        params = self.ctx.session.client_params
        name_of_client = params.client_info.name.lower() if params else ""
        client = next((client for word, client in _CLIENTS.items() if word in name_of_client), "CLIENT")
        return self.advice.format(tool=name, client=client)

    def answer(self, question: Question) -> str | None:
        """Return the user's answer to a question of a tool, or None; called in the thread of the tool, which waits."""
        if get_ident() == self._thread:
            raise RuntimeError("context.ask would block the event loop: use `await context.aask(...)` in a coroutine")
        if not self.can_ask:
            self.obstacle = _NO_ELICITATION
            return None
        text = json.dumps([question.tool, question.text, question.choices])
        asking = asyncio.run_coroutine_threadsafe(self._elicit("answer", text, _question_form(question)), self._loop)
        unregister = question.context.on_cancel(asking.cancel)
        try:
            response = asking.result()
        except CancelledError:
            return None
        except MCPError as error:
            self.obstacle = f"The client could not ask its user: {error}"
            return None
        finally:
            unregister()
        if response is None:
            return None
        answer = (response.content or {}).get("answer")
        if response.action == "accept" and isinstance(answer, str):
            return answer
        self.obstacle = _NO_ANSWER
        return None

    async def _elicit(self, name: str, subject: str, form: ElicitRequestFormParams) -> ElicitResult | None:
        """Return the response to a form; None if the next round of the call has it.

        Calls that run at once have no order, and other ids in each round: a form is known by its subject, and by the
        number of earlier forms with this subject.
        """
        if self.ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            return await self.ctx.session.elicit_form(form.message, form.requested_schema, self.ctx.request_id)
        key = f"{subject} {self._form_counts[subject]}"
        self._form_counts[subject] += 1
        responses = self._responses
        if key in responses:
            return ElicitResult.model_validate(responses[key])
        if self._parts_run:
            self.obstacle = _PARTS_RUN
            return None
        self._forms[key] = (name if not self._forms else f"{name} {len(self._forms) + 1}", form)
        state = {"names": {key: name for key, (name, _) in self._forms.items()}, "responses": responses}
        requests: Any = {name: ElicitRequest(params=form) for name, form in self._forms.values()}
        self.next_round = InputRequiredResult(input_requests=requests, request_state=json.dumps(state))
        return None

    @cached_property
    def _responses(self) -> dict[str, Any]:
        """The responses to the forms of a stateless call, from its state, which is sealed and bound to the call."""
        if self.params.request_state is None:
            return {}
        state = json.loads(self.params.request_state)
        responses: dict[str, Any] = state["responses"]
        for key, name in state["names"].items():
            response = (self.params.input_responses or {}).get(name)
            if isinstance(response, ElicitResult):
                responses[key] = response.model_dump(mode="json")
        return responses


elicitation: ContextVar[Elicitation] = ContextVar("elicitation")


def approver(allowed: Sequence[str]) -> Callable[[ApprovalRequest], Awaitable[Approved]]:
    """Return a function that approves calls of allowed tools, and asks the client's user about others."""

    async def ask_client(request: ApprovalRequest) -> Approved:
        if any(fnmatchcase(request.call.name, pattern) for pattern in allowed):
            return "once"
        return await elicitation.get().approve(request)

    return ask_client


def _approval_form(request: ApprovalRequest, arguments: str, scopes: Sequence[str]) -> ElicitRequestFormParams:
    lines = [f"Allow {visible(request.tool.name)}?", visible(arguments, keep_layout=True)]
    lines += [f"Files: {', '.join(map(visible, request.effects.paths))}"] if request.effects.paths else []
    lines += [f"Asked because: {visible('; '.join(request.reasons))}"] if request.reasons else []
    choice = {
        "type": "string",
        "title": "Allow",
        "oneOf": [{"const": scope, "title": _SCOPES[scope]} for scope in scopes],
        "default": "once",
    }
    schema = {"type": "object", "properties": {"scope": choice}}
    return ElicitRequestFormParams(message="\n".join(lines), requested_schema=schema)


def _question_form(question: Question) -> ElicitRequestFormParams:
    answer = {"type": "string", "title": "Answer", **({"enum": list(question.choices)} if question.choices else {})}
    schema = {"type": "object", "properties": {"answer": answer}, "required": ["answer"]}
    message = f"{visible(question.tool)} asks: {visible(question.text, keep_layout=True)}"
    return ElicitRequestFormParams(message=message, requested_schema=schema)


def _read(answer: ElicitResult, scopes: Sequence[str], ways: str) -> str | Denial:
    """Return the scope in an answer; a refusal also for a scope that was not offered."""
    scope = (answer.content or {}).get("scope") or "once"
    if answer.action == "accept" and isinstance(scope, str) and scope in scopes:
        return scope
    return Denial("the client", f"the client declined, perhaps without asking its user. {ways.rstrip('.')}")
