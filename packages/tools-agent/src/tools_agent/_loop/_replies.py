"""`Replies`: the replies of the model in a run, from the request to the message in the session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from tools_agent._events import Retrying, TextDelta, TextDone, ToolCallDone, UsageUpdate
from tools_agent._loop._drive import Do, Steps
from tools_agent._loop._sources import END, WAKE, AsyncSource, Source
from tools_agent._messages import Assistant, Message, System, Usage
from tools_agent._output_type import Output
from tools_agent._providers._provider import ProviderError, Request, check_price, cost_of, window_of
from tools_agent._search import estimate_tokens, matches_of

if TYPE_CHECKING:
    from tools_agent._loop._run import Run

_MIN_ROOM = 1_000  # tokens
_AHEAD = 64  # pieces of a reply that are read before the caller requests them


class Replies:
    """Request replies from the model, and add them to the session.

    Attributes:
        count: The number of replies.
        partial: The text of an incomplete reply.
        output: The parsed value of the last reply.
        problem: The reason why the last reply is not valid output.
    """

    def __init__(self, run: Run) -> None:
        self.count = 0
        self.partial = ""
        self.output: Any = None
        self.problem: str | None = None
        self._run = run
        parts = run.parts
        self._type = parts.output
        self._provider, self._model = parts.provider
        self._reader = parts.reader  # of results that were cut
        self._source: Source | AsyncSource | None = None  # of the reply that the model is sending

    def wake(self) -> None:
        """Let a run that waits for the model see that it was interrupted; from any thread."""
        if (source := self._source) is not None:
            source.put(WAKE)

    def request(self) -> Steps:
        """Request the next reply and add it to the session. Return None if a guardrail blocks it."""
        run, session = self._run, self._run.session
        reply = yield from self._ask()
        self.count += 1
        reply = session.log.with_unique_ids(reply)
        if run.parts.guardrails and (reply := (yield from run.checks.check_output(reply))) is None:
            return None
        reply = self.read(reply)
        yield run.write(session.log.add, reply)
        self.partial = ""
        if reply.content:
            yield TextDone(reply.content)
        for call in reply.tool_calls:
            yield ToolCallDone(call)
        yield UsageUpdate(reply.usage or Usage(), run.budget.usage)
        yield from run.notify(reply)
        return reply

    def _ask(self) -> Steps:
        """Send what the model sees of the session, and less if it is still too long; return the reply."""
        run, window = self._run, self._run.options.window
        while True:
            messages = run.session.messages
            if window is not None:
                messages = yield from window.fit(run.session, partial(self._send, is_shown=False), self._room)
            if self._type is not None and self._type.hint:
                place = next((at for at, message in enumerate(messages) if message.role != "system"), len(messages))
                messages = [*messages[:place], System(content=self._type.hint), *messages[place:]]
            tools, deferred = self._definitions(messages)
            try:
                return (yield from self._send(messages, tools, deferred, self._type))
            except ProviderError as error:
                if window is None or not error.is_too_long or self._room < _MIN_ROOM:
                    raise
                self._room //= 2

    @cached_property
    def _room(self) -> int:
        """The tokens of messages that the model can read, beside the definitions and its reply."""
        room = window_of(self._provider, self._model) * 3 // 4
        return max(_MIN_ROOM, room - sum(map(estimate_tokens, self._run.tools.values())))

    def _definitions(self, messages: Sequence[Message]) -> tuple[list[Any], list[Any]]:
        """Return the definitions that the model sees from the start, and the ones that the provider loads later."""
        run, search = self._run, self._run.search
        has_reader = (
            search is not None or run.session.key in run.agent.with_cut_output
        )  # always: the list must not change
        hidden = {} if search is None else search.tools
        tools = [
            {**tool.definition, "name": name}
            for name, tool in run.tools.items()
            if name not in hidden and (has_reader or tool is not self._reader)
        ]
        if search is None:
            return tools, []
        matches = matches_of(search, run.session.messages)
        can_load = getattr(self._provider, "loads_definitions", None)
        if can_load is None or not can_load(self._model):
            return [*tools, *matches.values()], []
        visible = matches_of(search, messages)  # matches of a search that is no longer visible are sent
        tools += [definition for name, definition in matches.items() if name not in visible]
        return tools, [item for name, item in search.definitions.items() if name not in matches or name in visible]

    def read(self, reply: Assistant) -> Assistant:
        """Return a reply with its structured output."""
        self.problem = None
        if self._type is None:
            self.output = reply.content
        elif not reply.tool_calls:
            self.output, self.problem = self._type.read(reply.content)
            if self.problem is None:
                return reply.replace(structured_output=self._type.dump(self.output))
        return reply

    def _send(
        self,
        messages: Sequence[Message],
        tools: Sequence[Any] = (),
        deferred: Sequence[Any] = (),
        output: Output | None = None,
        *,
        is_shown: bool = True,
    ) -> Steps:
        """Send a request to the model, yield the deltas of its reply if the user may see them, and return the reply."""
        run, options = self._run, self._run.options
        provider = self._provider
        run.budget.check(is_step=is_shown)
        if run.budget.needs_price and self._model:
            check_price(provider, self._model)
        request = Request(
            model=self._model, messages=messages, tools=tools, deferred=deferred, settings=self._settings(),
            timeout=options.timeout, output_schema=None if output is None else output.schema,
        )  # fmt: skip
        hooks = run.hooks
        if hooks is not None:
            request = yield from hooks.before_request(request)
        try:
            reply = yield from self._receive(request, is_shown=is_shown)
        except BaseException as error:
            if hooks is not None:
                yield from hooks.after_request(request, None, error)
            raise
        if reply.usage is not None:
            run.add_usage(reply.usage, cost_of(reply) if run.budget.needs_price else 0.0)
        return reply if hooks is None else (yield from hooks.after_request(request, reply))

    def _settings(self) -> Mapping[str, Any]:
        """Return the settings; after calls a forced one would repeat without end."""
        settings: Mapping[str, Any] = self._run.options.settings
        is_forced = settings.get("tool_choice", "auto") not in ("auto", "none")
        if not is_forced or not self._run.batch:
            return settings
        return {name: value for name, value in settings.items() if name != "tool_choice"}

    def _receive(self, request: Request, *, is_shown: bool) -> Steps:
        """Yield the deltas of a reply if the user may see them, and return the reply."""
        run, provider = self._run, self._provider
        source = run.source(lambda: provider.stream(request), lambda: provider.astream(request), ahead=_AHEAD)
        reply: Assistant | None = None
        self.partial, self._source = "", source
        try:
            run.check()  # again, since an interrupt wakes the source only from now on
            while (piece := (yield Do(source.next))) is not END:
                if isinstance(piece, Assistant):
                    reply = piece
                    continue
                run.check()
                if not is_shown or piece is WAKE:
                    continue
                if isinstance(piece, TextDelta):
                    self.partial += piece.content
                elif isinstance(piece, Retrying):
                    self.partial = ""
                yield piece
        finally:
            self._source = None
            yield Do(source.close)
        if reply is None:
            raise ProviderError("the provider ended without a reply", retryable=True)
        return reply
