"""`SessionApprovals`: approvals for the rest of a session, in its log."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from tools_core import Approval, Denial
from tools_runtime import Approvals

if TYPE_CHECKING:
    from tools_agent._loop._run import Run
    from tools_core import ApprovalRequest


class SessionApprovals(Approvals):
    """Store approvals for a run in the log of its session, so that they hold in other processes; others in `inner`."""

    def __init__(self, inner: Approvals | None) -> None:
        super().__init__()
        self._inner = Approvals() if inner is None else inner
        self.scopes = self._inner.scopes
        self.project = self._inner.project

    def take(self, request: ApprovalRequest) -> Approval | Denial | None:
        """Return the answer to a request, or None."""
        by = _run_of(request).session.log.approver_of(request.key)
        return self._inner.take(request) if by is None else Approval("run", by, request.key)

    def remember(self, request: ApprovalRequest, approval: Approval) -> None:
        """Remember an approval for its scope."""
        if approval.scope != "run":
            self._inner.remember(request, approval)
            return
        _run_of(request).session.log.approve_key(request.key, request.call.id, approval.by)


def _run_of(request: ApprovalRequest) -> Run:
    return cast("Run", request.context.caller).owner
