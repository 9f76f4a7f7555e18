"""`Output`: replies that have to fit a type."""

from __future__ import annotations

import re
from typing import Any

from pydantic import TypeAdapter, ValidationError

_FENCE = re.compile(r"\s*```(?:json)?\s*\n(.*?)\n\s*```\s*", re.DOTALL)


class Output:
    """The type of an agent's replies: a pydantic model, or any other type that pydantic validates."""

    def __init__(self, kind: Any) -> None:
        self._adapter: TypeAdapter[Any] = TypeAdapter(kind)
        self.schema = self._adapter.json_schema()

    def read(self, text: str) -> tuple[Any, str | None]:
        """Return the value that a reply's JSON stands for, and None; or None, and why it does not fit."""
        fenced = _FENCE.fullmatch(text)
        try:
            return self._adapter.validate_json(fenced[1] if fenced else text), None
        except ValidationError as error:
            problems = [f"{'.'.join(map(str, each['loc'])) or 'reply'}: {each['msg']}" for each in error.errors()]
            return None, "; ".join(problems)

    def dump(self, value: Any) -> Any:
        """Return a value as JSON."""
        return self._adapter.dump_python(value, mode="json")
