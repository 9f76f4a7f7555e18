"""`Output`: the type of replies."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pydantic import PydanticUserError, TypeAdapter, ValidationError
from pydantic_core import from_json

from tools_agent._events import PartialOutput

_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[ \t]*\w*[ \t]*\n?(.*?)(?:^[ \t]*\1|\Z)", re.DOTALL | re.MULTILINE)
_THOUGHTS_END = re.compile(r"</think(?:ing)?>|</thought>|</reasoning>|\[/THINK\]")
_BOX = re.compile(r"<\|begin_of_box\|>(.*?)(?:<\|end_of_box\|>|\Z)", re.DOTALL)
_START = re.compile(r"(?:\A|^[ \t]*(?:`{3,}|~{3,})[ \t]*\w*[ \t]*$)\s*(?=[{\[])", re.MULTILINE)
_DECODER = json.JSONDecoder(strict=False)  # some models do not escape line breaks


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
        """Return the value of a reply and None, or None and the reason why it does not match the type.

        The value is the whole reply as JSON, or else JSON in a fence, after thoughts, or between sentences; of several
        values, the last that matches. A type that also accepts text takes no JSON between sentences.
        """
        problem: ValidationError | None = None
        for candidate in () if self._is_text else _candidates(text, has_prose=not self.hint):
            try:
                value = self._adapter.validate_json(candidate)
            except ValidationError as error:
                problem = problem or error
            else:
                return (text if self.hint and isinstance(value, str) else value), None
        try:  # a text, or a word such as one of a Literal
            return self._adapter.validate_python(text if self._is_text or self.hint else text.strip()), None
        except ValidationError as error:
            details = (problem or error).errors()
        if problem is None and not self._is_text:
            return None, "the reply has no JSON"
        problems = [f"{'.'.join(map(str, detail['loc'])) or 'reply'}: {detail['msg']}" for detail in details]
        return None, "; ".join(problems)

    def read_partial(self, text: str) -> PartialOutput | None:
        """Return the value of the beginning of a reply; None if it has none yet."""
        start = None if self._is_text else _START.search(text)
        if start is None:
            return None
        json_text = text[start.end() :]
        try:
            data = from_json(json_text, allow_partial="trailing-strings")
        except ValueError:  # the reply continues after the value
            return None
        try:
            value = self._adapter.validate_json(json_text, experimental_allow_partial="trailing-strings")
        except ValidationError:
            value = None
        return PartialOutput(data, value)

    def dump(self, value: Any) -> Any:
        """Return a value as JSON."""
        return self._adapter.dump_python(value, mode="json")


def _is_text(schema: Mapping[str, Any]) -> bool:
    """Return whether a schema is for text that need not be JSON."""
    return schema.get("type") == "string" and not schema.keys() & {"enum", "const", "format"}


def _candidates(text: str, *, has_prose: bool) -> Iterator[str]:
    """Yield the texts of a reply that may be its JSON, the most probable first."""
    reply = text[max((match.end() for match in _THOUGHTS_END.finditer(text)), default=0) :]
    for candidate in dict.fromkeys((text, reply)):
        if (value := _decoded(candidate)) is not None:
            yield value
            return
    for pattern, group in ((_BOX, 1), (_FENCE, 2)):
        for match in reversed(list(pattern.finditer(reply))):
            if (value := _decoded(match[group])) is not None:
                yield value
    if has_prose:
        yield from reversed(list(_values_in(reply)))


def _decoded(text: str) -> str | None:
    """Return JSON text without line breaks in strings; None for other text."""
    try:
        json.loads(text)
    except RecursionError:
        return None
    except ValueError:
        return _first_value(text)
    return text


def _first_value(text: str) -> str | None:
    try:
        value, end = _DECODER.raw_decode(text.strip())
    except (RecursionError, ValueError):
        return None
    return json.dumps(value) if end == len(text.strip()) else None


def _values_in(text: str) -> Iterator[str]:
    """Yield the objects and lists in a text; not the parts of one, which may have another meaning."""
    position = 0
    while match := re.compile(r"[{\[]").search(text, position):
        try:
            value, position = _DECODER.raw_decode(text, match.start())
        except (RecursionError, ValueError):
            position = match.start() + 1
        else:
            yield json.dumps(value)


def arguments_of(validator: Callable[..., object], output: object, context: object) -> tuple[object, ...]:
    """Return the arguments of a validator: the output, and the context if it takes a second one."""
    try:
        inspect.signature(validator).bind(output, context)
    except TypeError:
        return (output,)
    return output, context
