"""`end_run`: ends what belongs to a run."""

from __future__ import annotations

from tools_shell._bash._sessions import end_sessions
from tools_shell._jobs._table import jobs
from tools_shell._python._python_sessions import python_sessions


def end_run(run_id: str) -> None:
    """End the jobs and the sessions of a run (`Context.run_id`) in all workspaces."""
    end_sessions(run_id)
    python_sessions.end_run(run_id)
    jobs.end_run(run_id)
