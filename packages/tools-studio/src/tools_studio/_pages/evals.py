"""The last reports of `ask-tools eval`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from starlette.routing import Route

from tools_studio._pages._responses import page, studio_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from tools_eval import Report

_MAX_REPORTS = 10
_MAX_BYTES = 20_000_000


class ReportFile(NamedTuple):
    """A file with a report, as `ask-tools eval --json` writes it."""

    name: str
    at: float
    report: Report


async def show_evals(request: Request) -> Response:
    """Show the reports in the workspace and its folder `evals`, the latest first."""
    try:
        from tools_eval import Report  # optional
    except ImportError:
        return await page(request, "evals.html", reports=[], is_installed=False)
    reports = _reports(Path(studio_of(request).workspace.path), Report)
    return await page(request, "evals.html", reports=reports, is_installed=True)


def _reports(workspace: Path, kind: type[Report]) -> list[ReportFile]:
    files = [*workspace.glob("*.json"), *workspace.glob("evals/**/*.json")]
    times = {path: path.stat().st_mtime for path in files if path.is_file() and path.stat().st_size < _MAX_BYTES}
    reports: list[ReportFile] = []
    for path in sorted(times, key=lambda path: -times[path]):
        try:
            value: Any = json.loads(path.read_text(encoding="utf-8"))
            reports.append(ReportFile(str(path.relative_to(workspace)), times[path], kind.from_dict(value)))
        except (OSError, ValueError, TypeError, KeyError):
            continue  # another kind of file
        if len(reports) == _MAX_REPORTS:
            break
    return reports


ROUTES = [Route("/evals", show_evals)]
