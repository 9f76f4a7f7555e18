"""`Output`: the type of replies."""

from __future__ import annotations

import re
from typing import Any

from pydantic import PydanticUserError, TypeAdapter, ValidationError

_FENCE = re.compile(r"\s*```(?:json)?\s*\n(.*?)\n\s*```\s*", re.DOTALL)


class Output:
    """The type of an agent's replies: a pydantic model, or any other type that pydantic validates."""

    def __init__(self, kind: Any) -> None:
        try:
            self._adapter: TypeAdapter[Any] = TypeAdapter(kind)
            self.schema = self._adapter.json_schema()
        except PydanticUserError as error:
            raise TypeError(f"output={getattr(kind, '__name__', kind)}: {error.message}") from error

    def read(self, text: str) -> tuple[Any, str | None]:
        """Return the value of a reply and None, or None and the reason why it does not match the type."""
        fenced = _FENCE.fullmatch(text)
        try:
            return self._adapter.validate_json(fenced[1] if fenced else text), None
        except ValidationError as error:
            problems = [f"{'.'.join(map(str, detail['loc'])) or 'reply'}: {detail['msg']}" for detail in error.errors()]
            return None, "; ".join(problems)

    def dump(self, value: Any) -> Any:
        """Return a value as JSON."""
        return self._adapter.dump_python(value, mode="json")
