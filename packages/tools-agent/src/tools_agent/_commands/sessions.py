"""`ask-tools sessions`: list, show, fork and delete sessions."""

from __future__ import annotations

import sys
import time
from dataclasses import asdict
from typing import TYPE_CHECKING

from tools_agent._commands._sessions import add_store, opened, short
from tools_core.command import CommandError, write, write_json, write_table

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable, Iterator

    from tools_agent import Session, Store

_EPILOG = """\
actions:
  list                list the sessions, the latest first
  show NAME           print the messages, and the calls that wait for approval; --history prints each record
  fork NAME [NEW]     copy a session, with --until N the first N records of its history
  delete NAME         delete a session
Exit codes: 0 done, 1 the store failed or the session is in use, 2 wrong usage or an unknown session.
Example: ask-tools sessions fork tidy another --until 12
"""


def configure(parser: ArgumentParser) -> None:
    """Add the arguments of `sessions`."""
    parser.description = "List, show, fork and delete the sessions of `ask-tools run`."
    parser.epilog = _EPILOG
    parser.add_argument("action", choices=list(_ACTIONS), metavar="ACTION", help="see below")
    parser.add_argument("name", metavar="NAME", nargs="?", help="the session")
    parser.add_argument("new", metavar="NEW", nargs="?", help="fork: the name of the copy; by default a new one")
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
        _ACTIONS[options.action](options, store)
    return 0


def _list(options: Namespace, store: Store) -> None:
    found = store.sessions()
    if options.json:
        write_json([asdict(each) for each in found])
    elif found:
        rows = [
            [short(each.id), _time(each.updated_at), *(short(each.metadata.get(key, "")) for key in ("model", "title"))]
            for each in found
        ]
        write_table([["SESSION", "CHANGED", "MODEL", "PROMPT"], *rows])
    else:
        sys.stderr.write("no sessions yet: ask-tools run PROMPT --model PROVIDER:NAME\n")


def _show(options: Namespace, store: Store) -> None:
    from tools_agent import Session  # not needed for --help

    session = Session.open(store, options.name)
    if options.history:
        if options.json:
            write_json([asdict(each) for each in session.history])
            return
        rows = [(str(each.seq), _time(each.at), each.kind, short(each.data)) for each in session.history]
        write_table([("RECORD", "TIME", "KIND", "DATA"), *rows])
    elif options.json:
        messages = [message.to_dict() for message in session]
        write_json({"id": session.id, "messages": messages, "pending": session.pending_approvals})
    else:
        write("\n".join(_lines(session)))


def _lines(session: Session) -> Iterator[str]:
    for message in session:
        name = f" {message.name}" if message.role == "tool" else ""
        yield f"{message.role}{name}: {message.content}".rstrip()
        for call in getattr(message, "tool_calls", ()):
            yield f"  calls {call.name} {short(call.raw_arguments or {})}"
    for pending in session.pending_approvals:
        yield f"waits for approval: {pending['tool']} {short(pending['arguments'])}"


def _fork(options: Namespace, store: Store) -> None:
    from tools_agent import Session  # not needed for --help

    new = Session.open(store, options.name).fork(options.new, until=options.until)
    if options.json:
        write_json({"id": new.id})
    else:
        write(new.id)


def _delete(options: Namespace, store: Store) -> None:
    store.delete(options.name)
    if options.json:
        write_json({"deleted": options.name})


def _time(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))


_ACTIONS: dict[str, Callable[[Namespace, Store], None]] = {
    "list": _list,
    "show": _show,
    "fork": _fork,
    "delete": _delete,
}
