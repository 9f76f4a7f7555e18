"""`SessionApprovals`: approvals for the rest of a session, in its log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools_agent._loop._family import run_of
from tools_core import Approval, Denial
from tools_runtime import Approvals

if TYPE_CHECKING:
    from tools_agent._loop._run import Run
    from tools_core import ApprovalRequest


class SessionApprovals(Approvals):
    """Store approvals for a run in the log of its session, so that they hold in other processes; others in `inner`."""

    def __init__(self, inner: Approvals | None) -> None:
        super().__init__()
        self._has_inner = inner is not None
        self._inner = Approvals() if inner is None else inner
        self.scopes = self._inner.scopes
        self.project = self._inner.project

    def inside(self, outer: Approvals) -> Approvals:
        """Return the store for an agent that is a tool of a caller with the store `outer`."""
        if self._has_inner:
            return self
        return SessionApprovals(outer._inner if isinstance(outer, SessionApprovals) else outer)

    def take(self, request: ApprovalRequest) -> Approval | Denial | None:
        """Return the answer to a request, or None."""
        run = _run_of(request)
        by = None if run is None else run.session.log.approver_of(request.key)
        return self._inner.take(request) if by is None else Approval("run", by, request.key)

    def remember(self, request: ApprovalRequest, approval: Approval) -> None:
        """Remember an approval for its scope."""
        run = _run_of(request)
        if run is None or approval.scope != "run":
            self._inner.remember(request, approval)
        else:
            run.session.log.approve_key(request.key, request.call.id, approval.by)


def _run_of(request: ApprovalRequest) -> Run | None:
    """Return the run whose session keeps the approvals for it; None for a part of a call without an agent."""
    run = run_of(request.context.caller)
    run = None if run is None else run.owner
    return None if run is None or (run.is_part and run.caller is None) else run
