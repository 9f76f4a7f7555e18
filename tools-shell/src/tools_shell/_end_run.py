"""The end of a run."""

from __future__ import annotations

from tools_shell._background._jobs import jobs
from tools_shell._sessions import end_sessions


def end_run(run_id: str) -> None:
    """End the jobs, the sessions and the interpreters of a run (`Context.run_id`), in all workspaces."""
    end_sessions(run_id)
    jobs.end_run(run_id)
