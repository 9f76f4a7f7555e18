"""`Frame`: what the parts of a run share, and what its calls know of their run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from concurrent.futures import CancelledError
from contextlib import asynccontextmanager, nullcontext, suppress
from contextvars import ContextVar, copy_context
from dataclasses import replace
from functools import partial
from inspect import isawaitable, iscoroutinefunction
from typing import Any, Protocol, TypeVar
from uuid import uuid4

from tools_agent._caller_loop import CallerLoop, awaited
from tools_agent._events import ToolFinished, ToolProgress, ToolStarted
from tools_agent._guardrails import Block, Guardrail, Phase, Tripwire
from tools_agent._loop._budget import LIMITS, Budget
from tools_agent._loop._channel import Channel, StreamEvent
from tools_agent._loop._tasks import wait_for_end
from tools_agent._messages import Message, Usage
from tools_agent._response import Interrupted
from tools_agent._session._session import Session
from tools_agent._setup import Setup
from tools_core import ApprovalRequest, Context, ToolCall
from tools_runtime import Executor

T = TypeVar("T")
# The run whose callback is running, and the task of a callback that is a coroutine.
calling_back: ContextVar[tuple[Frame, object] | None] = ContextVar("calling_back", default=None)


class Owner(Protocol):
    """The agent, as its runs know it.

    Attributes:
        name: Its name, in events.
        with_cut_output: The keys of the sessions in which the model may read the rest of a result.
    """

    name: str
    with_cut_output: set[str]

    def count(self, usage: Usage) -> None:
        """Count the tokens of a reply."""


class CallKeeper(Protocol):
    """Records and answers for the calls of a run; see `Calls`."""

    async def record_start(self, call: ToolCall, context: Context, *, is_read_only: bool) -> None:
        """Record that a call starts."""

    async def approve(self, request: ApprovalRequest) -> object:
        """Answer a request for approval."""


class Frame:
    """The place of a run: its session, setup and budget, its callers, its event loop and its consumer.

    It is the `caller` of the context of its calls. `call` is the context of the call whose tool is the agent. The
    policies, hooks and budgets of the callers hold for the run. With `is_part` its calls belong to the run of the
    caller: what tools remember and what the user approves for a run is that run's.

    Attributes:
        outer: The caller of that call, a frame or an executor's.
        caller: The nearest frame among the callers.
        home: The frame whose session keeps approvals for the run.
        run_id: The run that tools see.
        batch: The number of replies whose calls have run.
        calls: What records the calls.
        tripwire: The guardrail that has blocked the run.
    """

    calls: CallKeeper

    def __init__(
        self, agent: Owner, setup: Setup, session: Session, state: Any, call: Context | None, *, is_part: bool
    ) -> None:
        self.id = uuid4().hex
        self.agent = agent
        self.setup = setup
        self.session = session
        self.state = state
        self.call = call
        self.outer: Any = None if call is None else call.caller
        self.caller = frame_of(self.outer)
        self.is_part = is_part
        self.home: Frame = self.caller.home if is_part and self.caller is not None else self
        self.run_id: str = session.key if call is None or not is_part else call.run_id
        self.depth: int = 0 if self.caller is None else self.caller.depth + 1
        limits = {name: getattr(setup, name) for name in LIMITS}
        outer_budget = None if self.caller is None else self.caller.budget
        self.budget: Budget = Budget(agent.name, limits, outer_budget, is_part=is_part)
        self.batch = 0
        self.tripwire: Tripwire | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._writes_in_thread = False
        self._channel: Channel | None = None
        self._interrupt: tuple[Any] | None = None
        self._waits: set[asyncio.Timeout] = set()  # that an interrupt ends

    @property
    def executor(self) -> Executor:
        """The executor of calls."""
        return self.setup.executor

    @property
    def conversation(self) -> str:
        """What loops are looked for in: this run."""
        return self.id

    def inherited(self, option: str) -> Any:
        """Return `approve` or `on_ask` of the agent, else of the nearest caller that has it."""
        value = getattr(self.setup, option)
        member = self.outer
        while value is None and member is not None:
            if isinstance(member, Frame):
                return member.inherited(option)
            value = getattr(member.executor, option, None)
            member = member.outer
        return self.call.on_ask if value is None and option == "on_ask" and self.call is not None else value

    def add_usage(self, usage: Usage, cost: float) -> None:
        """Count the tokens and the price of a reply, for the callers too."""
        self.budget.add(usage, cost)
        agents: dict[int, Owner] = {}
        member: Frame | None = self
        while member is not None:
            agents[id(member.agent)] = member.agent
            member = member.caller
        for agent in agents.values():
            agent.count(usage)

    # ------------------------------------------------------------------------------------------------ the end

    def interrupt(self, reason: Any) -> None:
        """Let `check` raise from now on, and end the waits of `interruptible`; from any thread."""
        self._interrupt = (reason,)
        for wait in self._waits.copy():
            with suppress(RuntimeError):  # the loop is closed
                self.loop.call_soon_threadsafe(_end, wait)

    def check(self) -> None:
        """Raise Interrupted if the run was interrupted."""
        if self._interrupt is not None:
            raise Interrupted(self._interrupt[0])

    @asynccontextmanager
    async def interruptible(self) -> AsyncGenerator[None]:
        """Let an interrupt end what the block waits for."""
        wait = asyncio.timeout(None)
        try:
            async with wait:
                self._waits.add(wait)
                self.check()  # again, since an interrupt ends the wait only from now on
                yield
        except TimeoutError:
            self.check()
            raise
        finally:
            self._waits.discard(wait)

    def block(self, guardrail: Guardrail, phase: Phase, block: Block) -> Tripwire:
        """Keep the reason why the run ends."""
        self.tripwire = Tripwire(guardrail.name, phase, block.reason, block.metadata)
        return self.tripwire

    # ------------------------------------------------------------------------------------------------ events

    def listen(self) -> Channel:
        """Return the channel of a consumer, in the event loop of the run."""
        self._channel = Channel()
        return self._channel

    @property
    def has_listener(self) -> bool:
        """Whether the run has a consumer of all its events."""
        return self._channel is not None

    async def emit(self, event: StreamEvent) -> None:
        """Hand over an event, and wait until the consumer asks for the next one."""
        if self._channel is not None:
            await self._channel.send(event)

    def post(self, event: StreamEvent) -> None:
        """Add an event, without waiting; from any thread."""
        if self._channel is not None:
            self._channel.post(event)

    def report(self, event: ToolStarted | ToolProgress | ToolFinished) -> None:
        """Add an event of a tool, for the callers too; from any thread."""
        if self._channel is not None:
            self._channel.post(event)
        elif self.caller is not None:
            self.caller.report(replace(event, agent=event.agent or self.agent.name))

    async def finished(self, event: ToolFinished) -> None:
        """Hand over the end of a call, and wait as `emit` does."""
        if self._channel is not None:
            await self._channel.send(event)
        elif self.caller is not None:
            self.report(event)

    def mute(self) -> None:
        """Wait for no consumer from now on."""
        if self._channel is not None:
            self._channel.close()

    # ------------------------------------------------------------------------------------------------ effects

    def enter(self) -> None:
        """Run in the running event loop."""
        self._loop = asyncio.get_running_loop()
        self._writes_in_thread = self.session.store is not None and not isinstance(self._loop, CallerLoop)

    def leave_loop(self) -> None:
        """Call everything directly: the event loop has ended."""
        self._writes_in_thread, self._loop = False, None

    @property
    def has_lost_loop(self) -> bool:
        """Whether the event loop of the run was closed before its end."""
        return self._loop is not None and self._loop.is_closed()

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The event loop of the run."""
        if self._loop is None:
            raise RuntimeError("the run has not begun")
        return self._loop

    async def write(self, function: Callable[..., T], *arguments: Any) -> T:
        """Call a function that writes to the session's log; it ends also if the run is cancelled."""
        if not self._writes_in_thread or self.has_lost_loop:
            return function(*arguments)
        context = copy_context()
        running = asyncio.get_running_loop()
        work: asyncio.Future[T] = running.run_in_executor(None, lambda: context.run(function, *arguments))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            await wait_for_end(work)
            _ = work.cancelled() or work.exception()
            raise

    async def call_user(self, function: Callable[..., Any], *arguments: Any, blocks: bool = True) -> Any:
        """Call a function or coroutine function of the user.

        One that may block is called in the thread of the caller of a synchronous run, else in a worker thread.
        """
        loop = self._loop
        running = asyncio.get_running_loop()
        if loop is not None and loop is not running and loop.is_running():
            work = asyncio.run_coroutine_threadsafe(self.call_user(function, *arguments, blocks=blocks), loop)
            return await asyncio.wrap_future(work)
        if loop is None or not blocks or iscoroutinefunction(function):
            value = function(*arguments)
        elif isinstance(running, CallerLoop):
            value = await running.call(partial(function, *arguments))
        else:
            value = await asyncio.to_thread(function, *arguments)
        return await value if isawaitable(value) else value

    async def call_back(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a callback, which may interrupt the run. An interrupt from elsewhere cancels a coroutine."""
        token = calling_back.set((self, asyncio.current_task()))
        try:
            async with self.interruptible() if iscoroutinefunction(function) else nullcontext():
                return await self.call_user(function, *arguments)
        finally:
            calling_back.reset(token)

    async def notify(self, message: Message) -> None:
        """Call the session's callbacks with a new reply or result."""
        for callback in self.session.log.callbacks:
            await self.call_back(callback, message)

    def wait_for(self, function: Callable[..., Any], *arguments: Any, context: Context) -> Any:
        """Call a function or coroutine function of the user from the thread of a call, and return its value.

        In a synchronous run the thread of its caller calls the function, if it is free.
        """
        loop = self._loop
        if loop is None or not loop.is_running() or asyncio._get_running_loop() is loop:  # it waits for this thread
            value = function(*arguments)
            return awaited(value)
        is_of_caller = isinstance(loop, CallerLoop)
        value = self.call_user(function, *arguments) if is_of_caller else function(*arguments)
        if not isawaitable(value):
            return value
        future = asyncio.run_coroutine_threadsafe(_awaited(value), loop)
        unregister = context.on_cancel(future.cancel)
        try:
            return future.result()
        except CancelledError:
            return None
        finally:
            unregister()


def _end(wait: asyncio.Timeout) -> None:
    with suppress(RuntimeError):  # it has just ended
        wait.reschedule(asyncio.get_running_loop().time())


async def _awaited(value: Awaitable[T]) -> T:
    return await value


def frame_of(caller: object) -> Frame | None:
    """Return the nearest frame among a caller of calls and its outer callers."""
    member: Any = caller
    while member is not None and not isinstance(member, Frame):
        member = member.outer
    return member
