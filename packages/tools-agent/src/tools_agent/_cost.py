"""The price of a reply, from `genai-prices`, which is the extra `prices`."""

from __future__ import annotations

from tools_agent._messages import Assistant
from tools_agent._providers._provider import ProviderError


def cost_of(reply: Assistant) -> float:
    """Return the price of a reply in US dollars. Raises ProviderError for a model without a known price."""
    try:
        import genai_prices  # type: ignore[import-not-found, unused-ignore]  # an extra
    except ModuleNotFoundError as error:
        raise ProviderError("max_cost needs the prices of models; pip install 'tools-agent[prices]'") from error
    usage = reply.usage
    if usage is None:
        return 0.0
    counts = genai_prices.Usage(
        input_tokens=usage.input_tokens, output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens, cache_write_tokens=usage.cache_write_tokens,
    )  # fmt: skip
    try:
        provider = _PROVIDERS.get(reply.provider or "")
        price = genai_prices.calc_price(counts, model_ref=reply.model or "", provider_id=provider)
    except LookupError as error:
        raise ProviderError(f"no price is known for {reply.model!r}; remove max_cost, or use max_tokens") from error
    return float(price.total_price)


_PROVIDERS = {"anthropic": "anthropic", "gemini": "google", "openai": "openai", "openai-responses": "openai"}
