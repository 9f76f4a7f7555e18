"""The bench: tools, a form for their arguments, and calls."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from tools_studio._forms import form_of
from tools_studio._pages._responses import body_of, item_of, page, studio_of
from tools_studio._snippets import PROVIDERS, definition, snippets
from tools_workspace import WorkspaceError

if TYPE_CHECKING:
    from starlette.requests import Request

    from tools_core import Tool
    from tools_studio._calls import Call

_WAIT = 0.1  # seconds for a call to end before the page shows that it runs


async def show_bench(request: Request) -> Response:
    """Show the tools, without one of them; they are loaded afterwards if that takes longer than a page may."""
    studio_of(request).load()
    return await page(request, "bench.html")


async def show_list(request: Request) -> Response:
    """Show the list of tools."""
    return await page(request, "_tools.html")


async def show_problems(request: Request) -> Response:
    """Show the problems of the installation."""
    return await page(request, "_problems.html")


async def show_tool(request: Request) -> Response:
    """Show a tool with an empty form, and its calls."""
    item, studio = await item_of(request), studio_of(request)
    if item.tool is None:
        return await page(request, "tool.html", item=item)
    return await page(
        request, "tool.html", item=item, calls=studio.calls.of(item.name), providers=PROVIDERS,
        form=form_of(item.tool.input_schema),
        score=await run_in_threadpool(lambda: studio.catalog.score(item.name)),
    )  # fmt: skip


async def show_definition(request: Request) -> Response:
    """Show the definition of a tool as a provider receives it."""
    tool = await _tool_of(request)
    provider = request.query_params.get("provider", "")
    if provider not in PROVIDERS:
        raise HTTPException(404, f"There is no provider {provider}.")
    text = await run_in_threadpool(definition, tool, provider)
    return await page(request, "_definition.html", text=text)


async def show_form(request: Request) -> Response:
    """Show the form, filled with arguments."""
    tool = await _tool_of(request)
    return await page(request, "_form.html", form=form_of(tool.input_schema, await body_of(request)))


async def forecast(request: Request) -> Response:
    """Return the forecast of a call: problems of the arguments, the decision of the policy, the effects."""
    tool, arguments = await _tool_of(request), await body_of(request)
    result = await run_in_threadpool(studio_of(request).calls.forecast, tool, arguments)
    html = await page(
        request, "_forecast.html", forecast=result, tool=tool,
        snippets=snippets(request.path_params["name"], tool, arguments),
    )  # fmt: skip
    problems = [{"path": problem.path, "text": problem.text} for problem in result.problems]
    values = {"outcome": result.outcome, "key": result.key, "problems": problems, "html": bytes(html.body).decode()}
    return Response(json.dumps(values), media_type="application/json")


async def show_calls(request: Request) -> Response:
    """Show the calls of a tool that run, and the latest one."""
    item = await item_of(request)
    return await page(request, "_calls.html", calls=studio_of(request).calls.of(item.name))


async def start_call(request: Request) -> Response:
    """Start a call, and show the calls of its tool."""
    tool, body = await _tool_of(request), await body_of(request)
    arguments: Any = body.get("arguments")
    if not isinstance(arguments, dict):
        raise HTTPException(400, "`arguments` is not an object.")
    key, in_copy = str(body.get("key")), body.get("in_copy") is True
    call = studio_of(request).calls.start(request.path_params["name"], tool, arguments, key, in_copy=in_copy)
    await asyncio.wait({call.task}, timeout=_WAIT) if call.task else None
    return await show_calls(request)


async def show_call(request: Request) -> Response:
    """Show a call: its progress, then its result."""
    return await _call_page(request, _call_of(request))


async def change_call(request: Request) -> Response:
    """Cancel a call, answer its question, or decide about the changes in its copy."""
    call, calls = _call_of(request), studio_of(request).calls
    body = await body_of(request)
    action = request.path_params["action"]
    message = ""
    if action == "cancel":
        calls.cancel(call)
    elif action == "answer":
        if body.get("question") == str(call.questions) and call.question:  # a second click answers no next question
            calls.reply(call, str(body.get("answer", "")))
    elif action in ("apply", "discard"):
        try:
            await run_in_threadpool(calls.apply if action == "apply" else calls.discard, call)
        except WorkspaceError as error:
            message = str(error)
    else:
        raise HTTPException(404, f"There is no action {action}.")
    return await _call_page(request, call, message)


async def _call_page(request: Request, call: Call, message: str = "") -> HTMLResponse:
    return await page(request, "_call.html", call=call, message=message)


async def _tool_of(request: Request) -> Tool:
    item = await item_of(request)
    if item.tool is None:
        raise HTTPException(409, f"{item.label} cannot be loaded: {item.error}")
    return item.tool


def _call_of(request: Request) -> Call:
    call = studio_of(request).calls.get(request.path_params["id"])
    if call is None:
        raise HTTPException(404, "This call is unknown: it is older than 200 others, or the studio was restarted.")
    return call


ROUTES = [
    Route("/", show_bench),
    Route("/list", show_list),
    Route("/problems", show_problems),
    Route("/calls/{id:int}", show_call),
    Route("/calls/{id:int}/{action}", change_call, methods=["POST"]),
    Route("/tools/{name:path}/definition", show_definition),
    Route("/tools/{name:path}/form", show_form, methods=["POST"]),
    Route("/tools/{name:path}/forecast", forecast, methods=["POST"]),
    Route("/tools/{name:path}/calls", show_calls),
    Route("/tools/{name:path}/calls", start_call, methods=["POST"]),
    Route("/tools/{name:path}", show_tool),
]
