"""`OpenAIClient`: what both of OpenAI's APIs need of its SDK."""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import urlsplit

from tools_agent._providers._sdk_provider import SDKProvider, sdk


class OpenAIClient(SDKProvider):
    """A provider over OpenAI's SDK."""

    @property
    def _is_openai(self) -> bool:
        """Return whether the server belongs to OpenAI or Azure."""
        client = self._client or self._async_client
        url = str(client.base_url) if client else self._options.get("base_url") or os.environ.get("OPENAI_BASE_URL")
        return url is None or (urlsplit(url).hostname or "").endswith((".openai.com", ".azure.com"))

    def _make_client(self, *, is_async: bool) -> Any:
        openai = sdk("openai", "openai")
        options: dict[str, Any] = dict(self._options)
        if "OPENAI_API_KEY" not in os.environ and (options.get("base_url") or os.environ.get("OPENAI_BASE_URL")):
            options.setdefault("api_key", "none")  # such a server may need no key, but the SDK does
        return (openai.AsyncOpenAI if is_async else openai.OpenAI)(max_retries=0, **options)
