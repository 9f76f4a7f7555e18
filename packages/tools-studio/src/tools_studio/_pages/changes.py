"""Copies of the workspace with their changes, and applied changes, which can be undone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.routing import Route

from tools_studio._pages._responses import page, studio_of
from tools_workspace import WorkspaceError

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from tools_studio._studio import Studio


async def show_changes(request: Request) -> Response:
    """Show the copies and the applied changes."""
    return await page(request, "changes.html")


async def show_list(request: Request) -> Response:
    """Show them without the frame of the page."""
    return await page(request, "_changes.html")


async def change(request: Request) -> Response:
    """Apply or discard a copy, or undo applied changes."""
    parameters = request.path_params
    message = ""
    try:
        await run_in_threadpool(_change, studio_of(request), parameters["action"], parameters["id"])
    except WorkspaceError as error:
        message = str(error)
    studio_of(request).hub.publish("changes")
    return await page(request, "_changes.html", message=message)


def _change(studio: Studio, action: str, id: str) -> None:
    if action == "undo":
        studio.workspace.undo(id)
        return
    copy = next((copy for copy in studio.workspace.copies() if copy.id == id), None)
    if copy is None or action not in ("apply", "discard"):
        raise HTTPException(404, f"There is no copy {id}.")
    if action == "apply":
        title = studio.sessions.titles.get(copy.path)
        changes = copy.changes()
        copy.check_shown(changes)  # the page shows them
        copy.apply(shown=changes, title=f"{title}, ask-tools ui" if title else "ask-tools ui")
    copy.discard()


ROUTES = [
    Route("/changes", show_changes),
    Route("/changes/list", show_list),
    Route("/changes/{id}/{action}", change, methods=["POST"]),
]
