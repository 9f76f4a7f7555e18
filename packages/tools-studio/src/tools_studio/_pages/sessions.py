"""Sessions and chats: timelines, approvals, forks and exports."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from tools_studio._pages._responses import body_of, page, studio_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.requests import Request

    from tools_agent import Session
    from tools_studio._studio import Studio


async def show_sessions(request: Request) -> Response:
    """Show the list of sessions."""
    return await page(request, "sessions.html")


async def show_list(request: Request) -> Response:
    """Show the list alone."""
    return await page(request, "_sessions.html")


async def show_session(request: Request) -> Response:
    """Show a session with its timeline."""
    return await _session_page(request, "session.html")


async def show_timeline(request: Request) -> Response:
    """Show the timeline alone."""
    return await _session_page(request, "_timeline.html")


async def show_chat(request: Request) -> Response:
    """Show the form that begins a chat."""
    return await page(request, "chat.html")


async def start_chat(request: Request) -> Response:
    """Begin a chat, and go to its session."""
    studio, body = studio_of(request), await body_of(request)
    prompt, model = str(body.get("prompt", "")).strip(), str(body.get("model", "")).strip()
    if not prompt or not model:
        raise HTTPException(400, "A chat needs a message and a model.")
    tools = body.get("tools", [])
    names = [tools] if isinstance(tools, str) else tools
    instructions, in_copy = str(body.get("instructions", "")), "in_copy" in body
    create = studio.sessions.create
    id: str = await _attempt(lambda: create(prompt, model, names, instructions, in_copy=in_copy))
    studio.sessions.start(id, prompt, await run_in_threadpool(lambda: studio.catalog.tools))
    return RedirectResponse(f"{studio.root}/sessions/{id}", 303)


async def change_session(request: Request) -> Response:
    """Send a message, stop or continue a run, answer a pending call, or fork."""
    studio, body = studio_of(request), await body_of(request)
    action, id = request.path_params["action"], request.path_params["id"]
    session: Session = await _attempt(lambda: studio.sessions.open(id))
    if action == "stop":
        studio.sessions.stop(id)
    elif action == "message":
        await _start(studio, id, str(body.get("prompt", "")).strip() or None)
    elif action == "fork":
        fork: Session = await _attempt(lambda: session.fork(uuid4().hex[:8], until=int(body["until"])))
        return RedirectResponse(f"{studio.root}/sessions/{fork.id}", 303)
    elif action in _ANSWERS:
        await _attempt(lambda: _ANSWERS[action](session, body))
        if not session.pending_approvals and not session.pending_questions:
            await _start(studio, id, None)
    else:
        raise HTTPException(404, f"There is no action {action}.")
    return await _session_page(request, "_timeline.html")


async def export(request: Request) -> Response:
    """Return a session as a file: JSON with all records, or Markdown for people."""
    from tools_studio._timeline import markdown_of  # loads tools-agent

    studio, kind, id = studio_of(request), request.path_params["kind"], request.path_params["id"]
    session: Session = await _attempt(lambda: studio.sessions.open(id))
    info = await run_in_threadpool(studio.sessions.info, id)
    metadata = dict(info.metadata) if info else {}
    if kind == "json":
        messages = [message.to_dict() for message in session]
        records = [
            {"seq": record.seq, "at": record.at, "kind": record.kind, "data": record.data} for record in session.history
        ]
        values = {"id": id, "metadata": metadata, "messages": messages, "records": records}
        text, media_type = json.dumps(values, ensure_ascii=False, indent=2, default=str), "application/json"
    else:
        text, media_type = markdown_of(session, metadata.get("title") or id), "text/markdown"
    name = "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in id)
    headers = {"content-disposition": f'attachment; filename="{name}.{"json" if kind == "json" else "md"}"'}
    return Response(text, media_type=media_type, headers=headers)


async def _start(studio: Studio, id: str, prompt: str | None) -> None:
    studio.sessions.start(id, prompt, await run_in_threadpool(lambda: studio.catalog.tools))


async def _session_page(request: Request, template: str) -> Response:
    from tools_runtime.approval import PendingCall
    from tools_studio._timeline import timeline_of

    sessions, id = studio_of(request).sessions, request.path_params["id"]
    number = studio_of(request).hub.number
    session: Session = await _attempt(lambda: sessions.open(id))
    timeline = await _attempt(lambda: timeline_of(session))
    diffs = {request["call_id"]: PendingCall(request).diff for request in session.pending_approvals}
    return await page(
        request, template, session=session, timeline=timeline, info=await run_in_threadpool(sessions.info, id),
        chat=sessions.chats.get(id), error=sessions.errors.get(id), number=number, diffs=diffs,
    )  # fmt: skip


async def _attempt(function: Callable[[], Any]) -> Any:
    """Call a function that reads or changes the store; its errors become pages."""
    from tools_studio._sessions import ERRORS  # loads tools-agent

    try:
        return await run_in_threadpool(function)
    except ERRORS as error:
        status = 404 if isinstance(error, KeyError) else 409
        text = str(error.args[0] if status == 404 else error)
        raise HTTPException(status, f"{text[:1].upper()}{text[1:]}") from error


def _approve(session: Session, body: Mapping[str, Any]) -> None:
    text = str(body.get("arguments") or "").strip()
    requests = {request["call_id"]: request for request in session.pending_approvals}
    arguments = json.loads(text) if text else None
    session.approve(
        body["call_id"],
        arguments=None if arguments == requests.get(body["call_id"], {}).get("arguments") else arguments,
    )


_ANSWERS: dict[str, Callable[[Session, Mapping[str, Any]], None]] = {
    "approve": _approve,
    "deny": lambda session, body: session.deny(body["call_id"], str(body.get("reason", ""))),
    "answer": lambda session, body: session.answer(body["call_id"], str(body["answer"])),
}
ROUTES = [
    Route("/chat", show_chat),
    Route("/chat", start_chat, methods=["POST"]),
    Route("/sessions", show_sessions),
    Route("/sessions-list", show_list),
    Route("/sessions/{id:path}/timeline", show_timeline),
    Route("/sessions/{id:path}/export.{kind}", export),
    Route("/sessions/{id:path}/{action}", change_session, methods=["POST"]),
    Route("/sessions/{id:path}", show_session),
]
