"""Read requests and write responses of pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse

if TYPE_CHECKING:
    from starlette.requests import Request

    from tools_studio._catalog import Item
    from tools_studio._studio import Studio


def studio_of(request: Request) -> Studio:
    """Return the studio that a request is for."""
    studio: Studio = request.app.state.studio
    return studio


async def page(request: Request, template: str, **values: Any) -> HTMLResponse:
    """Return a page or a part of it; rendering may load tools, so it does not block other requests."""
    values |= {"request": request, "number": request.state.number}
    return HTMLResponse(encoded(await run_in_threadpool(studio_of(request).render, template, **values)))


def encoded(text: str) -> bytes:
    """Return text for a response; halves of surrogate pairs, such as those of file names, become question marks."""
    return text.encode("utf-8", "replace")


async def item_of(request: Request) -> Item:
    """Return the tool in the path of a request."""
    items = await run_in_threadpool(lambda: studio_of(request).catalog.items)
    name = request.path_params["name"]
    if name not in items:
        raise HTTPException(404, f"The tool {name} does not exist.")
    return items[name]


async def body_of(request: Request) -> dict[str, Any]:
    """Return the JSON object in the body of a request."""
    try:
        body = await request.json()
    except (ValueError, RecursionError) as error:
        raise HTTPException(400, "The request is not JSON.") from error
    if not isinstance(body, dict):
        raise HTTPException(400, "The request is not a JSON object.")
    return body
