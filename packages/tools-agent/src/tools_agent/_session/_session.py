"""`Session`: a conversation, as a log of what happened in it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Self, overload
from uuid import uuid4

from tools_agent._messages import Assistant, Message, ToolResult, edited_result
from tools_agent._session._entry import Stored
from tools_agent._session._log import SessionLog, changes_of
from tools_agent._stores._store import Record, Store
from tools_core import Result, ToolCall
from tools_runtime import user_name


class Session:
    """The messages of a conversation and its pending tool calls.

    Each change is in the `store`, if there is one, before it is visible here. Each tool call has at most one result,
    directly after the message with the call. A session is a sequence of its messages: `session[-1]`. Change messages
    between runs, not during a run.

    Attributes:
        id: The name in the store.
        log: What a run reads and records.
        children: The sessions of its calls of sub-agents that have not ended, if there is no store.
    """

    def __init__(
        self,
        messages: Iterable[Stored] = (),
        *,
        id: str | None = None,
        store: Store | None = None,
        metadata: Mapping[str, Any] | None = None,
        heal: bool = False,
        parent: Session | None = None,
        call: str = "",
    ) -> None:
        """Create a session, optionally with messages of an earlier one, as objects or as dicts.

        With a `parent` it belongs to a `call` of that session: it is copied and deleted with it.

        `store.sessions()` lists `metadata`. `heal` drops results without a call, and replies with calls that no run
        will answer. Raises ValueError for inconsistent messages, and SessionConflictError if the store has a session
        with this id.
        """
        changes = changes_of(messages, heal=heal)
        self.id = id or uuid4().hex
        self.store = store
        self.log = SessionLog(self.id, store)
        self.children: dict[str, Session] = {}
        self.log.create(changes, metadata, "" if parent is None else parent.id, call)
        if parent is not None and store is None:
            parent.children[call] = self
        if heal:
            self.prune()

    @classmethod
    def open(cls, store: Store, id: str) -> Self:
        """Open a session of a store. Raises KeyError for an unknown id."""
        session = cls.__new__(cls)
        session.id, session.store, session.children = id, store, {}
        session.log = SessionLog(id, store)
        session.log.load()
        return session

    @classmethod
    async def aopen(cls, store: Store, id: str) -> Self:
        """`open` for coroutines: the event loop runs while the store is read."""
        import asyncio  # 30 ms; loaded by now

        return await asyncio.to_thread(cls.open, store, id)

    def child(self, call: str) -> Session | None:
        """Return the session that belongs to a call of this one, or None."""
        if self.store is None:
            return self.children.get(call)
        id = self.store.child(self.id, call)
        return None if id is None else Session.open(self.store, id)

    # ------------------------------------------------------------------------------------------------ reading

    @property
    def key(self) -> str:
        """The identity: unique among all stores, and the same when the session is opened again.

        A session that is deleted and created again under its name has another key.
        """
        return self.log.key

    @property
    def messages(self) -> list[Any]:
        """A new list of the messages, in order."""
        return list(self.log.messages)

    def __iter__(self) -> Iterator[Any]:
        yield from self.messages

    def __len__(self) -> int:
        return len(self.log.messages)

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        messages = self.log.messages
        return list(messages[index]) if isinstance(index, slice) else messages[index]

    def __bool__(self) -> bool:
        return True

    @property
    def orphaned_tool_call_ids(self) -> list[str]:
        """The ids of all tool calls without a result."""
        return self.log.unanswered

    @property
    def pending_tool_calls(self) -> list[ToolCall]:
        """The calls of the last reply without a result; the next run runs them."""
        return self.log.pending_calls

    @property
    def pending_approvals(self) -> list[dict[str, Any]]:
        """The unanswered requests for approval, as JSON values."""
        return [request for request in self.log.requests if not ("question" in request or request.get("external"))]

    @property
    def pending_questions(self) -> list[dict[str, Any]]:
        """The unanswered questions of tools, as JSON values."""
        return [request for request in self.log.requests if "question" in request]

    @property
    def pending_results(self) -> list[dict[str, Any]]:
        """The calls of external tools without a result, as JSON values."""
        return [request for request in self.log.requests if request.get("external")]

    @property
    def history(self) -> list[Record]:
        """All records of the session, also the records before a rollback."""
        return self.log.records

    def on_message(self, callback: Callable[[Any], object]) -> Self:
        """Call a function with each reply and each tool result of a run; return the session.

        The session already contains the message. The callback may interrupt the run: `agent.interrupt(reason)`. In
        `agenerate` and `astream` it may be a coroutine function.
        """
        if not callable(callback):
            raise TypeError(f"a callback is a function of a message, got {callback!r}")
        self.log.callbacks.append(callback)
        return self

    # ------------------------------------------------------------------------------------------------ changing messages

    def update(self, *, id: str | None = None, tool_call_id: str | None = None, **attributes: Any) -> Any:
        """Replace attributes of a message and return it. Select a tool result by `tool_call_id`.

        If a reply loses calls, their results are removed as well. A result takes `content`, `error`, `error_type` and
        `metadata`, or a whole `result`; `error=None` turns a failure into a success. Raises ValueError for an unknown
        message or attribute, and for a value that does not fit.
        """
        if (id is None) == (tool_call_id is None):
            raise ValueError("update takes either id= or tool_call_id=")
        old = self._find(id) if id is not None else self._result_of(tool_call_id or "")
        refused = {"id", "role", "tool_call_id", "name"} & attributes.keys()
        if refused:
            raise ValueError(f"{min(refused)} of a message cannot be changed")
        if isinstance(old, ToolResult):
            new: Message = old.replace(result=edited_result(old.result, attributes))
        else:
            if isinstance(old, Assistant) and {"content", "tool_calls"} & attributes.keys():
                attributes = {"items": (), "output": None, **attributes}  # they belong to the old message
            new = old.replace(**attributes)
        if isinstance(new, Assistant):
            self._check_calls(new)
        self.log.write([("update", {"message": new})])
        return new

    def remove(self, id: str) -> Any:
        """Remove a message with the results of its calls. Return the message, or None for an unknown id.

        Raises ValueError for a result, since its call would run again. Use `update(tool_call_id=...)`.
        """
        entry = self.log.find(id)
        if entry is None:
            return None
        message = entry.message
        if isinstance(message, ToolResult):
            raise ValueError(  # noqa: TRY004  (the kind of message is a value here)
                "a result cannot be removed, since its call would run again: change it with "
                f"update(tool_call_id={message.tool_call_id!r}, ...), or remove the message with the call"
            )
        self.log.write([("remove", {"ids": [id]})])
        return message

    def discard_pending_tool_calls(self) -> list[str]:
        """Give each call without a result a placeholder, so that it never runs; return the ids of these calls."""
        return self.log.close_calls(self.orphaned_tool_call_ids)

    def prune(self) -> list[str]:
        """Remove earlier replies with unanswered calls, which no run will run; return the ids of the messages."""
        last = self.log.last_entry
        ids = [entry.id for entry in self.log.entries if entry is not last and entry.unanswered]
        if ids:
            self.log.write([("remove", {"ids": ids})])
        return ids

    # ------------------------------------------------------------------------------------------------ approving

    def approve(self, call_id: str, *, arguments: Mapping[str, Any] | None = None, by: str | None = None) -> None:
        """Approve a pending call, which the next run runs. `by` defaults to the name of the user.

        The approval is for exactly this call: the same tool with the same arguments, and the same effects. With
        `arguments` the call runs with these instead; they are validated when it runs. Raises KeyError if no such call
        waits.
        """
        _request_of(call_id, self.pending_approvals, "approval")
        answer: dict[str, Any] = {"call_id": call_id, "approved": True, "by": by or user_name()}
        if arguments is not None:
            answer["arguments"] = json.loads(json.dumps(dict(arguments)))
        self.log.write([("approval_given", answer)])

    def deny(self, call_id: str, reason: str = "", *, by: str | None = None) -> None:
        """Deny a pending call; the model reads the reason. Raises KeyError as `approve` does."""
        pending = _request_of(call_id, self.pending_approvals, "approval")
        answer = {"call_id": call_id, "approved": False, "reason": reason, "by": by or user_name()}
        if "agent" in pending:  # the sub-agent receives the answer
            self.log.write([("approval_given", answer)])
            return
        because = f": {reason}" if reason else " by the user"
        again = " again" if pending.get("was_started") else ""
        message = (
            f"{pending['tool']} was not called{again}: denied{because}. "
            "Do not work around this. Tell the user, or continue without it."
        )
        denied = Result.error(message, type="denied")
        self.log.write([("approval_given", answer), self.log.result_of(call_id, denied)])

    def answer(self, call_id: str, answer: str, *, by: str | None = None) -> None:
        """Answer the question of a pending call, which the next run runs again.

        Raises KeyError if no such call waits for an answer, and ValueError for an answer that is not a choice.
        """
        question = _request_of(call_id, self.pending_questions, "an answer")
        if question["choices"] and answer not in question["choices"]:
            raise ValueError(f"the answer {answer!r} is not one of {', '.join(question['choices'])}")
        self.log.answer(question, answer, by or user_name())

    def add_result(self, call_id: str, result: Any) -> None:
        """Give a pending call of an external tool its result, a Result or any JSON value; `generate()` continues.

        Raises KeyError if no such call waits for a result, and TypeError for a value that is not JSON.
        """
        pending = _request_of(call_id, self.pending_results, "its result")
        result = result if isinstance(result, Result) else Result.ok(json.loads(json.dumps(result)))
        if "agent" in pending:  # the sub-agent receives it
            self.log.write([("result_given", {"call_id": call_id, "result": result.to_dict()})])
        else:
            self.log.write([self.log.result_of(call_id, result)])

    # ------------------------------------------------------------------------------------------------ the log

    def fork(self, id: str | None = None, *, until: int | None = None) -> Session:
        """Copy the session, with those of its sub-agents, up to a sequence number of its history.

        Calls that have run do not run again in the copy. Callbacks are not copied.
        """
        new = id or uuid4().hex
        if self.store is not None:
            self.store.fork(self.id, new, until=until)
            return Session.open(self.store, new)
        session = Session(id=new)
        session.log.replay([record for record in self.log.records if until is None or record.seq <= until])
        session.children = {call: child.fork() for call, child in self.children.items()}
        return session

    def rollback(self, to: int) -> None:
        """Undo all changes after a sequence number of the history; the history keeps the records.

        A call without its result is pending again.
        """
        self.log.rollback(to)

    def refresh(self) -> None:
        """Read records that other processes have appended, such as approvals; each run begins with this."""
        self.log.refresh()

    # ------------------------------------------------------------------------------------------------ inside

    def _find(self, id: str) -> Any:
        entry = self.log.find(id)
        if entry is None:
            raise ValueError(f"the session has no message {id!r}")
        return entry.message

    def _result_of(self, call_id: str) -> ToolResult:
        asker = self.log.askers.get(call_id)
        if asker is None or call_id not in asker.results:
            raise ValueError(f"the session has no result of a call {call_id!r}")
        result: ToolResult = asker.results[call_id].message
        return result

    def _check_calls(self, reply: Assistant) -> None:
        ids = [call.id for call in reply.tool_calls]
        for id in ids:
            asker = self.log.askers.get(id)
            if not id or ids.count(id) > 1 or (asker is not None and asker.id != reply.id):
                raise ValueError(f"each tool call of a session needs a distinct id, got {id!r}")


def _request_of(call_id: str, requests: Iterable[Mapping[str, Any]], purpose: str) -> Mapping[str, Any]:
    waiting = {request["call_id"]: request for request in requests}
    if call_id not in waiting:
        raise KeyError(f"no call {call_id!r} waits for {purpose}; waiting: {', '.join(waiting) or 'none'}")
    return waiting[call_id]
