"""`/undo` and `/rewind`: go back to the files, and to the conversation, from before a turn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tools_core import Context
from tools_core.command import CommandError, counted
from tools_workspace import Changeset, Checkpoint, Workspace, WorkspaceError, undo_last, undone_lines

if TYPE_CHECKING:
    from tools_agent import Record, Session
    from tools_cli._chat.chat import Chat


async def undo(chat: Chat, count: str) -> None:
    """Undo the last turns of the folder; ask about turns of another session, and about files that changed since."""
    count = count or "1"
    if not count.isdecimal():
        raise CommandError(f"/undo {count}: how many turns? A number", "by its id: ask-tools undo ID")
    place = Workspace(chat.start.workspace)

    def work(ask: Callable[[str], str | None] | None) -> None:
        completed = Checkpoint(place).complete()
        latest = [changeset for changeset in place.changesets() if changeset.can_be_undone][: int(count)]
        mine = chat.session.id if chat.session is not None else None
        known = [completed.id] if completed is not None else []  # is asked about in any case
        if others := [each for each in latest if each.session != mine and each.id not in known]:
            lines = [f"  {changeset}" for changeset in others]
            _confirm(ask, ["not of this session:", *lines, "undo it, too? (y/n) "], is_new=mine is None)
        for changeset in undo_last(place, count, ask, completed=completed):
            chat.note("\n".join(undone_lines(changeset)))

    await _with_dialog(chat, work)
    await asyncio.to_thread(chat.compare)


async def rewind(chat: Chat, position: str) -> None:
    """Go back to before a prompt of the session: undo what its turns changed, and forget the messages."""
    session = chat.session
    turns = _turns(session) if session is not None else []
    if session is None or not turns:
        raise CommandError("there is no prompt to go back to")
    place = Workspace(chat.start.workspace)
    if not position:
        rows = [f"{number:>3}  {prompt}" for number, prompt in prompts(chat)]
        chat.note("\n".join([*rows, "/rewind N goes back to before a prompt"]))
        return
    if not position.isdecimal() or not 0 < int(position) <= len(turns):
        raise CommandError(f"/rewind {position}: there are the prompts 1 to {len(turns)}", "/rewind lists them")
    record = turns[int(position) - 1]

    def work(ask: Callable[[str], str | None] | None) -> None:
        Checkpoint(place).complete()
        for changeset in _changesets(place, session, record):
            (undone,) = undo_last(place, changeset.id, ask)
            chat.note("\n".join(undone_lines(undone)))
        session.rollback(record.seq - 1)

    await _with_dialog(chat, work)
    chat.use(session)
    chat.note(f"back to before the prompt: {record.data['prompt']}")
    chat.screen.propose(str(record.data["prompt"]))


def prompts(chat: Chat) -> list[tuple[str, str]]:
    """Return the numbers of the prompts, the last one first, and each with the number of its changes."""
    if chat.session is None:
        return []
    turns = _turns(chat.session)
    changesets = _changesets(Workspace(chat.start.workspace), chat.session, turns[-1]) if turns else []
    rows, until = [], float("inf")
    for number, record in enumerate(turns, 1):
        count = sum(len(changeset.changes) for changeset in changesets if record.at <= changeset.time < until)
        changes = f"  ({counted(count, 'change')})" if count else ""
        rows.append((str(number), f"{record.data['prompt']}{changes}"))
        until = record.at
    return rows


def _turns(session: Session) -> list[Record]:
    """Return the records at the beginning of turns that no rollback has undone, the last one first."""
    records: list[Record] = []
    for record in session.history:
        if record.kind == "rollback":
            records = [each for each in records if each.seq <= record.data["to"]]
        elif record.kind == "turn":
            records.append(record)
    return records[::-1]


def _changesets(place: Workspace, session: Session, since: Record) -> list[Changeset]:
    """Return what a session has changed since a record, the latest first."""
    return [
        changeset
        for changeset in place.changesets()
        if changeset.session == session.id and changeset.can_be_undone and changeset.time >= since.at
    ]


async def _with_dialog(chat: Chat, work: Callable[[Any], None]) -> None:
    """Run in a thread, with a function that asks the person."""
    context = Context()

    def run() -> None:
        with chat.screen.dialog(context) as dialog:
            work(dialog.ask if dialog is not None else None)

    try:
        await asyncio.to_thread(run)
    except WorkspaceError as error:
        raise CommandError(str(error)) from error
    finally:
        context.cancel()  # after Ctrl-C there are no other questions


def _confirm(ask: Callable[[str], str | None] | None, lines: Sequence[str], *, is_new: bool) -> None:
    """Let a person confirm the undo of what another session has changed; a chat without a prompt has no session yet."""
    if is_new:
        return
    if ask is None or not (ask("\n".join(lines)) or "").strip().lower().startswith("y"):
        raise CommandError("nothing was undone")
