"""Sessions: timelines, approvals, forks and exports."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from tools_studio._pages._responses import body_of, encoded, page, studio_of

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


async def change_session(request: Request) -> Response:
    """Stop or continue a run, answer a pending call, fork, or undo what a turn changed."""
    studio, body = studio_of(request), await body_of(request)
    async with studio.sessions.lock:  # so that each change sees the one before it
        fork = await _change(studio, body, **request.path_params)
    if fork is not None:
        return RedirectResponse(f"{studio.root}/sessions/{fork.id}", 303)
    return await _session_page(request, "_timeline.html")


async def _change(studio: Studio, body: Mapping[str, Any], id: str, action: str) -> Session | None:
    """Change a session; return a new fork."""
    session: Session = await _attempt(lambda: studio.sessions.open(id))
    if action == "stop":
        studio.sessions.stop(id)
    elif action == "continue":
        await _resume(studio, id)
    elif action == "fork":
        fork: Session = await _attempt(lambda: session.fork(uuid4().hex[:8], until=int(str(body["until"]))))
        return fork
    elif action == "undo":
        await _attempt(lambda: studio.workspace.undo(str(body["changeset"])))
        studio.hub.publish("changes")
    elif action in _ANSWERS:
        await _attempt(lambda: _ANSWERS[action](session, body))
        if not session.pending_approvals and not session.pending_questions:
            await _resume(studio, id)
    else:
        raise HTTPException(404, f"There is no action {action}.")
    return None


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
    return Response(encoded(text), media_type=media_type, headers=headers)


async def _resume(studio: Studio, id: str) -> None:
    studio.sessions.resume(id, await run_in_threadpool(lambda: studio.catalog.tools))


async def _session_page(request: Request, template: str) -> Response:
    from tools_runtime.approval import PendingCall
    from tools_studio._timeline import changesets_of, timeline_of

    studio, id = studio_of(request), request.path_params["id"]
    sessions = studio.sessions
    session: Session = await _attempt(lambda: sessions.open(id))
    timeline = await _attempt(lambda: timeline_of(session))
    changesets = await _attempt(lambda: changesets_of(timeline, id, studio.workspace.changesets()))
    diffs = {request["call_id"]: PendingCall(request).diff for request in session.pending_approvals}
    return await page(
        request, template, session=session, timeline=timeline, info=await run_in_threadpool(sessions.info, id),
        runs=id in sessions.runs, error=sessions.errors.get(id), diffs=diffs, changesets=changesets,
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
    if not isinstance(arguments, dict | None):
        raise ValueError("the arguments are not a JSON object")  # noqa: TRY004  (a page, as for other texts)
    id = str(body["call_id"])
    session.approve(id, arguments=None if arguments == requests.get(id, {}).get("arguments") else arguments)


_ANSWERS: dict[str, Callable[[Session, Mapping[str, Any]], None]] = {
    "approve": _approve,
    "deny": lambda session, body: session.deny(str(body["call_id"]), str(body.get("reason", ""))),
    "answer": lambda session, body: session.answer(str(body["call_id"]), str(body["answer"])),
}
ROUTES = [
    Route("/sessions", show_sessions),
    Route("/sessions-list", show_list),
    Route("/sessions/{id:path}/timeline", show_timeline),
    Route("/sessions/{id:path}/export.{kind}", export),
    Route("/sessions/{id:path}/{action}", change_session, methods=["POST"]),
    Route("/sessions/{id:path}", show_session),
]
