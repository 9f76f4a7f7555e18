"""`OpenAIClient`: what both of OpenAI's APIs need of its SDK."""

from __future__ import annotations

import os
from typing import Any, ClassVar

from tools_agent._providers._retry import Retry
from tools_agent._providers._sdk_provider import SDKProvider, sdk
from tools_core.formats import Format


class OpenAIClient(SDKProvider):
    """A provider over OpenAI's SDK."""

    formats: ClassVar[tuple[Format, Format]]  # the usual one and the strict one

    def __init__(
        self,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        client: Any = None,
        async_client: Any = None,
        retry: Retry | None = None,
        strict: bool = False,
    ) -> None:
        super().__init__(api_key=api_key, base_url=base_url, client=client, async_client=async_client, retry=retry)
        self.format = self.formats[strict]

    def _make_client(self, *, is_async: bool) -> Any:
        openai = sdk("openai", "openai")
        options: dict[str, Any] = dict(self._options)
        if "OPENAI_API_KEY" not in os.environ and (options.get("base_url") or os.environ.get("OPENAI_BASE_URL")):
            options.setdefault("api_key", "none")  # a server of one's own asks for no key, but the SDK does
        return (openai.AsyncOpenAI if is_async else openai.OpenAI)(max_retries=0, **options)
