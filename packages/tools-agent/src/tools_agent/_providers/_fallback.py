"""`FallbackProvider`: other models if one fails."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

from tools_agent._events import Delta, Retrying
from tools_agent._messages import Assistant
from tools_agent._providers._get_provider import get_provider
from tools_agent._providers._provider import Provider, ProviderError, Request


class FallbackProvider:
    """Send requests to the first of several models that answers.

        agent = Agent(model=FallbackProvider("anthropic:claude-sonnet-5-5", "openai:gpt-5"))

    Each model has retried its failed request, by its own `Retry`, before the next one gets it; a `Retrying` event tells
    the consumer of a stream to discard the deltas so far. Sessions move between the models as between any others.

    Args:
        models: Names of models, or providers with their `model`; the first is asked first, for each request.
        when: Returns whether an error leads to the next model; by default every `ProviderError` does.
    """

    name = None

    def __init__(self, *models: str | Provider, when: Callable[[ProviderError], bool] | None = None) -> None:
        if not models:
            raise TypeError("FallbackProvider needs at least one model")
        members = [_member(model) for model in models]
        self.members: tuple[tuple[Provider, str], ...] = tuple(members)
        self.model = members[0][1]
        self._when = when

    def stream(self, request: Request) -> Iterator[Delta | Assistant]:
        """Yield the reply of the first model that answers."""
        failures: list[ProviderError] = []
        for provider, model in self.members:
            try:
                yield from provider.stream(replace(request, model=model))
            except ProviderError as error:
                yield self._next(failures, error)
            else:
                return

    async def astream(self, request: Request) -> AsyncIterator[Delta | Assistant]:
        """`stream` for coroutines."""
        failures: list[ProviderError] = []
        for provider, model in self.members:
            pieces = provider.astream(replace(request, model=model))
            try:
                async for piece in pieces:
                    yield piece
            except ProviderError as error:
                failed = self._next(failures, error)
            else:
                return
            finally:
                if isinstance(pieces, AsyncGenerator):
                    await pieces.aclose()
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

    def _next(self, failures: list[ProviderError], error: ProviderError) -> Retrying:
        """Record an error, and return the event of the next attempt; raises after the last one."""
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
    if not hasattr(model, "stream"):
        raise TypeError(f'a model is "PROVIDER:NAME", or a Provider, got {model!r}')
    return model, getattr(model, "model", "")
