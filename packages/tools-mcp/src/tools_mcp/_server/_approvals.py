"""`ClientApprovals`: the approvals of clients' users."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools_mcp._server._elicitation import elicitation
from tools_runtime import Approvals

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

    from tools_core import Approval, ApprovalRequest, Denial


class ClientApprovals(Approvals):
    """Answers of the client on standard streams, who is the owner of the server, and of the clients over HTTP.

    Over HTTP an answer holds for the run of its client alone: it is never stored for the project, and what the owner
    has stored is no answer for a client.
    """

    def __init__(self, owner: Approvals) -> None:
        super().__init__()
        self._owner = owner
        self.project = owner.project

    @property
    def scopes(self) -> Sequence[Literal["once", "run", "project"]]:  # type: ignore[override]
        """The scopes that the client of this call may choose."""
        return Approvals.scopes if _is_remote() else self._owner.scopes

    def take(self, request: ApprovalRequest) -> Approval | Denial | None:
        """Return the answer to a request, or None."""
        return super().take(request) if _is_remote() else self._owner.take(request)

    def remember(self, request: ApprovalRequest, approval: Approval) -> None:
        """Remember an approval for its scope."""
        if _is_remote():
            super().remember(request, approval)
        else:
            self._owner.remember(request, approval)


def _is_remote() -> bool:
    asking = elicitation.get(None)
    return asking is not None and asking.ctx.request is not None
