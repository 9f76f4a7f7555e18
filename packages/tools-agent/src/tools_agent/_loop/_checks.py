"""`Checks`: the guardrails of a run."""

from __future__ import annotations

from collections.abc import Sequence

from tools_agent._guardrails import Block, Guardrail, Modification, Phase, changes_between
from tools_agent._loop._frame import Frame
from tools_agent._messages import Assistant


class Checks:
    """Pass the input and the replies of a run through the guardrails.

    Attributes:
        modifications: The changes of guardrails.
    """

    def __init__(self, frame: Frame) -> None:
        self.modifications: list[Modification] = []
        self._frame = frame

    async def check_input(self) -> None:
        """Pass the messages of the session through the guardrails."""
        frame = self._frame
        for guardrail in frame.setup.guardrails:
            if type(guardrail).process_input is Guardrail.process_input:
                continue
            messages = frame.session.messages
            answer = await frame.call_back(guardrail.process_input, messages, frame.state)
            if isinstance(answer, Block):
                await frame.emit(frame.block(guardrail, "before", answer))
                return
            if answer is not None:
                changes, ids = changes_between(messages, answer)
                if changes:
                    await frame.write(frame.session.log.write, changes)
                    await self._modify(guardrail, "before", ids)

    async def check_output(self, reply: Assistant) -> Assistant | None:
        """Pass a reply through the guardrails. Return None if one blocks it."""
        frame = self._frame
        for guardrail in frame.setup.guardrails:
            if type(guardrail).process_output is Guardrail.process_output:
                continue
            answer = await frame.call_back(guardrail.process_output, reply, frame.session.messages, frame.state)
            if isinstance(answer, Block):
                await frame.emit(frame.block(guardrail, "after", answer))
                return None
            if answer is None or answer == reply:
                continue
            if not isinstance(answer, Assistant):
                raise TypeError(f"process_output returns None, an Assistant or a Block, got {type(answer).__name__}")
            reply = answer.replace(items=()) if answer.items == reply.items else answer
            await self._modify(guardrail, "after", [reply.id])
        return reply

    async def _modify(self, guardrail: Guardrail, phase: Phase, ids: Sequence[str]) -> None:
        self.modifications.append(Modification(guardrail.name, phase, tuple(ids)))
        await self._frame.emit(self.modifications[-1])
