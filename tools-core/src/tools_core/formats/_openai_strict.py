"""OpenAI's formats with schemas that the provider enforces."""

from __future__ import annotations

from tools_core.formats._chat import Chat
from tools_core.formats._format import Format
from tools_core.formats._responses import Responses
from tools_core.formats._strict import strict_plan, strict_schema

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from typing import Any

    from tools_core.formats._format import Definition
    from tools_core.formats._plan import Plan


class _Strict(Format):
    """Writes the schemas anew, and undoes in the arguments what that changed."""

    __slots__ = ()
    _rewrites = True

    def _function(self, definition: Definition, name: str) -> dict[str, Any]:
        return {
            "name": name,
            "description": definition.get("description") or "",
            "parameters": strict_schema(definition, self.name),
            "strict": True,
        }

    def _plan(self, definition: Definition) -> Plan | None:
        return strict_plan(definition, self.name)


class StrictChat(_Strict, Chat):
    """Chat Completions with enforced schemas."""

    __slots__ = ()

    def _define(self, definition: Definition, name: str) -> dict[str, Any]:
        return {"type": "function", "function": self._function(definition, name)}


class StrictResponses(_Strict, Responses):
    """The Responses API with enforced schemas."""

    __slots__ = ()

    def _define(self, definition: Definition, name: str) -> dict[str, Any]:
        return {"type": "function", **self._function(definition, name)}


openai_strict = StrictChat("openai-strict")
responses_strict = StrictResponses("responses-strict")
