import sys

import pytest

from tools_agent import ProviderError, get_provider

KEYS = (
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "OPENROUTER_API_KEY",
)


@pytest.fixture(autouse=True)
def _without_keys(monkeypatch):
    for key in KEYS:
        monkeypatch.delenv(key, raising=False)


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("openai", "OPENAI_API_KEY"),
        ("openai-responses", "OPENAI_API_KEY"),
        ("anthropic", "ANTHROPIC_API_KEY"),
        ("gemini", "GEMINI_API_KEY"),
    ],
)
def test_get_provider_needs_the_key_of_the_provider(name, key, monkeypatch):
    with pytest.raises(ProviderError, match=f"^{name}: no API key; set the environment variable {key}$"):
        get_provider(f"{name}:large:latest")
    monkeypatch.setenv(key, "x")
    provider, model = get_provider(f"{name}:large:latest")
    assert (provider.name, model) == (name, "large:latest")


@pytest.mark.parametrize("model", ["gpt-5", "openai:", "mistral:large", ""])
def test_the_error_for_an_unknown_provider_lists_the_providers(model):
    with pytest.raises(ProviderError, match="providers are openai, openai-responses, anthropic, gemini"):
        get_provider(model)


@pytest.mark.parametrize(("name", "module"), [("openai", "openai"), ("gemini", "google.genai")])
def test_the_error_for_a_missing_sdk_says_how_to_install_it(name, module, monkeypatch):
    monkeypatch.delitem(sys.modules, "google.genai", raising=False)  # another test may have imported it
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ProviderError, match=rf"pip install .*{module.partition('.')[0]}"):
        get_provider(f"{name}:m")


def test_compatible_servers_have_names_and_never_receive_the_key_of_openai(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    provider, model = get_provider("ollama:llama3:8b")
    client = provider._new_client()
    assert (model, str(client.base_url), client.api_key) == ("llama3:8b", "http://localhost:11434/v1/", "none")
    with pytest.raises(
        ProviderError, match=r"^openrouter: no API key; set the environment variable OPENROUTER_API_KEY$"
    ):
        get_provider("openrouter:meta/llama")
    monkeypatch.setenv("OPENROUTER_API_KEY", "other")
    client = get_provider("openrouter:meta/llama")[0]._new_client()
    assert (str(client.base_url), client.api_key) == ("https://openrouter.ai/api/v1/", "other")
