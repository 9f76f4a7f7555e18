"""`timeline_of`: the messages of a session with durations and costs, also as Markdown."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from tools_agent import Assistant, ProviderError, Usage, cost_of
from tools_studio._snippets import arguments_of, pretty

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tools_agent import Record, Session, ToolResult
    from tools_core import ToolCall
    from tools_workspace import Changeset

_FENCE = "`" * 4


class CallEntry(NamedTuple):
    """A tool call of a reply; without `result` it has not ended."""

    call: ToolCall
    result: ToolResult | None
    duration: float | None
    is_running: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A message of a session, with the number of its record, its time and its cost."""

    seq: int
    at: float
    message: Any
    duration: float | None = None
    calls: Sequence[CallEntry] = ()
    cost: float | None = None

    @property
    def words(self) -> str:
        """The text that the search looks in."""
        texts = [self.message.role, self.message.content]
        for call, result, _, _ in self.calls:
            texts += [call.name, pretty(arguments_of(call)), result.content if result else "pending"]
            texts += ["error"] if result and result.error else []
        return " ".join(texts).lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """The messages of a session in order, each with its calls, and the totals."""

    entries: Sequence[Entry]
    usage: Usage
    cost: float | None
    outcome: str  # of the last run; empty without one, or while it is active
    last_seq: int


def timeline_of(session: Session) -> Timeline:
    """Return the timeline of a session; the store is read once."""
    records = session.history
    places = {id: record for record in records if (id := _message_id(record))}
    starts: dict[str, list[float]] = {}
    for record in records:
        if record.kind == "tool_started":
            starts.setdefault(record.data["call_id"], []).append(record.at)
    before = {record.seq: earlier.at for earlier, record in pairwise(records)}
    messages = session.messages
    results = {message.tool_call_id: message for message in messages if message.role == "tool"}
    entries: list[Entry] = []
    for message in messages:
        place = places.get(message.id)
        if message.role == "tool" or place is None:
            continue
        calls: list[CallEntry] = []
        for call in getattr(message, "tool_calls", ()):
            result, started = results.get(call.id), starts.get(call.id, [])
            end = places.get(result.id) if result else None
            duration = end.at - started[-1] if end and started else None
            calls.append(CallEntry(call, result, duration, bool(started) and result is None))
        is_reply = isinstance(message, Assistant)
        entries.append(
            Entry(
                seq=place.seq,
                at=place.at,
                message=message,
                duration=place.at - before[place.seq] if is_reply and place.seq in before else None,
                calls=calls,
                cost=_cost(message) if is_reply else None,
            )
        )
    replies = [message for message in messages if isinstance(message, Assistant)]
    costs = [entry.cost for entry in entries if entry.cost is not None]
    ends = [record for record in records if record.kind in ("run_started", "run_finished")]
    return Timeline(
        entries=entries,
        usage=sum((reply.usage for reply in replies if reply.usage), Usage()),
        cost=sum(costs) if costs else None,
        outcome=ends[-1].data.get("outcome", "") if ends else "",
        last_seq=records[-1].seq if records else 0,
    )


def changesets_of(timeline: Timeline, session: str, changesets: Sequence[Changeset]) -> dict[int, list[Changeset]]:
    """Return what the turns of a session have changed and can be undone, by the number of the prompt's record."""
    prompts = [entry for entry in timeline.entries if entry.message.role == "user"]
    by_prompt: dict[int, list[Changeset]] = {}
    for changeset in changesets:
        before = [entry for entry in prompts if entry.at <= changeset.time]
        if changeset.session == session and changeset.can_be_undone and before:
            by_prompt.setdefault(before[-1].seq, []).append(changeset)
    return by_prompt


def markdown_of(session: Session, title: str) -> str:
    """Return a session as a Markdown document."""
    return "\n\n".join(_blocks(timeline_of(session), title)) + "\n"


def _blocks(timeline: Timeline, title: str) -> Iterator[str]:
    yield f"# {title}"
    for entry in timeline.entries:
        yield f"## {entry.message.role.capitalize()}"
        if entry.message.content:
            yield entry.message.content
        for call, result, _, _ in entry.calls:
            yield f"### {call.name}\n\n{_FENCE}json\n{pretty(arguments_of(call))}\n{_FENCE}"
            yield f"{_FENCE}text\n{result.content if result else 'pending'}\n{_FENCE}"


def _message_id(record: Record) -> str:
    message = record.data.get("message")
    return str(message["id"]) if record.kind in ("message", "tool_finished") and message else ""


def _cost(reply: Assistant) -> float | None:
    try:
        return cost_of(reply) or None
    except ProviderError:
        return None
