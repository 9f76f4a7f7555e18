"""The settings of a request, under the names that each API has for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tools_agent._providers._provider import ProviderError, Request


def with_settings(
    arguments: Mapping[str, Any], request: Request, provider: str, names: Mapping[str, str | None]
) -> dict[str, Any]:
    """Return the arguments of an SDK's function with the request's settings.

    `names` maps our names to the names of the API: `reasoning.effort` is a member, None a setting that the API lacks.
    Other settings are passed on unchanged.
    """
    merged = dict(arguments)
    for name, setting in request.settings.items():
        target = names.get(name, name)
        if target is None:
            raise ProviderError(f"{provider}: the API has no setting {name!r}; remove it from `settings`")
        key, _, member = target.partition(".")
        value = [setting] if key == "stop_sequences" and isinstance(setting, str) else setting
        value = {member: value} if member else value
        if isinstance(value, Mapping) and isinstance(merged.get(key), Mapping):
            value = {**merged[key], **value}
        merged[key] = value
    return merged
