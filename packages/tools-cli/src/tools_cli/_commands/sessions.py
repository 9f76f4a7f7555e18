"""`ask-tools sessions`: list, show, fork and delete sessions, and answer questions of tools."""

from __future__ import annotations

import json
import shlex
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tools_core.command import CommandError, did_you_mean, json_text, one_line, write, write_json, write_table
from tools_runtime.approval import PendingCall, draw

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence

    from tools_agent import Session, Store

_EPILOG = """\
actions:
  list                list the sessions, the latest first
  show NAME           print the messages, and the pending calls; --history prints each record
  approve NAME        approve a pending call, by default the first; --call ID for another one
  deny NAME REASON    deny a pending call; the model reads the reason
  answer NAME ANSWER  answer the question of a pending call
  fork NAME [NEW]     copy a session, with --until N the first N records of its history
  delete NAME         delete a session
Exit codes: 0 done, 1 the store failed or the session is in use, 2 wrong usage or an unknown session.
Example: ask-tools sessions fork tidy another --until 12
"""
_MAX_SHORT = 200  # characters of a value on one line


def configure(parser: ArgumentParser) -> None:
    """Add the arguments of `sessions`."""
    parser.description = "List, show, fork and delete sessions of `ask-tools run`, and answer what waits for a person."
    parser.epilog = _EPILOG
    parser.add_argument("action", choices=list(_ACTIONS), metavar="ACTION", help="see below")
    parser.add_argument("name", metavar="NAME", nargs="?", help="the session")
    text = "fork: the name of the copy, by default a new one; answer: the answer; deny: the reason"
    parser.add_argument("value", metavar="NEW|ANSWER|REASON", nargs="?", help=text)
    parser.add_argument("--call", metavar="ID", help="approve, deny, answer: the call; by default the first one")
    parser.add_argument("--arguments", metavar="JSON", help="approve: the call runs with these arguments instead")
    parser.add_argument("--history", action="store_true", help="show: print the records, with their numbers")
    parser.add_argument("--until", metavar="N", type=int, help="fork: the number of the last record to copy")
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_store(parser)
    parser.set_defaults(run=run, intermixed=True)


def run(options: Namespace) -> int:
    """Run the action."""
    if (options.name is None) != (options.action == "list"):
        raise CommandError(f"{options.action} {'takes no' if options.name else 'needs a'} NAME", "--help has all")
    with opened(options) as store:
        try:
            _ACTIONS[options.action](options, store)
        except KeyError as error:
            raise unknown_session(options.name, store) from error
    return 0


def _list(options: Namespace, store: Store) -> None:
    sessions = store.sessions()
    if options.json:
        write_json([asdict(session) for session in sessions])
    elif sessions:
        rows = [
            [short(session.id), _time(session.updated_at), *(short(session.metadata.get(key, "")) for key in _COLUMNS)]
            for session in sessions
        ]
        write_table([["SESSION", "CHANGED", "MODEL", "PROMPT"], *rows])
    else:
        sys.stderr.write("no sessions yet: ask-tools run PROMPT --model PROVIDER:NAME\n")


def _show(options: Namespace, store: Store) -> None:
    from tools_agent import Session  # not needed for --help

    session = Session.open(store, options.name)
    if options.history and options.json:
        write_json([asdict(record) for record in session.history])
    elif options.history:
        rows = [(str(record.seq), _time(record.at), record.kind, short(record.data)) for record in session.history]
        write_table([("RECORD", "TIME", "KIND", "DATA"), *rows])
    elif options.json:
        messages = [message.to_dict() for message in session]
        pending = session.pending_approvals + session.pending_questions
        write_json({"id": session.id, "messages": messages, "pending": pending})
    else:
        write("\n".join(_lines(session, options.store)))


def _lines(session: Session, place: str | None) -> Iterator[str]:
    for message in session:
        name = f" {message.name}" if message.role == "tool" else ""
        yield f"{message.role}{name}: {message.content}".rstrip()
        if names := ", ".join(str(file.name) for file in getattr(message, "files", ())):
            yield one_line(f"  attached {names}")
        for call in getattr(message, "tool_calls", ()):
            arguments = call.raw_arguments or {}
            text = arguments if isinstance(arguments, str) else json_text(arguments, pretty=False)
            yield one_line(f"  calls {call.name} {text}")
    for request in session.pending_approvals + session.pending_questions:
        yield from request_lines(request, session.id, place)


def _answer(options: Namespace, store: Store) -> None:
    from tools_agent import Session  # not needed for --help

    session = Session.open(store, options.name)
    call_id = _pending(session.pending_questions, options, "an answer")
    if options.value is None:
        raise CommandError("answer needs an ANSWER", f"ask-tools sessions show {options.name}")
    session.answer(call_id, options.value)


def _approve(options: Namespace, store: Store) -> None:
    from tools_agent import Session  # not needed for --help

    session = Session.open(store, options.name)
    call_id = _pending(session.pending_approvals, options, "approval")
    if options.action == "deny":
        session.deny(call_id, options.value or "")
        return
    arguments = None
    if options.arguments is not None:
        with suppress(ValueError):
            arguments = json.loads(options.arguments)
        if not isinstance(arguments, dict):
            raise CommandError(f"--arguments is {options.arguments!r}; write all arguments as a JSON object")
    session.approve(call_id, arguments=arguments)


def _pending(requests: Sequence[Mapping[str, Any]], options: Namespace, purpose: str) -> str:
    """Return the id of the call that the options name, or of the first one."""
    calls: list[str] = [request["call_id"] for request in requests]
    if not calls or options.call not in (None, *calls):
        waiting = f"waiting calls: {', '.join(calls)}" if calls else ""
        raise CommandError(f"no such call waits for {purpose}", waiting, f"ask-tools sessions show {options.name}")
    return options.call or calls[0]


def _fork(options: Namespace, store: Store) -> None:
    from tools_agent import Session  # not needed for --help

    new = Session.open(store, options.name).fork(options.value, until=options.until)
    if options.json:
        write_json({"id": new.id})
    else:
        write(new.id)


def _delete(options: Namespace, store: Store) -> None:
    store.delete(options.name)
    if options.json:
        write_json({"deleted": options.name})


_COLUMNS = ("model", "title")  # metadata from `ask-tools run`
_ACTIONS: dict[str, Callable[[Namespace, Store], None]] = {
    "list": _list,
    "show": _show,
    "approve": _approve,
    "deny": _approve,
    "answer": _answer,
    "fork": _fork,
    "delete": _delete,
}

# ---------------------------------------------------------------------------------------------------- shared with `run`


def add_store(parser: ArgumentParser) -> None:
    """Add the option that names the store."""
    text = "the file or the postgresql:// URL with the sessions; by default $ASK_TOOLS_SESSIONS, or the user's own file"
    parser.add_argument("--store", metavar="PLACE", help=text)


@contextmanager
def opened(options: Namespace) -> Generator[Store]:
    """Open the store; a failure of the store or of the model's API ends the command."""
    from tools_agent import ProviderError, SessionConflictError, StoreError, open_store  # not needed for --help

    try:
        with open_store(options.store) as store:
            yield store
    except (StoreError, SessionConflictError, ProviderError) as error:
        raise CommandError(str(error), status=1) from error
    except (ImportError, ValueError) as error:
        raise CommandError(str(error)) from error


def unknown_session(name: str, store: Store) -> CommandError:
    """Return the error for a session that the store does not have."""
    suggestion = did_you_mean(name, [session.id for session in store.sessions()])
    return CommandError(f"there is no session {name!r}", suggestion, "list of sessions: ask-tools sessions list")


def request_lines(request: Mapping[str, Any], session: str, store: str | None) -> list[str]:
    """Return a request for approval or a question, uncut, and the commands that answer it."""
    place = ["--store", store] if store else []
    if "question" in request:
        choices = f" ({', '.join(request['choices'])})" if request["choices"] else ""
        command = shlex.join(["ask-tools", "sessions", "answer", session, *place, "--call", request["call_id"]])
        return [
            one_line(f"waits for an answer: {request['tool']} asks: {request['question']}{choices}"),
            one_line(f"  answer: {command} ANSWER"),
        ]
    words = ["ask-tools", "sessions", "approve", session, *place, "--call", request["call_id"]]
    return [
        draw(PendingCall(request).lines()),
        one_line(f"  approve: {shlex.join(words)}"),
        one_line(f"  deny: {shlex.join([*words[:2], 'deny', *words[3:]])} REASON"),
    ]


def short(value: Any) -> str:
    """Return text, or JSON of another value, on one line, truncated if it is long."""
    text = value if isinstance(value, str) else json_text(value, pretty=False)
    return one_line(text if len(text) <= _MAX_SHORT else f"{text[:_MAX_SHORT]}…")


def _time(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))
