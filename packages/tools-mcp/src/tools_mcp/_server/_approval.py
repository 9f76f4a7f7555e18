"""Approval of calls by the client's user, through elicitation."""

from __future__ import annotations

import json
from contextvars import ContextVar
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Literal

from mcp_types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from tools_core.text import visible

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from mcp.server.context import ServerRequestContext
    from mcp_types import CallToolRequestParams

    from tools_core import ApprovalRequest
    from tools_mcp._server._runs import Run

    Answer = str | Literal[False] | None

_KEY = "approval"
_MAX_SHOWN = 30_000  # characters of the arguments: a user must see all of them
_SCOPES = {"once": "this call", "run": "such calls in this session", "project": "such calls in this project"}


@dataclass
class Question:
    """Asks the client's user about one call; in the stateless protocol, `next_round` is the result that asks."""

    ctx: ServerRequestContext[Any, Any]
    params: CallToolRequestParams
    run: Run
    next_round: InputRequiredResult | None = field(default=None, init=False)
    obstacle: str = field(default="", init=False)  # the reason why the user was not asked

    @property
    def can_ask(self) -> bool:
        """Return whether the client has declared support for forms."""
        capabilities = self.ctx.session.client_capabilities
        offered = None if capabilities is None else capabilities.elicitation
        return offered is not None and (offered.form is not None or offered.url is None)

    async def ask(self, request: ApprovalRequest) -> Answer:
        """Return the scope of the user's approval, False for a refusal, or None if there is no answer yet."""
        arguments = json.dumps(dict(request.arguments), ensure_ascii=False, default=str, indent=2)
        if not self.can_ask:
            self.obstacle = "This client has no way to ask its user (it does not offer elicitation)."
        elif len(arguments) > _MAX_SHOWN:
            self.obstacle = f"The arguments have {len(arguments):,} characters, too many to show to the user."
        if self.obstacle:
            return None
        scopes = [scope for scope in request.scopes if self.run.is_kept or scope != "run"]
        form = _form(request, arguments, scopes)
        if self.ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            answer = await self.ctx.session.elicit_form(form.message, form.requested_schema, self.ctx.request_id)
            return _read(answer, scopes)
        state = request.key.removeprefix(self.run.id)  # the next round of a stateless call has another run id
        response = (self.params.input_responses or {}).get(_KEY)
        if isinstance(response, ElicitResult) and self.params.request_state == state:
            return _read(response, scopes)
        self.next_round = InputRequiredResult(input_requests={_KEY: ElicitRequest(params=form)}, request_state=state)
        return None


question: ContextVar[Question] = ContextVar("question")


def approver(allowed: Sequence[str]) -> Callable[[ApprovalRequest], Awaitable[Answer]]:
    """Return a function that approves calls of allowed tools, and asks the client's user about others."""

    async def ask_client(request: ApprovalRequest) -> Answer:
        if any(fnmatchcase(request.call.name, pattern) for pattern in allowed):
            return "once"
        return await question.get().ask(request)

    return ask_client


def advice(name: str) -> str:
    """Return the ways to allow a call whose user cannot be asked."""
    return (
        f"The user can start the server with `--allow {name}`, in Python `Server(allow=[{name!r}])`, or allow the call "
        "by a rule in a policy file (`ask-tools policy --help`)."
    )


def _form(request: ApprovalRequest, arguments: str, scopes: Sequence[str]) -> ElicitRequestFormParams:
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


def _read(answer: ElicitResult, scopes: Sequence[str]) -> str | Literal[False]:
    """Return the scope in an answer; False for a refusal, and for a scope that was not offered."""
    scope = (answer.content or {}).get("scope") or "once"
    return scope if answer.action == "accept" and isinstance(scope, str) and scope in scopes else False
