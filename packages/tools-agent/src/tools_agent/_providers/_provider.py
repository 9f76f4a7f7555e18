"""`Provider`: the interface to a model's API, its errors, and the price of a reply."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from tools_agent._events import Delta
from tools_agent._messages import Assistant, Message

JsonObject: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One question to a model.

    `tools` are definitions, as `Registry.definitions()` returns them. `deferred` are definitions that the model sees
    after `search_tools` has found them, if the provider has a method `loads_definitions(model)` that returns true.
    `output_schema` is the JSON Schema that the reply's text must match, None for free text. `settings` have the same
    names for all providers (`max_tokens`, `temperature`, `top_p`, `stop`, `seed`, `reasoning_effort`, `tool_choice`);
    other names are passed on to the SDK's function. `timeout` is in seconds: for the whole of one attempt, and for the
    silence between two pieces of it.
    """

    model: str
    messages: Sequence[Message]
    tools: Sequence[JsonObject] = ()
    deferred: Sequence[JsonObject] = ()
    output_schema: JsonObject | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    timeout: float | None = None

    @property
    def definitions(self) -> Sequence[JsonObject]:
        """All definitions, deferred ones included."""
        return [*self.tools, *self.deferred]


class Provider(Protocol):
    """Sends a request to a model, and yields the pieces of its reply.

    It yields deltas as they arrive, then the whole reply as one `Assistant`, and nothing after it. A caller that stops
    iterating and closes the iterator closes the connection. A failed request is retried, after a `Retrying`, if a retry
    can succeed; otherwise the iterator raises `ProviderError`.

        class Echo:
            model = "echo"

            async def astream(self, request):
                yield Assistant(content=request.messages[-1].content, stop_reason="stop")
    """

    def astream(self, request: Request) -> AsyncIterator[Delta | Assistant]:
        """Yield the reply of a model; usually an asynchronous generator."""
        ...


@asynccontextmanager
async def pieces_of(provider: Provider, request: Request) -> AsyncGenerator[AsyncIterator[Delta | Assistant]]:
    """Send a request, and close the connection at the end of `async with`.

    Raises TypeError for a provider that is not asynchronous.
    """
    pieces = provider.astream(request)
    if not hasattr(pieces, "__anext__"):
        place = f"{type(provider).__name__}.astream"
        raise TypeError(f"{place} is an asynchronous generator (async def with yield), got {type(pieces).__name__}")
    try:
        yield pieces
    finally:
        if isinstance(pieces, AsyncGenerator):
            await pieces.aclose()


class ProviderError(Exception):
    """A model's API did not answer as it should; the message says what happened and what to do.

    `status` is the HTTP status, None without one; `retryable` is true if the same request may succeed later, and
    `retry_after` the seconds to wait, if the provider named them. `is_too_long` is true if the conversation is larger
    than the context window of the model.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        retryable: bool = False,
        retry_after: float | None = None,
        is_too_long: bool = False,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.retryable = retryable
        self.retry_after = retry_after
        self.is_too_long = is_too_long


_WINDOW = 200_000  # tokens
_PRICED = {"anthropic": "anthropic", "gemini": "google", "openai": "openai", "openai-responses": "openai"}


def cost_of(reply: Assistant) -> float:
    """Return the price of a reply in US dollars. Raises ProviderError for a model without a known price."""
    try:
        import genai_prices  # type: ignore[import-not-found, unused-ignore]  # the extra `prices`
    except ModuleNotFoundError as error:
        from tools_core.command import install_command

        fix = install_command("tools-agent", "prices")
        raise ProviderError(f"max_cost needs the prices of models; {fix}") from error
    counts = reply.usage.model_dump(exclude={"is_estimated"}) if reply.usage is not None else {}
    provider = _PRICED.get(reply.provider or "")
    try:
        price = genai_prices.calc_price(genai_prices.Usage(**counts), reply.model or "", provider_id=provider)
    except LookupError as error:
        raise ProviderError(f"no price is known for {reply.model!r}; remove max_cost, or use max_tokens") from error
    return float(price.total_price)


def window_of(provider: Provider, model: str, *, default: int = _WINDOW) -> int:
    """Return the size of a model's context window in tokens; `default` if it is unknown."""
    if members := getattr(provider, "members", None):  # a FallbackProvider
        return min(window_of(*member, default=default) for member in members)
    with suppress(ImportError, LookupError):
        from genai_prices.data_snapshot import get_snapshot  # the extra `prices`

        name = _PRICED.get(getattr(provider, "name", None) or "")
        return get_snapshot().find_provider_model(model, None, name, None)[1].context_window or default
    return default


def check_price(provider: Provider, model: str) -> None:
    """Raise ProviderError if the replies of a model will have no known price."""
    if members := getattr(provider, "members", None):
        for member in members:
            check_price(*member)
        return
    name = getattr(provider, "name", None)
    for candidate in () if name else _PRICED:  # a provider without a name may wrap any other
        with suppress(ProviderError):
            cost_of(Assistant(provider=candidate, model=model))
            return
    cost_of(Assistant(provider=name, model=model))
