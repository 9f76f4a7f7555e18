"""`Replies`: the replies of the model in a run, from the request to the message in the session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from typing import Any

from tools_agent._events import Delta, Retrying, TextDelta, TextDone, ToolCallDone, UsageUpdate
from tools_agent._loop._checks import Checks
from tools_agent._loop._frame import Frame
from tools_agent._loop._run_hooks import RunHooks
from tools_agent._messages import Assistant, Message, System, Usage
from tools_agent._output_type import Output, arguments_of
from tools_agent._providers._provider import ProviderError, Request, check_price, cost_of, pieces_of, window_of
from tools_agent._search import estimate_tokens, matches_of

_MIN_ROOM = 1_000  # tokens


class Replies:
    """Request replies from the model, and add them to the session.

    Attributes:
        count: The number of replies.
        output: The parsed value of the last reply.
        problem: The reason why the last reply is not valid output.
    """

    def __init__(self, frame: Frame, checks: Checks, hooks: RunHooks | None) -> None:
        self.count = 0
        self.output: Any = None
        self.problem: str | None = None
        self._frame = frame
        self._setup = frame.setup
        self._checks = checks
        self._hooks = hooks
        self._type = frame.setup.output
        self._partial: list[str] = []
        self._shown = 0  # pieces of the typed output that was emitted last

    @property
    def partial(self) -> str:
        """The text of an incomplete reply."""
        return "".join(self._partial)

    async def request(self) -> Assistant | None:
        """Request the next reply and add it to the session. Return None if a guardrail blocks it."""
        frame, log = self._frame, self._frame.session.log
        reply = await self._ask()
        self.count += 1
        reply = log.with_unique_ids(reply)
        if self._setup.guardrails:
            self._partial = []  # an interrupt must not return text that was not checked
            checked = await self._checks.check_output(reply)
            if checked is None:
                return None
            reply = checked
        reply = await self.read(reply)
        await frame.write(log.add, reply)
        self._partial = []
        if frame.has_listener:
            await self._emit(reply)
        await frame.notify(reply)
        return reply

    async def _emit(self, reply: Assistant) -> None:
        frame = self._frame
        if reply.content:
            await frame.emit(TextDone(reply.content))
        for call in reply.tool_calls:
            await frame.emit(ToolCallDone(call))
        await frame.emit(UsageUpdate(reply.usage or Usage(), frame.budget.usage))

    async def _ask(self) -> Assistant:
        """Send what the model sees of the session, and less if it is still too long; return the reply."""
        frame, window = self._frame, self._setup.window
        while True:
            messages: Sequence[Message] = list(frame.session.log.messages)
            if window is not None:
                send = partial(self._send, is_shown=False)
                messages = await window.fit(frame.session, send, self._room, write=frame.write)
            if self._type is not None and self._type.hint:
                place = next((at for at, message in enumerate(messages) if message.role != "system"), len(messages))
                messages = [*messages[:place], System(content=self._type.hint), *messages[place:]]
            tools, deferred = self._definitions(messages)
            try:
                return await self._send(messages, tools, deferred, self._type)
            except ProviderError as error:
                if window is None or not error.is_too_long or self._room < _MIN_ROOM:
                    raise
                self._room //= 2

    @cached_property
    def _room(self) -> int:
        """The tokens of messages that the model can read, beside the definitions and its reply."""
        setup = self._setup
        room = window_of(setup.provider, setup.model) * 3 // 4
        return max(_MIN_ROOM, room - sum(map(estimate_tokens, setup.tools.values())))

    def _definitions(self, messages: Sequence[Message]) -> tuple[list[Any], list[Any]]:
        """Return the definitions that the model sees from the start, and the ones that the provider loads later."""
        frame, search = self._frame, self._setup.search
        # With deferred tools always: the list must not change.
        has_reader = search is not None or frame.session.key in frame.agent.with_cut_output
        hidden = {} if search is None else search.tools
        tools = [
            {**tool.definition, "name": name}
            for name, tool in self._setup.tools.items()
            if name not in hidden and (has_reader or tool is not self._setup.reader)
        ]
        if search is None:
            return tools, []
        matches = matches_of(search, frame.session.log.messages)
        can_load = getattr(self._setup.provider, "loads_definitions", None)
        if can_load is None or not can_load(self._setup.model):
            return [*tools, *matches.values()], []
        visible = matches_of(search, messages)  # matches of a search that is no longer visible are sent
        tools += [definition for name, definition in matches.items() if name not in visible]
        return tools, [item for name, item in search.definitions.items() if name not in matches or name in visible]

    async def read(self, reply: Assistant) -> Assistant:
        """Return a reply with its structured output."""
        self.problem, self.output = None, reply.content
        if is_unfinished(reply):
            return reply
        if self._type is not None:
            self.output, self.problem = self._type.read(reply.content)
        if self.problem is None:
            await self._validate()
        if self._type is None or self.problem is not None:
            return reply
        return reply.replace(output=self._type.dump(self.output))

    async def _validate(self) -> None:
        """Pass the output through the validators."""
        for validator in self._setup.output_validators:
            try:
                arguments = arguments_of(validator, self.output, self._frame.state)
                answer = await self._frame.call_back(validator, *arguments)
            except ValueError as error:
                self.output, self.problem = None, str(error)
                return
            self.output = self.output if answer is None else answer

    async def _send(
        self,
        messages: Sequence[Message],
        tools: Sequence[Any] = (),
        deferred: Sequence[Any] = (),
        output: Output | None = None,
        *,
        is_shown: bool = True,
    ) -> Assistant:
        """Send a request to the model, and return its reply; the user may see the deltas."""
        frame, setup, hooks = self._frame, self._setup, self._hooks
        frame.budget.check(is_step=is_shown)
        if frame.budget.needs_price and setup.model:
            check_price(setup.provider, setup.model)
        request = Request(
            model=setup.model, messages=messages, tools=tools, deferred=deferred, settings=self._settings(),
            timeout=setup.timeout, output_schema=None if output is None else output.schema,
        )  # fmt: skip
        if hooks is not None:
            request = await hooks.before_request(request)
        try:
            reply = await self._receive(request, is_shown=is_shown)
        except BaseException as error:
            if hooks is not None:
                await hooks.after_request(request, None, error)
            raise
        if reply.usage is not None:
            frame.add_usage(reply.usage, cost_of(reply) if frame.budget.needs_price else 0.0)
        return reply if hooks is None else (await hooks.after_request(request, reply)) or reply

    def _settings(self) -> Mapping[str, Any]:
        """Return the settings; after calls a forced one would repeat without end."""
        settings = self._setup.settings or {}
        is_forced = settings.get("tool_choice", "auto") not in ("auto", "none")
        if not is_forced or not self._frame.batch:
            return settings
        return {name: value for name, value in settings.items() if name != "tool_choice"}

    async def _receive(self, request: Request, *, is_shown: bool) -> Assistant:
        """Return a reply, and emit its deltas if the user may see them."""
        self._partial, self._shown = [], 0
        async with self._frame.interruptible():
            reply = await self._read(request, is_shown=is_shown)
        if reply is None:
            raise ProviderError("the provider ended without a reply", retryable=True)
        return reply

    async def _read(self, request: Request, *, is_shown: bool) -> Assistant | None:
        frame, reply = self._frame, None
        async with pieces_of(self._setup.provider, request) as pieces:
            async for piece in pieces:
                if isinstance(piece, Assistant):
                    reply = piece
                    continue
                frame.check()
                if not is_shown:
                    continue
                if isinstance(piece, TextDelta):
                    self._partial.append(piece.content)
                elif isinstance(piece, Retrying):
                    self._partial, self._shown = [], 0
                if frame.has_listener:
                    await frame.emit(piece)
                    await self._emit_partial_output(piece)
        return reply

    async def _emit_partial_output(self, piece: Delta) -> None:
        """Emit the typed output so far; rarely in a long reply, since it is read from its start each time."""
        if self._type is None or not isinstance(piece, TextDelta) or len(self._partial) < self._shown * 1.02:
            return
        self._shown = len(self._partial)
        output = self._type.read_partial(self.partial)
        if output is not None:
            await self._frame.emit(output)


def is_unfinished(reply: Assistant) -> bool:
    """Return whether the run goes on after a reply: it has calls, or Anthropic has paused it."""
    return bool(reply.tool_calls) or reply.stop_reason == "pause_turn"
