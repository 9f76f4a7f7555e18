"""`GeminiProvider`: Gemini's generateContent."""

from __future__ import annotations

import re
import ssl
from base64 import b64encode
from collections.abc import AsyncIterator, Iterator
from functools import cached_property
from typing import Unpack

from pydantic import BaseModel

from tools_agent._events import Delta, ReasoningDelta
from tools_agent._messages import Assistant, Usage
from tools_agent._providers._attempts import Chunks
from tools_agent._providers._encoding import (
    alternating,
    instructions_of,
    tool_choice,
    with_settings,
)
from tools_agent._providers._history import with_own_parts
from tools_agent._providers._provider import JsonObject, Request
from tools_agent._providers._reply import Api, Reply, count
from tools_agent._providers._sdk_provider import Client, Sdk, SDKOptions, SDKProvider
from tools_core.formats import gemini
from tools_core.text import is_blank

_SETTINGS = {
    "max_tokens": "max_output_tokens", "stop": "stop_sequences", "reasoning_effort": "thinking_config.thinking_level",
    "tool_choice": "tool_config",
}  # fmt: skip
_EARLIER = re.compile(r"gemini-[12]\b|gemma")  # models that require no signatures, and read no files inside of results
_SIGNATURE = b64encode(b"skip_thought_signature_validator").decode()


def _own(reply: Assistant, parts: list[JsonObject]) -> list[JsonObject]:
    """Return a reply with the parts that the API has sent, such as signatures."""
    return with_own_parts(
        reply.items,
        parts,
        is_call=lambda part: "functionCall" in part,
        is_empty=lambda part: part.keys() <= {"text", "thought"} and is_blank(part.get("text", "")),
        is_thought=lambda part: bool(part.get("thought")),
    )


def _sign(contents: list[JsonObject]) -> None:
    """Sign the first call of replies of other models as Google documents it: the API rejects calls without."""
    for content in contents:
        calls = [part for part in content["parts"] if "functionCall" in part]
        if calls and not any("thoughtSignature" in part for part in content["parts"]):
            calls[0]["thoughtSignature"] = _SIGNATURE


def _move_files(contents: list[JsonObject]) -> None:
    """Move the pictures and documents of results behind them."""
    for content in contents:
        for response in [part["functionResponse"] for part in content["parts"] if "functionResponse" in part]:
            if files := response.pop("parts", None):
                content["parts"] += [{"text": f"The files in the result of {response['name']}:"}, *files]


class _Reply(Reply):
    def __init__(self, api: Api, request: Request) -> None:
        super().__init__(api, request)
        self._parts: list[JsonObject] = []

    def dumped(self, chunk: BaseModel | JsonObject) -> JsonObject:
        if isinstance(chunk, dict):
            return chunk
        dumped = chunk.model_dump(mode="json", by_alias=True, exclude_none=True, warnings=False)
        dumped.pop("sdkHttpResponse", None)
        return dumped

    def read(self, chunk: JsonObject) -> Iterator[Delta]:
        if usage := chunk.get("usageMetadata"):
            self.usage = Usage(
                input_tokens=count(usage, "promptTokenCount", "toolUsePromptTokenCount"),
                output_tokens=count(usage, "candidatesTokenCount", "thoughtsTokenCount"),
                cache_read_tokens=count(usage, "cachedContentTokenCount"),
            )
        if chunk.get("promptFeedback", {}).get("blockReason"):
            self.stop = "SAFETY"
        for candidate in chunk.get("candidates", ())[:1]:
            for part in candidate.get("content", {}).get("parts", ()):
                yield from self._read_part(part)
            self.stop = candidate.get("finishReason", self.stop)

    def _read_part(self, part: JsonObject) -> Iterator[Delta]:
        if not part:  # of a kind that the SDK does not know
            return
        text = part.get("text", "")
        if part.get("thought"):
            yield ReasoningDelta(text)
        else:
            yield from self.text(text)
        last = self._parts[-1] if self._parts else {}
        if part.keys() == last.keys() <= {"text", "thought"}:
            last["text"] += text
        else:
            self._parts.append(part)

    def items(self) -> list[JsonObject]:
        parts = [part for part in self._parts if part != {"text": ""}]
        is_plain = all(part.keys() in ({"text"}, {"functionCall"}) for part in parts)
        return [] if is_plain and not any("text" in part for part in parts[1:]) else parts


class GeminiProvider(SDKProvider):
    """Gemini's generateContent.

    `api_version` is the version in the path, such as `"v1beta"`; other arguments: see `OpenAIProvider`.
    """

    name = extra = "gemini"
    sdk = "google.genai"
    variable = "GOOGLE_GEMINI_BASE_URL"
    hosts = ("generativelanguage.googleapis.com", ".googleapis.com")
    formats = (gemini, gemini)
    reply = _Reply

    def __init__(self, model: str = "", *, api_version: str | None = None, **options: Unpack[SDKOptions]) -> None:
        super().__init__(model, **options)
        self._http: JsonObject = {} if api_version is None else {"api_version": api_version}
        if "base_url" in self._options:
            self._http["base_url"] = self._options.pop("base_url")

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return ssl.create_default_context()  # takes longer than the rest of a client

    def _create_client(self, sdk: Sdk) -> Client:
        tls = {"verify": self._tls}
        http_options = self._http | {"client_args": tls, "async_client_args": tls}
        return sdk.Client(**self._options, http_options=http_options).aio

    async def _client(self) -> Client:
        """Return a new client for each stream: the SDK does not close the connection of a half-read stream."""
        return self._new_client()

    def _without_retries(self, client: Client) -> Client:
        return client  # retries only if its options request it

    async def _send(self, client: Client, arguments: JsonObject) -> Chunks:
        async def chunks() -> AsyncIterator[BaseModel]:
            try:
                async for chunk in await client.models.generate_content_stream(**arguments):
                    yield chunk
            except Exception as error:
                if getattr(error.__cause__, "doc", None) != "[DONE]":  # with which some gateways end a stream
                    raise
            finally:
                await client.aclose()

        return chunks()

    def arguments(self, request: Request) -> JsonObject:
        """Return the arguments of the SDK's function."""
        arguments = super().arguments(request)
        if (timeout := arguments.pop("timeout", None)) is not None:
            arguments["config"]["http_options"] = {"timeout": max(1, round(timeout * 1_000))}
        return arguments

    def _takes_schema(self, request: Request) -> bool:
        return not request.tools  # many models refuse a schema beside tools

    def _encode(self, request: Request) -> JsonObject:
        history = self._history(request)
        system = instructions_of(history)
        contents = alternating(history, self.format, _own, model="model", key="parts")
        if _EARLIER.search(request.model):
            _move_files(contents)
        else:
            _sign(contents)
        config: JsonObject = {"automatic_function_calling": {"disable": True}}
        if request.tools:
            config["tools"] = [{"function_declarations": self.format.definitions(request.tools)}]
        if choice := tool_choice(request, self.format):
            mode = {"auto": "AUTO", "none": "NONE"}.get(choice.mode, "ANY")
            names = {"allowed_function_names": [choice.name]} if choice.name else {}
            config["tool_config"] = {"function_calling_config": {"mode": mode} | names}
        if request.output_schema is not None:
            config |= {"response_mime_type": "application/json", "response_json_schema": dict(request.output_schema)}
        if system:
            config["system_instruction"] = system
        config = with_settings(config, request, self.name, _SETTINGS)
        return {"model": request.model, "contents": contents, "config": config}
