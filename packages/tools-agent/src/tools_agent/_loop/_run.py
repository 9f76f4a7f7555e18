"""`Run`: one run of an agent, from the prompt to the response, as a generator of events; see `_drive`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import CancelledError
from contextvars import ContextVar
from functools import partial
from inspect import isawaitable
from threading import Lock
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from tools_agent._events import Interrupt, Retrying, TextDelta, TextDone, ToolCallDone, UsageUpdate
from tools_agent._guardrails import Block, Modification, Phase, Tripwire, changes_between
from tools_agent._loop._calls import Calls
from tools_agent._loop._drive import Do, Steps
from tools_agent._loop._sources import END, WAKE, AsyncSource, Source
from tools_agent._messages import Assistant, Message, System, Usage, User
from tools_agent._output_type import Output
from tools_agent._providers._provider import ProviderError, Request, cost_of
from tools_agent._response import Interrupted, Response
from tools_core.threads import run_coroutine

if TYPE_CHECKING:
    from tools_agent._agent import Agent
    from tools_agent._guardrails import Guardrail
    from tools_agent._session._session import Session
    from tools_core import Context, Tool
    from tools_runtime import Executor

calling_back: ContextVar[object] = ContextVar("calling_back", default=None)  # the run whose callback is running
_log = logging.getLogger("tools_agent")
_AHEAD = 64  # pieces of a reply that are read before the caller requests them
_REPEAT = "Your reply does not match the required output: {}. Reply again with output that matches."


class Run:
    """One run of an agent on a session. `caller` is the run that calls the agent as a tool."""

    def __init__(  # noqa: PLR0913  (the agent creates it)
        self,
        agent: Agent[Any],
        session: Session,
        context: Mapping[str, Any],
        prompt: User | None,
        *,
        tools: Mapping[str, Tool],
        executor: Executor,
        workspace: Any,
        caller: Run | None = None,
        is_async: bool = False,
    ) -> None:
        self.agent = agent
        self.session = session
        self.context = context
        self.tools = tools
        self.executor = executor
        self.workspace = workspace
        self.caller = caller
        self.is_async = is_async
        self._event_loop: asyncio.AbstractEventLoop | None = None  # of an asynchronous run
        self.depth: int = 0 if caller is None else caller.depth + 1
        self.blocks = session.store is not None
        self.id = uuid4().hex
        self.usage = Usage()
        self.cost = 0.0  # in US dollars, if the agent has a max_cost
        self.response: Response[Any] | None = None
        self.calls = Calls(self)
        self._lock = Lock()
        self._prompt = prompt
        self._steering = agent.steering(session)
        self._source: Source | AsyncSource | None = None  # of the reply that the model is sending
        self._steps = 0
        self._output_retries = 0
        self._output: Any = None
        self._problem: str | None = None  # why the last reply is not valid output
        self._partial = ""  # the text of an incomplete reply
        self._interrupt: tuple[Any] | None = None
        self._ended: dict[str, Any] = {}  # the outcome and other attributes of the response
        self._modifications: list[Modification] = []
        self._healed: list[str] = []

    def inherited(self, option: str) -> Any:
        """Return an option of the agent, else of its caller: `approve`, `policy` or `on_ask`."""
        value = getattr(self.agent, option)
        return self.caller.inherited(option) if value is None and self.caller is not None else value

    def wait_for(self, value: Any, context: Context) -> Any:
        """Return a value, or the result of an awaitable in the event loop of the run; called in another thread."""
        if not isawaitable(value):
            return value
        if self._event_loop is None:
            return run_coroutine(_completed(value))
        future = asyncio.run_coroutine_threadsafe(_completed(value), self._event_loop)
        unregister = context.on_cancel(future.cancel)
        try:
            return future.result()
        except CancelledError:
            return None
        finally:
            unregister()

    def interrupt(self, reason: Any) -> None:
        """Stop the run as soon as possible; from any thread."""
        self._interrupt = (reason,)
        self.calls.cancel()
        if (source := self._source) is not None:
            source.put(WAKE)

    def check(self) -> None:
        """Raise Interrupted if the run was interrupted."""
        if self._interrupt is not None:
            raise Interrupted(self._interrupt[0])

    def add_usage(self, usage: Usage, cost: float) -> None:
        """Count tokens and dollars of this run, or of a sub-agent's."""
        with self._lock:
            self.usage += usage
            self.cost += cost
        self.agent.count(usage)

    # ------------------------------------------------------------------------------------------------ effects

    def write(self, function: Callable[..., Any], *arguments: Any) -> Do:
        """Call a function that writes to the session's log."""
        return Do(function, arguments, blocks=self.blocks)

    def source(
        self, iterate: Callable[[], Any], aiterate: Callable[[], Any], *, ahead: int = 0
    ) -> Source | AsyncSource:
        """Return a source of items for the driver of this run."""
        return AsyncSource(aiterate, ahead) if self.is_async else Source(iterate, ahead)

    def _call_back(self, function: Callable[..., Any], *arguments: Any) -> Do:
        """Call a function or coroutine function of the user, which may interrupt the run."""
        return Do(_with_run, (self, function, *arguments))

    def notify(self, message: Message) -> Steps:
        """Call the session's callbacks with a new reply or result."""
        for callback in self.session.log.callbacks:
            yield self._call_back(callback, message)

    # ------------------------------------------------------------------------------------------------ the loop

    def steps(self) -> Steps:
        """Run until there is a response."""
        runs = self.agent.runs
        if self.is_async:
            self._event_loop = asyncio.get_running_loop()
        yield self.write(self.session.log.begin, self.id)
        runs[self.session] = self
        try:
            try:
                yield from self._begin()
                yield from self._loop()
            except Interrupted as stop:
                self._ended = {"outcome": "interrupted", "interrupt_reason": stop.reason}
            yield from self._finish()
        except BaseException as error:
            yield from self._fail(error)
            raise
        finally:
            del runs[self.session]
            self.agent.release(self)
            yield self.write(self.session.log.end)
        if self.response is not None and self.response.interrupted:
            response = self.response
            yield Interrupt(response.interrupt_reason, response.healed_tool_call_ids, response.pending)

    def _begin(self) -> Steps:
        session = self.session
        yield self.write(session.log.start_run, self._prompt)
        self._check_messages()
        last = [call.id for call in session.pending_tool_calls]
        stale = [id for id in session.orphaned_tool_call_ids if id not in last]
        if stale:  # no run runs the calls of older replies, and the model must not see them without results
            self._healed += yield self.write(session.log.close_calls, stale)
        yield from self._check_input()
        self._check_messages()

    def _check_messages(self) -> None:
        if not self._ended and all(isinstance(message, System) for message in self.session):
            raise ValueError(
                "there is nothing to reply to: pass a prompt to generate(), or use a session with messages"
            )

    def _loop(self) -> Steps:
        session, steering = self.session, self._steering
        last = next(reversed(session), None)
        if isinstance(last, Assistant) and not last.tool_calls and not steering:  # this run was complete already
            self._read_output(last)
            self._complete(last)
        elif not session.pending_tool_calls and not steering:
            self._end_if_halted()
        while not self._ended:
            self.check()
            if calls := session.pending_tool_calls:
                yield from self.calls.execute(calls)
                if self._end_if_halted():
                    return
                self.check()
                if session.pending_tool_calls:
                    raise Interrupted("approval_required" if session.pending_approvals else "answer_required")
            while steering:
                yield self.write(session.log.add, steering[0])
                steering.pop(0)
            reply = yield from self._ask()
            if reply is not None:
                yield from self._continue(reply)

    def _continue(self, reply: Assistant) -> Steps:
        """Complete the run with a reply, unless it has tool calls or invalid output, or the user has steered it."""
        is_repeated = self._problem is not None and self._output_retries < self.agent.output_retries
        if reply.tool_calls or is_repeated:
            self._check_limits()
        if is_repeated:
            self._output_retries += 1
            yield self.write(self.session.log.add, User(content=_REPEAT.format(self._problem)))
        elif not reply.tool_calls and not self._steering:
            self._complete(reply)

    def _end_if_halted(self) -> bool:
        """End the run if a call has halted it: now, or in a run that ended before it was recorded as halted."""
        halted = self.calls.halted
        if halted is None:
            halted = next((result for result in self.session.log.last_results if result.halted), None)
        if halted is not None:
            self._ended = {"outcome": "halted", "content": str(halted)}
        return halted is not None

    def _check_limits(self) -> None:
        """Raise Interrupted if a limit does not allow another request to the model."""
        agent = self.agent
        tokens = self.usage.input_tokens + self.usage.output_tokens
        for name, value in (("max_steps", self._steps), ("max_tokens", tokens), ("max_cost", self.cost)):
            limit = getattr(agent, name)
            if limit is not None and value >= limit:
                raise Interrupted(name)
        if agent.max_session_steps is not None and self.session.log.reply_count >= agent.max_session_steps:
            raise Interrupted("max_session_steps")

    # ------------------------------------------------------------------------------------------------ the model

    def _ask(self) -> Steps:
        """Request the next reply and add it to the session. Return None if a guardrail blocks it."""
        agent, session = self.agent, self.session
        if agent.window is None:
            messages = session.messages
        else:
            messages = yield from agent.window.fit(session, partial(self._request, is_shown=False))
        reader = None if session in agent.with_cut_output else agent.budget.tool  # useless before something was cut
        definitions = [{**tool.definition, "name": name} for name, tool in self.tools.items() if tool is not reader]
        reply = yield from self._request(messages, definitions, agent.output_type)
        self._steps += 1
        reply = yield from self._check_output(session.log.with_unique_ids(reply))
        if reply is None:
            return None
        reply = self._read_output(reply)
        yield self.write(session.log.add, reply)
        self._partial = ""
        if reply.content:
            yield TextDone(reply.content)
        for call in reply.tool_calls:
            yield ToolCallDone(call)
        yield UsageUpdate(reply.usage or Usage(), self.usage)
        yield from self.notify(reply)
        return reply

    def _read_output(self, reply: Assistant) -> Assistant:
        """Return a reply with its structured output."""
        output = self.agent.output_type
        self._problem = None
        if output is None or reply.tool_calls:
            return reply
        self._output, self._problem = output.read(reply.content)
        return reply if self._problem is not None else reply.replace(structured_output=output.dump(self._output))

    def _request(
        self,
        messages: Sequence[Message],
        tools: Sequence[Any] = (),
        output: Output | None = None,
        *,
        is_shown: bool = True,
    ) -> Steps:
        """Send a request to the model, yield the deltas of its reply if the user may see them, and return the reply."""
        agent = self.agent
        provider, model = agent.provider
        request = Request(
            model=model, messages=messages, tools=tools, settings=agent.settings, timeout=agent.timeout,
            output_schema=None if output is None else output.schema,
        )  # fmt: skip
        source = self.source(lambda: provider.stream(request), lambda: provider.astream(request), ahead=_AHEAD)
        reply: Assistant | None = None
        self._partial, self._source = "", source
        try:
            self.check()  # again, since an interrupt wakes the source only from now on
            while (piece := (yield Do(source.next))) is not END:
                if isinstance(piece, Assistant):
                    reply = piece
                    continue
                self.check()
                if not is_shown or piece is WAKE:
                    continue
                if isinstance(piece, TextDelta):
                    self._partial += piece.content
                elif isinstance(piece, Retrying):
                    self._partial = ""
                yield piece
        finally:
            self._source = None
            yield Do(source.close)
        if reply is None:
            raise ProviderError("the provider ended without a reply", retryable=True)
        if reply.usage is not None:
            self.add_usage(reply.usage, 0.0 if agent.max_cost is None else cost_of(reply))
        return reply

    # ------------------------------------------------------------------------------------------------ guardrails

    def _check_input(self) -> Steps:
        for guardrail in self.agent.checked_guardrails:
            messages = self.session.messages
            answer = yield self._call_back(guardrail.process_input, messages, self.context)
            if isinstance(answer, Block):
                yield self._block(guardrail, "before", answer)
                return
            if answer is not None:
                changes, ids = changes_between(messages, answer)
                if changes:
                    yield self.write(self.session.log.write, changes)
                    yield self._modify(guardrail, "before", ids)

    def _check_output(self, reply: Assistant) -> Steps:
        """Pass a reply through the guardrails. Return None if one blocks it."""
        for guardrail in self.agent.checked_guardrails:
            answer = yield self._call_back(guardrail.process_output, reply, self.session.messages, self.context)
            if isinstance(answer, Block):
                yield self._block(guardrail, "after", answer)
                return None
            if answer is None or answer == reply:
                continue
            if not isinstance(answer, Assistant):
                raise TypeError(f"process_output returns None, an Assistant or a Block, got {type(answer).__name__}")
            reply = answer.replace(items=()) if answer.items == reply.items else answer
            yield self._modify(guardrail, "after", [reply.id])
        return reply

    def _block(self, guardrail: Guardrail, phase: Phase, block: Block) -> Tripwire:
        tripwire = Tripwire(guardrail.name, phase, block.reason, block.metadata)
        self._ended = {"outcome": "blocked", "content": "", "tripwire": tripwire}
        return tripwire

    def _modify(self, guardrail: Guardrail, phase: Phase, ids: Sequence[str]) -> Modification:
        modification = Modification(guardrail.name, phase, tuple(ids))
        self._modifications.append(modification)
        return modification

    # ------------------------------------------------------------------------------------------------ the end

    def _complete(self, reply: Assistant) -> None:
        stop = reply.stop_reason
        outcome = "completed" if stop in (None, "stop", "tool") else stop
        if self._problem is not None and outcome == "completed":
            outcome = "invalid_output"
        output = reply.content if self.agent.output_type is None else self._output
        self._ended = {"outcome": outcome, "content": reply.content, "output": output, "detail": self._problem}

    def _finish(self) -> Steps:
        session, ended = self.session, self._ended
        if ended["outcome"] == "interrupted" and self.agent.heal:
            waiting = {request["call_id"].partition("/")[0] for request in _requests(session)}
            orphans = [id for id in session.orphaned_tool_call_ids if id not in waiting]
            self._healed += yield self.write(session.log.close_calls, orphans)
        yield self._finish_run(ended["outcome"], ended.get("interrupt_reason"))
        if "content" not in ended:
            last = session.log.last_reply
            ended["content"] = self._partial or (last.content if last is not None else "")
        self.response = Response(
            **ended, messages=tuple(session.messages), modifications=tuple(self._modifications),
            healed_tool_call_ids=tuple(self._healed), pending=tuple(_requests(session)), usage=self.usage,
            steps=self._steps,
        )  # fmt: skip

    def _fail(self, error: BaseException) -> Steps:
        """Record that the run has failed, or was interrupted; its messages stay in the session."""
        is_interrupt = not isinstance(error, Exception)  # Ctrl-C, a cancelled task, a closed stream
        outcome = "interrupted" if is_interrupt else "failed"
        reason = type(error).__name__ if is_interrupt else f"{type(error).__name__}: {error}"
        try:
            yield self._finish_run(outcome, reason)
        except Exception as unrecorded:  # noqa: BLE001  (the store may have failed)
            _log.warning("the end of run %s could not be recorded: %s", self.id, unrecorded)

    def _finish_run(self, outcome: str, reason: Any) -> Do:
        data = {"steps": self._steps, "usage": self.usage.model_dump()}
        if reason is not None:
            data["reason"] = str(reason)
        return self.write(partial(self.session.log.finish_run, outcome, **data))


def _requests(session: Session) -> list[dict[str, Any]]:
    return session.pending_approvals + session.pending_questions


async def _completed(value: Awaitable[Any]) -> Any:
    return await value


def _with_run(run: Run, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function; `calling_back` is the run meanwhile."""
    token = calling_back.set(run)
    try:
        value = function(*arguments)
    finally:
        calling_back.reset(token)
    return _awaited(run, value) if isawaitable(value) else value


async def _awaited(run: Run, value: Any) -> Any:
    token = calling_back.set(run)
    try:
        return await value
    finally:
        calling_back.reset(token)
