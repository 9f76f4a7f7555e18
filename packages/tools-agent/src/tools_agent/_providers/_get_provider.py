"""`get_provider`: a provider by its name."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import NamedTuple

from tools_agent._providers._anthropic import AnthropicProvider
from tools_agent._providers._gemini import GeminiProvider
from tools_agent._providers._openai_chat import OpenAIProvider
from tools_agent._providers._openai_responses import OpenAIResponsesProvider
from tools_agent._providers._provider import ProviderError
from tools_agent._providers._sdk_provider import SDKProvider


class _Entry(NamedTuple):
    provider: type[SDKProvider]
    sdk: str
    extra: str
    keys: tuple[str, ...]  # environment variables, one of which is needed
    base_url: str | None = None  # of a server that is compatible with OpenAI's


_OPENAI = ("OPENAI_API_KEY", "OPENAI_BASE_URL")
_PROVIDERS = {
    "openai": _Entry(OpenAIProvider, "openai", "openai", _OPENAI),
    "openai-responses": _Entry(OpenAIResponsesProvider, "openai", "openai", _OPENAI),
    "anthropic": _Entry(AnthropicProvider, "anthropic", "anthropic", ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")),
    "gemini": _Entry(GeminiProvider, "google.genai", "gemini", ("GEMINI_API_KEY", "GOOGLE_API_KEY")),
    "ollama": _Entry(OpenAIProvider, "openai", "openai", (), "http://localhost:11434/v1"),
    "openrouter": _Entry(OpenAIProvider, "openai", "openai", ("OPENROUTER_API_KEY",), "https://openrouter.ai/api/v1"),
}


def get_provider(model: str) -> tuple[SDKProvider, str]:
    """Return the provider and the name of the model of `"anthropic:claude-sonnet-5-5"`.

    Providers are `openai` (Chat Completions, also of the compatible server at `OPENAI_BASE_URL`), `openai-responses`,
    `anthropic`, `gemini`, `ollama` (on this machine) and `openrouter`. Raises ProviderError for another name, an SDK
    that is not installed, or a missing key.
    """
    name, _, rest = model.partition(":")
    if name not in _PROVIDERS or not rest:
        names = ", ".join(_PROVIDERS)
        raise ProviderError(f"expected a model such as openai:gpt-5, got {model!r}; the providers are {names}")
    entry = _PROVIDERS[name]
    if not _is_installed(entry.sdk):
        raise ProviderError(f"{name}: the SDK is not installed; pip install 'tools-agent[{entry.extra}]'")
    if entry.keys and not any(os.environ.get(key) for key in entry.keys):
        raise ProviderError(f"{name}: no API key; set the environment variable {entry.keys[0]}")
    if entry.base_url is None:
        return entry.provider(), rest
    api_key = os.environ[entry.keys[0]] if entry.keys else "none"  # never the key of OpenAI
    return entry.provider(api_key=api_key, base_url=entry.base_url), rest


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # the package that it is in
        return False
