"""`GeminiProvider`: Gemini's generateContent."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Awaitable, Iterator, Mapping
from functools import cached_property
from typing import Any, ClassVar

from tools_agent._events import Delta, ReasoningDelta
from tools_agent._messages import Assistant, Usage
from tools_agent._providers._encoding import alternating, argument_object, argument_text, instruction, with_settings
from tools_agent._providers._provider import Request
from tools_agent._providers._reply import Reply
from tools_agent._providers._sdk_provider import SDKProvider
from tools_core import ToolCall
from tools_core.formats import Format, gemini

_SETTINGS = {
    "max_tokens": "max_output_tokens", "stop": "stop_sequences", "reasoning_effort": "thinking_config.thinking_level",
}  # fmt: skip
_FILTERED = (
    "BLOCKLIST", "IMAGE_SAFETY", "JAILBREAK", "MODEL_ARMOR", "PROHIBITED_CONTENT", "RECITATION", "SAFETY", "SPII",
)  # fmt: skip


def _parts(message: Assistant, names: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return a reply as parts of a content."""
    parts: list[dict[str, Any]] = [{"text": message.content}] if message.content else []
    for call in message.tool_calls:
        id_ = {"id": call.id} if call.id else {}
        parts.append({"functionCall": id_ | {"name": names.get(call.name, call.name), "args": argument_object(call)}})
    return parts


class _Reply(Reply):
    stops: ClassVar = {"STOP": "stop", "MAX_TOKENS": "length"} | dict.fromkeys(_FILTERED, "content_filter")

    def __init__(self, provider: str, wire: Format, request: Request) -> None:
        super().__init__(provider, wire, request)
        self._parts: list[dict[str, Any]] = []

    def dumped(self, chunk: Any) -> dict[str, Any]:
        dumped: dict[str, Any] = chunk.model_dump(mode="json", by_alias=True, exclude_none=True, warnings=False)
        dumped.pop("sdkHttpResponse", None)
        return dumped

    def read(self, chunk: dict[str, Any]) -> Iterator[Delta]:
        if usage := chunk.get("usageMetadata"):
            self.usage = Usage(
                input_tokens=usage.get("promptTokenCount", 0) + usage.get("toolUsePromptTokenCount", 0),
                output_tokens=usage.get("candidatesTokenCount", 0) + usage.get("thoughtsTokenCount", 0),
                cache_read_tokens=usage.get("cachedContentTokenCount", 0),
            )
        if chunk.get("promptFeedback", {}).get("blockReason"):
            self.stop = "SAFETY"
        for candidate in chunk.get("candidates", ())[:1]:
            for part in candidate.get("content", {}).get("parts", ()):
                yield from self._read_part(part)
            self.stop = candidate.get("finishReason", self.stop)

    def _read_part(self, part: dict[str, Any]) -> Iterator[Delta]:
        text = part.get("text", "")
        if call := part.get("functionCall"):
            arguments = argument_text(ToolCall(None, call["name"], call.get("args")))
            yield self.call_delta(len(self._parts), call.get("id"), call["name"], arguments)
        elif part.get("thought"):
            yield ReasoningDelta(text)
        else:
            yield from self.text(text)
        last = self._parts[-1] if self._parts else {}
        if part.keys() == last.keys() <= {"text", "thought"}:
            last["text"] += text
        else:
            self._parts.append(part)

    def items(self, message: Assistant) -> list[dict[str, Any]]:
        calls = [part["functionCall"] for part in self._parts if "functionCall" in part]
        for call, named_call in zip(calls, message.tool_calls, strict=True):
            call["id"] = named_call.id  # the API may have sent none
        parts = [part for part in self._parts if part != {"text": ""}]
        return [] if parts == _parts(message, self.names) else parts


class GeminiProvider(SDKProvider):
    """Gemini's generateContent.

    `api_version` is the version in the path, such as `"v1beta"`; other arguments: see `OpenAIProvider`.
    """

    name = extra = "gemini"
    sdk = "google.genai"
    formats = (gemini, gemini)
    reply = _Reply

    def __init__(self, model: str = "", *, api_version: str | None = None, **options: Any) -> None:
        super().__init__(model, **options)
        self._http: dict[str, Any] = {} if api_version is None else {"api_version": api_version}
        if "base_url" in self._options:
            self._http["base_url"] = self._options.pop("base_url")

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return ssl.create_default_context()  # takes longer than the rest of a client

    def _create_client(self, sdk: Any, *, is_async: bool) -> Any:
        tls = {"client_args": {"verify": self._tls}, "async_client_args": {"verify": self._tls}}
        client = sdk.Client(**self._options, http_options=self._http | tls)
        return client.aio if is_async else client

    async def _loop_client(self) -> Any:
        """Return a new client for each stream: the SDK does not close the connection of a half-read stream."""
        return self._async_client or self._new_client(is_async=True)

    def _without_retries(self, client: Any) -> Any:
        return client  # retries only if its options request it

    def _send(self, client: Any, arguments: dict[str, Any]) -> Any:
        chunks = client.models.generate_content_stream(**arguments)
        is_shared = client in (self._client, self._created_client, self._async_client)
        return chunks if is_shared else _closing(client, chunks)

    def _arguments(self, request: Request) -> dict[str, Any]:
        arguments = super()._arguments(request)
        if (timeout := arguments.pop("timeout", None)) is not None:
            arguments["config"]["http_options"] = {"timeout": max(1, round(timeout * 1_000))}
        return arguments

    def _encode(self, request: Request) -> dict[str, Any]:
        system, contents = alternating(request, self.name, self.format, _parts, model="model", key="parts")
        config: dict[str, Any] = {"automatic_function_calling": {"disable": True}}
        if request.tools:
            config["tools"] = [{"function_declarations": self.format.definitions(request.tools)}]
        if request.output_schema is not None and request.tools:
            # Many models refuse a schema beside tools.
            system = f"{system}\n\n{instruction(request.output_schema)}".lstrip()
        elif request.output_schema is not None:
            config |= {"response_mime_type": "application/json", "response_json_schema": dict(request.output_schema)}
        if system:
            config["system_instruction"] = system
        config = with_settings(config, request, self.name, _SETTINGS)
        return {"model": request.model, "contents": contents, "config": config}


async def _closing(client: Any, stream: Awaitable[AsyncIterator[Any]]) -> AsyncIterator[Any]:
    """Return the chunks of a stream, and close the client after them."""

    async def chunks() -> AsyncIterator[Any]:
        try:
            async for chunk in await stream:
                yield chunk
        finally:
            await client.aclose()

    return chunks()
