"""OpenAI's Chat Completions, which many other providers speak."""

from __future__ import annotations

from collections.abc import Mapping

from tools_core.formats._format import items_of
from tools_core.formats._media import PDF, PICTURES, base64_of, data_url, described, file_name, parts_of
from tools_core.formats._root import RootedFormat

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from tools_core._values._content import Block
    from tools_core.formats._format import Answer, Definition, WireCall

_SOUNDS = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}


class Chat(RootedFormat):
    """Each call is answered by a message of text; pictures follow in one user message after all of those."""

    __slots__ = ()

    def _define(self, definition: Definition, name: str) -> dict[str, Any]:
        rooted = self._rooted(definition)
        function = {"name": name, "description": rooted.description, "parameters": rooted.schema}
        return {"type": "function", "function": function}

    def _calls(self, response: Any) -> Iterable[WireCall]:
        if isinstance(response, Mapping) and response.get("choices"):
            response = response["choices"][0]["message"]
        for call in items_of(response, "tool_calls"):
            kind = call.get("type") or "function"  # several compatible servers leave it out
            inner = call.get(kind)
            if isinstance(inner, Mapping) and "name" in inner:
                yield call.get("id"), inner["name"], inner.get("arguments", inner.get("input"))

    def _results(self, answers: list[Answer]) -> list[dict[str, Any]]:
        messages: list[dict[str, Any]] = []
        shown: list[dict[str, Any]] = []
        for call, name, result in answers:
            texts: list[str] = []
            for part in parts_of(result):
                content = None if isinstance(part, str) else _part(part)
                if content is None:
                    texts.append(part if isinstance(part, str) else described(part))
                    continue
                label = f"{part.kind} {len(shown) // 2 + 1}" if not isinstance(part, str) else ""
                texts.append(f"[{label}, in the message that follows]")
                shown += [{"type": "text", "text": f"{label}, from {name} ({call.id}):"}, content]
            messages.append({"role": "tool", "tool_call_id": call.id or "", "content": "\n".join(texts)})
        return [*messages, {"role": "user", "content": shown}] if shown else messages


def _part(block: Block) -> dict[str, Any] | None:
    """A block as a user's message carries it; None for one that it cannot."""
    if block.mime_type in PICTURES:
        return {"type": "image_url", "image_url": {"url": data_url(block)}}
    if block.mime_type == PDF:
        return {"type": "file", "file": {"filename": file_name(block), "file_data": data_url(block)}}
    if block.mime_type in _SOUNDS:
        return {"type": "input_audio", "input_audio": {"data": base64_of(block), "format": _SOUNDS[block.mime_type]}}
    return None


openai = Chat("openai")
