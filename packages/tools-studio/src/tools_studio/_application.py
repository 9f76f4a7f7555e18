"""`create_application`: the routes of the studio."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.responses import HTMLResponse, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from tools_studio._events import Numbers
from tools_studio._pages import bench, changes, sessions
from tools_studio._security import Guard

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from starlette.requests import Request
    from starlette.responses import Response

    from tools_studio._studio import Studio


def create_application(studio: Studio, port: int, announce: Callable[[str], None]) -> Starlette:
    """Return the application for the address 127.0.0.1:PORT; `announce` receives the next URL for a browser."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        studio.hub.open()
        watcher = asyncio.create_task(studio.watch())
        yield
        watcher.cancel()
        studio.hub.close()

    routes = [
        *bench.ROUTES,
        *sessions.ROUTES,
        *changes.ROUTES,
        Route("/events", _events),
        Mount("/static", StaticFiles(packages=[("tools_studio", "static")])),
    ]
    application = Starlette(
        routes=[Mount(studio.root, routes=routes)],
        middleware=[
            Middleware(Guard, root=studio.root, port=port, announce=announce),
            Middleware(Numbers, hub=studio.hub),
        ],
        exception_handlers={HTTPException: _explain},
        lifespan=lifespan,
    )
    application.state.studio = studio
    return application


async def _events(request: Request) -> Response:
    studio: Studio = request.app.state.studio
    after = request.headers.get("last-event-id") or request.query_params.get("after", "")
    number = int(after) if after.isdecimal() else 0
    return StreamingResponse(studio.hub.stream(number), media_type="text/event-stream")


async def _explain(request: Request, error: Exception) -> Response:
    """Show an error as a page."""
    studio: Studio = request.app.state.studio
    assert isinstance(error, HTTPException)  # noqa: S101  (registered for these alone)
    text = await run_in_threadpool(studio.render, "error.html", status=error.status_code, detail=error.detail, number=0)
    return HTMLResponse(text, error.status_code)
