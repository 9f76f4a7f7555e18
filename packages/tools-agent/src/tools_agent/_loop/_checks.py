"""`Checks`: the guardrails of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tools_agent._guardrails import Block, Guardrail, Modification, Phase, Tripwire, changes_between
from tools_agent._loop._drive import Steps
from tools_agent._messages import Assistant

if TYPE_CHECKING:
    from tools_agent._loop._run import Run


class Checks:
    """Pass the input and the replies of a run through the guardrails.

    Attributes:
        tripwire: The guardrail that has blocked the run.
        modifications: The changes of guardrails.
    """

    def __init__(self, run: Run) -> None:
        self.tripwire: Tripwire | None = None
        self.modifications: list[Modification] = []
        self._run = run
        self._guardrails = run.parts.guardrails

    def check_input(self) -> Steps:
        """Pass the messages of the session through the guardrails."""
        run = self._run
        for guardrail in self._guardrails:
            if type(guardrail).process_input is Guardrail.process_input:
                continue
            messages = run.session.messages
            answer = yield run.call_back(guardrail.process_input, messages, run.context)
            if isinstance(answer, Block):
                yield self.block(guardrail, "before", answer)
                return
            if answer is not None:
                changes, ids = changes_between(messages, answer)
                if changes:
                    yield run.write(run.session.log.write, changes)
                    yield self._modify(guardrail, "before", ids)

    def check_output(self, reply: Assistant) -> Steps:
        """Pass a reply through the guardrails. Return None if one blocks it."""
        run = self._run
        for guardrail in self._guardrails:
            if type(guardrail).process_output is Guardrail.process_output:
                continue
            answer = yield run.call_back(guardrail.process_output, reply, run.session.messages, run.context)
            if isinstance(answer, Block):
                yield self.block(guardrail, "after", answer)
                return None
            if answer is None or answer == reply:
                continue
            if not isinstance(answer, Assistant):
                raise TypeError(f"process_output returns None, an Assistant or a Block, got {type(answer).__name__}")
            reply = answer.replace(items=()) if answer.items == reply.items else answer
            yield self._modify(guardrail, "after", [reply.id])
        return reply

    def block(self, guardrail: Guardrail, phase: Phase, block: Block) -> Tripwire:
        """Keep the reason why the run ends, and return it as an event."""
        self.tripwire = Tripwire(guardrail.name, phase, block.reason, block.metadata)
        return self.tripwire

    def _modify(self, guardrail: Guardrail, phase: Phase, ids: Sequence[str]) -> Modification:
        self.modifications.append(Modification(guardrail.name, phase, tuple(ids)))
        return self.modifications[-1]
