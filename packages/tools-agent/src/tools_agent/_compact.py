"""`compact`: a summary in place of old messages, when a person asks for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tools_agent._loop._drive import Do, adrive
from tools_agent._messages import Assistant, Message
from tools_agent._providers._provider import ProviderError, Request, window_of
from tools_agent._window import Window

if TYPE_CHECKING:
    from tools_agent._agent import Agent
    from tools_agent._session._session import Session


async def compact(agent: Agent[Any, Any], instructions: str = "", *, session: Session | None = None) -> str | None:
    """Replace old messages of a session by a summary that the agent's model writes, for the model.

    The session is by default that of the agent, and keeps all messages. Returns the summary; None if there is nothing
    to summarize. Raises ProviderError, and changes nothing, if the model does not write a whole summary.
    """
    session = agent.session if session is None else session
    provider, model = agent.parts.provider

    async def summary(messages: Sequence[Message]) -> Assistant:
        pieces = provider.astream(Request(model=model, messages=messages))
        return [piece async for piece in pieces if isinstance(piece, Assistant)][-1]

    def ask(messages: Sequence[Message]) -> Any:
        return (yield Do(summary, (messages,)))

    before = session.log.summary
    window = Window(1, summarize=instructions or True)
    async for _ in adrive(window.fit(session, ask, window_of(provider, model) * 3 // 4)):
        pass
    if window.problem is not None:
        raise ProviderError(window.problem)
    after = session.log.summary
    return None if after is None or after == before else after["text"]
