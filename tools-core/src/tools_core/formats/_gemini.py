"""Gemini's generateContent."""

from __future__ import annotations

from collections.abc import Mapping

from tools_core.formats._format import Format, items_of
from tools_core.formats._media import PDF, base64_of, described, plain_parts_of, structured
from tools_core.formats._openapi import gemini_plan, gemini_schema

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from tools_core._tools._tool import Tool
    from tools_core._values._content import Block
    from tools_core._values._result import Result
    from tools_core.formats._format import Answer, Definition, WireCall
    from tools_core.formats._plan import Plan

_CARRIED = frozenset(("image/jpeg", "image/png", "image/webp", PDF, "text/plain"))


class Gemini(Format):
    """`functionCall` parts are answered by one content of `functionResponse` parts."""

    __slots__ = ()
    _rewrites = True

    def tools(self, definitions: Iterable[Mapping[str, Any] | Tool]) -> list[dict[str, Any]]:
        """The declarations as the request's `tools` holds them: in one tool."""
        return [{"functionDeclarations": self.definitions(definitions)}]

    def _define(self, definition: Definition, name: str) -> dict[str, Any]:
        made: dict[str, Any] = {"name": name, "description": definition.get("description") or ""}
        schema = gemini_schema(definition, self.name)
        if schema is not None:
            made["parameters"] = schema
        return made

    def _plan(self, definition: Definition) -> Plan | None:
        return gemini_plan(definition, self.name)

    def _calls(self, response: Any) -> Iterable[WireCall]:
        if isinstance(response, Mapping) and response.get("candidates"):
            response = response["candidates"][0].get("content") or []
        for part in items_of(response, "parts"):
            call = part.get("functionCall") or part.get("function_call")
            if call:
                yield call.get("id"), call["name"], call.get("args")

    def _results(self, answers: list[Answer]) -> list[dict[str, Any]]:
        parts = [{"functionResponse": _response(call.id, name, result)} for call, name, result in answers]
        return [{"role": "user", "parts": parts}] if parts else []


def _response(id_: str | None, name: str, result: Result) -> dict[str, Any]:
    is_structured, value = structured(result)
    texts: list[str] = []
    carried: list[dict[str, Any]] = []
    for part in plain_parts_of(result):
        if isinstance(part, str):
            texts.append(part)
        elif part.mime_type in _CARRIED:
            carried.append(_inline(part))
        else:
            texts.append(described(part))
    key = "error" if not result.ok else "output"
    made: dict[str, Any] = {"name": name, "response": {key: value if is_structured else "\n".join(texts)}}
    return ({"id": id_} if id_ else {}) | made | ({"parts": carried} if carried else {})


def _inline(block: Block) -> dict[str, Any]:
    named = {"displayName": block.name} if block.name else {}
    return {"inlineData": {"mimeType": block.mime_type, "data": base64_of(block)} | named}


gemini = Gemini("gemini")
