"""Calls and results of a session stay consistent, and no effect repeats, in any order of events."""

import tempfile
from collections import Counter
from itertools import count
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tools_agent import Agent, ScriptedProvider, Session, SQLiteStore
from tools_core import Context, ToolCall, tool


class Killed(BaseException):
    """The process is killed here: no later code runs."""


class MortalStore(SQLiteStore):
    """A store that can kill the process right before or after the write that `fuse` counts down to."""

    fuse = None
    is_before = False
    owner = ""

    def acquire(self, session, owner):
        self.owner = owner
        return super().acquire(session, owner)

    def append(self, session, records, *, after, owner=None):
        if self.fuse is not None:
            self.fuse -= 1
            if self.fuse < 0 or (self.fuse == 0 and self.is_before):
                raise Killed
        last = super().append(session, records, after=after, owner=owner)
        if self.fuse == 0:
            raise Killed
        return last

    def release(self, session, owner):
        if self.fuse is None or self.fuse > 0:
            super().release(session, owner)


TOOLS = st.lists(st.sampled_from(["look", "write", "delete"]), max_size=3)
# Drawn values must not depend on the session: threads may write its records in another order.
PLACES = st.integers(0, 9)


class SessionMachine(RuleBasedStateMachine):
    @initialize(runtime=st.sampled_from(["inline", "thread"]))
    def begin(self, runtime):
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name, "agent.db")
        self.runtime = runtime
        self.effects = Counter()
        self.ids = count()
        self.plan = []
        self.store = None
        self.reopen()

    def teardown(self):
        if hasattr(self, "store"):
            self.store.close()
            self.folder.cleanup()

    # ---------------------------------------------------------------------------------------------------------- rules

    @rule()
    def reopen(self):
        if self.store is not None:
            self.store.close()
        self.store = MortalStore(self.path)
        model = ScriptedProvider(default=self.reply)
        self.agent = Agent("chat", model=model, tools=self.tools(), store=self.store, runtime=self.runtime)
        self.agent.session.on_message(self.count_message)
        self.stop_after = None

    @rule(plan=st.lists(TOOLS, max_size=2), prompt=st.sampled_from([None, "Go"]))
    def run(self, plan, prompt):
        self.plan = plan
        self.generate(prompt)

    @rule(plan=st.lists(TOOLS, min_size=1, max_size=2), write=st.integers(1, 6), is_before=st.booleans())
    def kill(self, plan, write, is_before):
        self.plan = plan
        self.store.fuse, self.store.is_before = write, is_before
        self.generate("Go")

    def generate(self, prompt):
        try:
            self.agent.generate(prompt if len(self.agent.session) else "Go")
        except Killed:
            self.store.fuse = None
            self.store.release("chat", self.store.owner)
            self.reopen()
        self.store.fuse = None

    @rule(plan=st.lists(TOOLS, min_size=1, max_size=2), at=st.integers(0, 4), heal=st.booleans())
    def interrupt(self, plan, at, heal):
        self.stop_after, self.plan = at, plan
        self.agent.heal = heal
        response = self.agent.generate("Go")
        assert set(response.healed_tool_call_ids) <= {message.tool_call_id for message in self.results()}
        self.stop_after = None

    @rule(which=PLACES, approved=st.booleans())
    def answer(self, which, approved):
        waiting = [request["call_id"] for request in self.agent.session.pending_approvals]
        if waiting:
            (self.agent.session.approve if approved else self.agent.session.deny)(waiting[which % len(waiting)])

    @rule()
    def discard(self):
        self.agent.session.discard_pending_tool_calls()
        assert self.agent.session.orphaned_tool_call_ids == []

    @rule(which=PLACES, text=st.text(max_size=3), drop_call=st.booleans())
    def edit(self, which, text, drop_call):
        messages = [message for message in self.agent.session if message.role != "tool"]
        if messages:
            message = messages[which % len(messages)]
            changes = {"content": text}
            if message.role == "assistant":
                changes["tool_calls"] = message.tool_calls[1:] if drop_call else message.tool_calls
            self.agent.session.update(id=message.id, **changes)

    @rule(which=PLACES)
    def remove(self, which):
        messages = [message for message in self.agent.session if message.role != "tool"]
        if messages:
            self.agent.session.remove(messages[which % len(messages)].id)

    @rule(which=PLACES)
    def correct(self, which):
        results = self.results()
        if results:
            id = results[which % len(results)].tool_call_id
            self.agent.session.update(tool_call_id=id, content="corrected", error=None)

    # ------------------------------------------------------------------------------------------------------ invariants

    @invariant()
    def each_call_has_at_most_one_result_directly_after_its_request(self):
        if not hasattr(self, "agent"):
            return
        open_calls = []
        for message in self.agent.session:
            if message.role == "tool":
                assert message.tool_call_id in open_calls
                open_calls = open_calls[open_calls.index(message.tool_call_id) + 1 :]
            else:
                open_calls = [call.id for call in message.tool_calls] if message.role == "assistant" else []

    @invariant()
    def memory_holds_what_the_store_holds(self):
        if hasattr(self, "agent"):
            opened = Session.open(self.store, "chat")
            assert opened.messages == self.agent.session.messages
            assert opened.pending_approvals == self.agent.session.pending_approvals

    @invariant()
    def no_effect_is_repeated(self):
        assert all(number == 1 for number in getattr(self, "effects", {}).values())

    # ---------------------------------------------------------------------------------------------------------- helpers

    def results(self):
        return [message for message in self.agent.session if message.role == "tool"]

    def reply(self, request):
        """Check that each call has its result, and reply with the next calls of the plan."""
        for place, message in enumerate(request.messages):
            calls = [call.id for call in message.tool_calls] if message.role == "assistant" else []
            following = request.messages[place + 1 : place + 1 + len(calls)]
            assert [getattr(result, "tool_call_id", None) for result in following] == calls
        names = self.plan.pop(0) if self.plan else []
        return [ToolCall(f"call_{next(self.ids)}", name, {"text": name}) for name in names] or "Done"

    def count_message(self, message):
        if self.stop_after is not None:
            self.stop_after -= 1
            if self.stop_after < 0:
                self.agent.interrupt("stop")

    def tools(self):
        @tool(read_only=True)
        def look(text: str) -> str:
            """Look."""
            return text

        @tool
        def write(text: str, context: Context) -> str:
            """Write."""
            self.effects[context.call_id] += 1
            return text

        @tool(requires_approval=True)
        def delete(text: str, context: Context) -> str:
            """Delete."""
            self.effects[context.call_id] += 1
            return text

        return [look, write, delete]


TestSessions = SessionMachine.TestCase
TestSessions.settings = settings(max_examples=5, stateful_step_count=15, deadline=None)


@pytest.mark.slow
class TestManySessions(SessionMachine.TestCase):
    settings = settings(max_examples=80, stateful_step_count=30, deadline=None)
