"""`SessionApprovals`: approvals for the rest of a session, in its log."""

from __future__ import annotations

from tools_agent._loop._frame import Frame, frame_of
from tools_core import Approval, ApprovalRequest, Denial
from tools_runtime import Approvals


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
        frame = _keeper_of(request)
        by = None if frame is None else frame.session.log.approver_of(request.key)
        return self._inner.take(request) if by is None else Approval("run", by, request.key)

    async def remember(self, request: ApprovalRequest, approval: Approval) -> None:
        """Remember an approval for its scope."""
        frame = _keeper_of(request)
        if frame is None or approval.scope != "run":
            remembering = self._inner.remember(request, approval)
            if remembering is not None:
                await remembering
        else:
            await frame.write(frame.session.log.approve_key, request.key, request.call.id, approval.by)


def _keeper_of(request: ApprovalRequest) -> Frame | None:
    """Return the frame whose session keeps the approvals; None for a part of a call without an agent."""
    frame = frame_of(request.context.caller)
    frame = None if frame is None else frame.home
    return None if frame is None or (frame.is_part and frame.caller is None) else frame
