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
_LONGEST = 4_000  # characters of the arguments that are shown to the user
_SCOPES = {"once": "this call", "run": "such calls in this session", "project": "such calls in this project"}


@dataclass
class Question:
    """Asks the client's user about one call; in the stateless protocol, `next_round` is the result that asks."""

    ctx: ServerRequestContext[Any, Any]
    params: CallToolRequestParams
    run: Run
    next_round: InputRequiredResult | None = field(default=None, init=False)

    @property
    def can_ask(self) -> bool:
        """Return whether the client has declared support for forms."""
        capabilities = self.ctx.session.client_capabilities
        offered = None if capabilities is None else capabilities.elicitation
        return offered is not None and (offered.form is not None or offered.url is None)

    async def ask(self, request: ApprovalRequest) -> Answer:
        """Return the scope of the user's approval, False for a refusal, or None where there is no answer yet."""
        if not self.can_ask:
            return None
        scopes = [scope for scope in request.scopes if self.run.is_kept or scope != "run"]
        form = _form(request, scopes)
        if self.ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            answer = await self.ctx.session.elicit_form(form.message, form.requested_schema, self.ctx.request_id)
            return _read(answer, scopes)
        shown = request.key.removeprefix(self.run.id)  # the next round of a stateless call has another run id
        given = (self.params.input_responses or {}).get(_KEY)
        if isinstance(given, ElicitResult) and self.params.request_state == shown:
            return _read(given, scopes)
        self.next_round = InputRequiredResult(input_requests={_KEY: ElicitRequest(params=form)}, request_state=shown)
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
    """Return the advice for a call that needs approval if the client cannot ask its user."""
    return (
        f"This client has no way to ask its user (it does not offer elicitation). The user can start the server with "
        f"`--allow {name}`, or allow the call by a rule in a policy file (`ask-tools policy --help`)."
    )


def _form(request: ApprovalRequest, scopes: Sequence[str]) -> ElicitRequestFormParams:
    shown = json.dumps(dict(request.arguments), ensure_ascii=False, default=str, indent=2)
    hidden = len(shown) - _LONGEST
    if hidden > 0:
        tail = _LONGEST // 4
        shown = f"{shown[: 3 * tail]}\n<<< {hidden:,} characters are not shown >>>\n{shown[-tail:]}"
    lines = [f"Allow {visible(request.tool.name)}?", visible(shown, keep_layout=True)]
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
