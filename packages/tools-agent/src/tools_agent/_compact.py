"""`compact`: a summary in place of old messages, when a person asks for it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tools_agent._messages import Assistant, Message
from tools_agent._providers._provider import ProviderError, Request, pieces_of, window_of
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

    async def ask(messages: Sequence[Message]) -> Assistant:
        async with pieces_of(provider, Request(model=model, messages=messages)) as pieces:
            return [piece async for piece in pieces if isinstance(piece, Assistant)][-1]

    before = session.log.summary
    window = Window(1, summarize=instructions or True)
    await window.fit(session, ask, window_of(provider, model) * 3 // 4, write=asyncio.to_thread)
    if window.problem is not None:
        raise ProviderError(window.problem)
    after = session.log.summary
    return None if after is None or after == before else after["text"]
