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
    from collections.abc import Sequence

    from mcp.server.context import ServerRequestContext
    from mcp_types import CallToolRequestParams

    from tools_core import ApprovalRequest
    from tools_mcp._server._runs import Run

_KEY = "approval"
_LONGEST = 4_000  # characters of the arguments that a user is shown
_SCOPES = {"once": "this call", "run": "such calls in this session", "project": "such calls in this project"}


@dataclass
class Asking:
    """The way to ask the user about one call, and the question that waits for an answer."""

    ctx: ServerRequestContext[Any, Any]
    params: CallToolRequestParams
    run: Run
    request: ApprovalRequest | None = field(default=None, init=False)  # that waits for the client's next round

    @property
    def can_ask(self) -> bool:
        """Return whether the client has declared that it shows forms to its user."""
        capabilities = self.ctx.session.client_capabilities
        offered = None if capabilities is None else capabilities.elicitation
        if offered is None or (offered.form is None and offered.url is not None):
            return False
        return self._is_modern or self.ctx.session.can_send_request

    @property
    def _is_modern(self) -> bool:
        return self.ctx.protocol_version in MODERN_PROTOCOL_VERSIONS

    async def ask(self, request: ApprovalRequest) -> str | Literal[False] | None:
        """Return the scope of the user's approval, False for a refusal, or None where there is no answer yet."""
        if not self.can_ask:
            return None
        scopes = [scope for scope in request.scopes if self.run.is_kept or scope != "run"]
        if not self._is_modern:
            form = _form(request, scopes)
            answer = await self.ctx.session.elicit_form(form.message, form.requested_schema, self.ctx.request_id)
            return _read(answer, scopes)
        given = (self.params.input_responses or {}).get(_KEY)
        if not isinstance(given, ElicitResult) or state_of(self.params).get("key") != request.key:
            self.request = request
            return None
        return _read(given, scopes)

    def next_round(self) -> dict[str, Any] | None:
        """Return the result that asks the client of a stateless protocol to ask its user, if one is to be asked."""
        request = self.request
        if request is None:
            return None
        form = _form(request, [scope for scope in request.scopes if self.run.is_kept or scope != "run"])
        asked = InputRequiredResult(
            input_requests={_KEY: ElicitRequest(params=form)},
            request_state=json.dumps({"key": request.key, "run": self.run.id}),
        )
        return asked.model_dump(by_alias=True, mode="json", exclude_none=True)


asking: ContextVar[Asking] = ContextVar("asking")


class Approver:
    """Answers approval requests: calls of allowed tools at once, others by asking the client's user."""

    def __init__(self, allowed: Sequence[str]) -> None:
        self._allowed = allowed

    async def __call__(self, request: ApprovalRequest) -> str | Literal[False] | None:
        """Answer a request, as `Executor(approve=...)` wants it."""
        if any(fnmatchcase(request.tool.name, pattern) for pattern in self._allowed):
            return "once"
        question = asking.get(None)
        return None if question is None else await question.ask(request)


def state_of(params: CallToolRequestParams) -> dict[str, str]:
    """Return the state that the client carried from the round before, which the server had sealed."""
    return {} if params.request_state is None else json.loads(params.request_state)


def advice(name: str) -> str:
    """Return what works where a call needs approval and the client cannot ask its user."""
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
