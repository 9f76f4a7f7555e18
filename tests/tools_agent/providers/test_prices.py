import sys

import pytest

from tools_agent import Agent, Assistant, ProviderError, ScriptedProvider, Usage
from tools_core import ToolCall, tool

pytest.importorskip("genai_prices")

MILLION = 1_000_000
USAGE = Usage(input_tokens=MILLION, output_tokens=MILLION, cache_read_tokens=400_000)


@tool(read_only=True)
def look() -> str:
    """Look."""
    return "x"


def run(provider, model, max_cost, usage=USAGE):
    reply = Assistant(tool_calls=[ToolCall("c", "look", {})], provider=provider, model=model, usage=usage)
    done = Assistant(content="Done", provider=provider, model=model, usage=Usage())
    return Agent(model=ScriptedProvider(reply, done), tools=[look], max_cost=max_cost).generate("Go")


# Dollars per million tokens of input (0.6 million), of cached input (0.4 million), and of output.
@pytest.mark.parametrize(
    ("provider", "model", "price"),
    [
        ("openai", "gpt-4o-2024-08-06", 0.6 * 2.5 + 0.4 * 1.25 + 10),
        ("openai-responses", "gpt-4o-mini-2024-07-18", 0.6 * 0.15 + 0.4 * 0.075 + 0.6),
        ("anthropic", "claude-3-5-haiku-20241022", 0.6 * 0.8 + 0.4 * 0.08 + 4),
        ("gemini", "gemini-2.0-flash", 0.6 * 0.1 + 0.4 * 0.025 + 0.4),
    ],
)
def test_max_cost_interrupts_a_run_at_the_known_price_of_its_replies(provider, model, price):
    assert run(provider, model, price * 0.999).interrupt_reason == "max_cost"
    assert run(provider, model, price * 1.001).content == "Done"


def test_the_error_for_a_model_without_a_price_names_the_model():
    with pytest.raises(ProviderError, match="no price is known for 'llama3:8b'; remove max_cost, or use max_tokens"):
        run("openai", "llama3:8b", 1.0)


def test_a_named_model_without_a_price_receives_no_request():
    class Local(ScriptedProvider):
        model = "llama3:8b"

    provider = Local("Hello")
    with pytest.raises(ProviderError, match="no price is known for 'llama3:8b'; remove max_cost, or use max_tokens"):
        Agent(model=provider, max_cost=1.0).generate("Go")
    assert provider.calls == []


def test_any_provider_may_have_the_price_of_a_wrapped_model():
    class Wrapper(ScriptedProvider):
        model = "gemma-3"  # only a request to Gemini has a price

    assert Agent(model=Wrapper("Hello"), max_cost=1.0).generate("Go").content == "Hello"


def test_the_error_for_missing_prices_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    with pytest.raises(ProviderError, match=r"pip install .*genai-prices"):
        run("openai", "gpt-4o", 1.0)
