"""`Output`: the type of replies."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from pydantic import PydanticUserError, TypeAdapter, ValidationError

_FENCE = re.compile(r"\s*```(?:json)?\s*\n(.*?)\n\s*```\s*", re.DOTALL)


_HINT = "Reply either with text, or with JSON alone that matches this schema: {}"


class Output:
    """The type of an agent's replies: a pydantic model, or any other type that pydantic validates.

    Attributes:
        schema: The JSON Schema of replies; None if any text is a reply.
        hint: What the model has to know in addition, if both JSON and text are replies.
    """

    def __init__(self, kind: Any) -> None:
        try:
            self._adapter: TypeAdapter[Any] = TypeAdapter(kind)
            schema = self._adapter.json_schema()
        except PydanticUserError as error:
            raise TypeError(f"output={getattr(kind, '__name__', kind)}: {error.message}") from error
        self._is_text = _is_text(schema)
        takes_text = self._is_text or any(map(_is_text, schema.get("anyOf", ())))
        self.schema: dict[str, Any] | None = None if takes_text else schema
        self.hint = "" if self._is_text or not takes_text else _HINT.format(json.dumps(schema))

    def read(self, text: str) -> tuple[Any, str | None]:
        """Return the value of a reply and None, or None and the reason why it does not match the type."""
        try:
            if self._is_text:
                return self._adapter.validate_python(text), None
            fenced = _FENCE.fullmatch(text)
            value = self._adapter.validate_json(fenced[1] if fenced else text)
            return (text if self.hint and isinstance(value, str) else value), None
        except ValidationError as error:
            try:  # a text, or a word such as one of a Literal
                return self._adapter.validate_python(text if self.hint else text.strip()), None
            except ValidationError:
                details = error.errors()
            problems = [f"{'.'.join(map(str, detail['loc'])) or 'reply'}: {detail['msg']}" for detail in details]
            return None, "; ".join(problems)

    def dump(self, value: Any) -> Any:
        """Return a value as JSON."""
        return self._adapter.dump_python(value, mode="json")


def _is_text(schema: Mapping[str, Any]) -> bool:
    """Return whether a schema is for text that need not be JSON."""
    return schema.get("type") == "string" and not schema.keys() & {"enum", "const", "format"}
