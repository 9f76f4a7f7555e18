"""`FallbackProvider`: other models if one fails."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

from tools_agent._events import Delta, Retrying
from tools_agent._messages import Assistant
from tools_agent._providers._get_provider import get_provider
from tools_agent._providers._provider import Provider, ProviderError, Request, pieces_of

_OF_THE_SERVER = (401, 402, 403, 404, 429)  # errors that another request to the server would meet, too


class FallbackProvider:
    """Send requests to the first of several models that answers.

        agent = Agent(model=FallbackProvider("anthropic:claude-sonnet-5-5", "openai:gpt-5"))

    Each model has retried its failed request, by its own `Retry`, before the next one gets it; a `Retrying` event tells
    the consumer of a stream to discard the deltas so far. Sessions move between the models as between any others.

    Args:
        models: Names of models, or providers with their `model`; the first is asked first.
        when: Returns whether an error leads to the next model; by default every `ProviderError` does.
        cooldown: Seconds for which a model is asked after the others once it was overloaded, out of reach, or refused
            the key, the account or the name of the model; longer if its server asked for that. 0 for each request anew.
    """

    name = None

    def __init__(
        self, *models: str | Provider, when: Callable[[ProviderError], bool] | None = None, cooldown: float = 60.0
    ) -> None:
        if not models:
            raise TypeError("FallbackProvider needs at least one model")
        members = [_member(model) for model in models]
        self.members: tuple[tuple[Provider, str], ...] = tuple(members)
        self.model = members[0][1]
        self._when = when
        self._cooldown = cooldown
        self._cool_at: dict[int, float] = {}  # the times from which members that failed are asked in their turn

    async def astream(self, request: Request) -> AsyncIterator[Delta | Assistant]:
        """Yield the reply of the first model that answers."""
        failures: list[ProviderError] = []
        for index in self._order():
            provider, model = self.members[index]
            try:
                async with pieces_of(provider, replace(request, model=model)) as pieces:
                    async for piece in pieces:
                        yield piece
            except ProviderError as error:
                failed = self._next(index, failures, error)
            else:
                return
            yield failed

    def close(self) -> None:
        """Close the connections of all models."""
        for provider, _ in self.members:
            with suppress(AttributeError):
                provider.close()  # type: ignore[attr-defined]

    async def aclose(self) -> None:
        """`close` for coroutines."""
        for provider, _ in self.members:
            with suppress(AttributeError):
                await provider.aclose()  # type: ignore[attr-defined]

    def _order(self) -> list[int]:
        """Return the members in the order in which they are asked: those that have just failed come last."""
        now = time.monotonic()
        return sorted(range(len(self.members)), key=lambda index: self._cool_at.get(index, now) > now)

    def _next(self, index: int, failures: list[ProviderError], error: ProviderError) -> Retrying:
        """Record the error of a member, and return the event of the next attempt; raises after the last one."""
        if error.retryable or error.status in _OF_THE_SERVER:
            self._cool_at[index] = time.monotonic() + max(self._cooldown, error.retry_after or 0.0)
        failures.append(error)
        if self._when is not None and not self._when(error):
            raise error
        if len(failures) == len(self.members):
            reasons = "; ".join(map(str, failures))
            is_too_long = all(failure.is_too_long for failure in failures)
            is_retryable = any(failure.retryable for failure in failures)
            raise ProviderError(f"no model answered: {reasons}", retryable=is_retryable, is_too_long=is_too_long)
        return Retrying(str(error), 0.0)


def _member(model: Any) -> tuple[Provider, str]:
    if isinstance(model, str):
        return get_provider(model)
    if not hasattr(model, "astream"):
        raise TypeError(f'a model is "PROVIDER:NAME", or a Provider, got {model!r}')
    return model, getattr(model, "model", "")
