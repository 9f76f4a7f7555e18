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

    from tools_workspace import Workspace


async def show_changes(request: Request) -> Response:
    """Show the copies and the applied changes."""
    return await page(request, "changes.html")


async def show_list(request: Request) -> Response:
    """Show them without the frame of the page."""
    return await page(request, "_changes.html")


async def change(request: Request) -> Response:
    """Apply or discard a copy, or undo applied changes."""
    workspace, parameters = studio_of(request).workspace, request.path_params
    message = ""
    try:
        await run_in_threadpool(_change, workspace, parameters["action"], parameters["id"])
    except WorkspaceError as error:
        message = str(error)
    studio_of(request).hub.publish("changes")
    return await page(request, "_changes.html", message=message)


def _change(workspace: Workspace, action: str, id: str) -> None:
    if action == "undo":
        workspace.undo(id)
        return
    copy = next((copy for copy in workspace.copies() if copy.id == id), None)
    if copy is None or action not in ("apply", "discard"):
        raise HTTPException(404, f"There is no copy {id}.")
    if action == "apply":
        copy.apply(title="ask-tools ui")
    copy.discard()


ROUTES = [
    Route("/changes", show_changes),
    Route("/changes/list", show_list),
    Route("/changes/{id}/{action}", change, methods=["POST"]),
]
