"""`get_provider`: a provider by its name."""

from __future__ import annotations

import asyncio
import os
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from typing import NamedTuple

from tools_agent._providers._anthropic import AnthropicProvider
from tools_agent._providers._gemini import GeminiProvider
from tools_agent._providers._openai_chat import OpenAIProvider
from tools_agent._providers._openai_responses import OpenAIResponsesProvider
from tools_agent._providers._provider import Provider, ProviderError
from tools_agent._providers._sdk_provider import SDKProvider


class _Entry(NamedTuple):
    provider: type[SDKProvider]
    keys: tuple[str, ...]  # environment variables; one of them must be set
    base_url: str | None = None  # of a server that is compatible with OpenAI's


_PATIENCE = 10  # seconds for a list of models
_OPENAI = ("OPENAI_API_KEY", "OPENAI_BASE_URL")
_PROVIDERS = {
    "openai": _Entry(OpenAIProvider, _OPENAI),
    "openai-responses": _Entry(OpenAIResponsesProvider, _OPENAI),
    "anthropic": _Entry(AnthropicProvider, ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")),
    "gemini": _Entry(GeminiProvider, ("GEMINI_API_KEY", "GOOGLE_API_KEY")),
    "ollama": _Entry(OpenAIProvider, (), "http://localhost:11434/v1"),
    "openrouter": _Entry(OpenAIProvider, ("OPENROUTER_API_KEY",), "https://openrouter.ai/api/v1"),
}


def get_provider(model: str) -> tuple[Provider, str]:
    """Return the provider and the name of the model of `"anthropic:claude-sonnet-5-5"`.

    Providers are `openai` (Chat Completions, also of the compatible server at `OPENAI_BASE_URL`), `openai-responses`,
    `anthropic`, `gemini`, `ollama` (on this machine), `openrouter`, and those of installed packages: an entry point
    of the group `ask_tools.providers` is a function of the model's name that returns a provider. Raises ProviderError
    for another name, an SDK that is not installed, or a missing key.
    """
    name, _, rest = model.partition(":")
    if name not in _PROVIDERS or not rest:
        return _provider_of_a_package(name, rest), rest
    kind, keys, base_url = _PROVIDERS[name]
    if not _is_installed(kind.sdk):
        from tools_core.command import install_command

        raise ProviderError(f"{name}: the SDK is not installed; {install_command('tools-agent', kind.extra)}")
    if keys and not any(os.environ.get(key) for key in keys):
        raise ProviderError(f"{name}: no API key; set the environment variable {keys[0]}")
    if base_url is None:
        return kind(), rest
    return kind(api_key=os.environ[keys[0]] if keys else "none", base_url=base_url), rest  # never the key of OpenAI


async def list_models() -> dict[str, list[str] | ProviderError]:
    """Return the models that each configured provider offers, by its name, or why its server does not answer.

    A provider is configured if its SDK is installed and the environment has its key.
    """

    async def models_of(name: str) -> list[str] | ProviderError:
        await asyncio.to_thread(import_module, _PROVIDERS[name].provider.sdk)  # takes a second
        try:
            async with asyncio.timeout(_PATIENCE):
                provider, _ = get_provider(f"{name}:any")
                return await provider.models() if isinstance(provider, SDKProvider) else []
        except TimeoutError:
            return ProviderError(f"{name}: no answer within {_PATIENCE} s", retryable=True)
        except ProviderError as error:
            text = str(error).removeprefix(f"{_PROVIDERS[name].provider.name}: ")
            return ProviderError(f"{name}: {text}", status=error.status, retryable=error.retryable)

    names = [
        name
        for name, (kind, keys, _) in _PROVIDERS.items()
        if _is_installed(kind.sdk) and (not keys or any(map(os.environ.get, keys)))
        if name != "openai-responses"  # the models of `openai`
    ]
    return dict(zip(names, await asyncio.gather(*map(models_of, names)), strict=True))


def _provider_of_a_package(name: str, model: str) -> Provider:
    """Return the provider that an installed package has under a name."""
    entries = {entry.name: entry for entry in entry_points(group="ask_tools.providers")}
    if name not in entries or not model:
        names = ", ".join([*_PROVIDERS, *entries])
        raise ProviderError(f"expected a model such as openai:gpt-5, got {name}:{model}; the providers are {names}")
    try:
        provider: Provider = entries[name].load()(model)
    except Exception as error:  # the code of another package
        raise ProviderError(f"{name}:{model}: {error}") from error
    return provider


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # for its package
        return False
