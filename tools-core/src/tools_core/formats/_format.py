"""`Format`, the base of all formats, and what providers accept: names, text and the root of a schema."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from functools import partial
from hashlib import sha256
from typing import Any, ClassVar, NoReturn, TypeAlias

from tools_core._tools._tool import Tool
from tools_core._values._content import Block
from tools_core._values._problem import show
from tools_core._values._result import Result
from tools_core._values._tool_call import ToolCall
from tools_core.formats._complete import completed
from tools_core.formats._stream import AnswerError, Stream, data, failure_of
from tools_core.formats._strict import without_absent
from tools_core.text import is_blank, sendable

Definition: TypeAlias = dict[str, Any]
Tools: TypeAlias = Iterable[Mapping[str, Any] | Tool]
# A call as the provider wrote it: its id, the name on the wire, and the arguments, parsed or JSON text.
WireCall: TypeAlias = tuple[str | None, str, Mapping[str, Any] | str | None]
# A call, its name on the wire, and its result.
Answer: TypeAlias = tuple[ToolCall, str, Result]

# OpenAI and Anthropic reject a request if a schema has one of these at its root.
_REJECTED = ("$ref", "allOf", "anyOf", "enum", "not", "oneOf")
_MAX_NAME = 64  # some providers accept up to 128 characters; all accept these
_PUNCTUATION = {"gemini": "_.:-", "mcp": "_.-"}


class FormatError(ValueError):
    """Definitions that a format cannot represent."""


class Format(ABC):
    """A provider's shape of definitions, calls and results, as plain dicts for its requests.

    Pass the same tools to all methods: together they determine the names on the wire. Arguments are neither changed
    nor shared.
    """

    answer: ClassVar[str]  # the input of `calls`, and below that of a stream, for the messages of TypeErrors
    chunk: ClassVar[str] = ""
    has_examples: ClassVar[bool] = False  # whether the provider has a field for them

    def __init__(self, name: str, *, strict: bool = False) -> None:
        self.name = name
        self.strict = strict

    def definitions(self, tools: Tools) -> list[dict[str, Any]]:
        """Return the tools for a request.

        `examples` become `input_examples` for Anthropic and part of the description for other providers. A strict
        format sends a tool whose schema cannot be strict unchanged, with `strict: false`.

        Raises:
            FormatError: Two tools have the same name.
        """
        definitions = plain_json([_definition(tool) for tool in tools])
        for definition in definitions if not self.has_examples else ():
            definition["description"] = _with_examples(definition)
        names = [definition["name"] for definition in definitions]
        wire = legal_names(names, self.name)
        if len(wire) < len(names):
            repeated = next(name for name in names if names.count(name) > 1)
            raise FormatError(f"{self.name}: two definitions have the name `{repeated}`; rename one")
        return self._define([(wire[definition["name"]], definition) for definition in definitions])

    def calls(self, response: Any, tools: Tools = ()) -> list[ToolCall]:
        """Return the calls in a provider's answer: the response, its message, or the list of its items.

        With `tools`, calls have the tools' own names, and arguments that match their schemas. Invalid JSON is passed
        on, so that the tool reports it.

        Raises:
            TypeError: An item is not part of an answer.
            AnswerError: The provider reports a failure, or the answer was cut off in a call.
        """
        response = data(response)
        if (failure := failure_of(response)) is not None:
            raise AnswerError(failure)
        return self._restore_calls(self._read(response), tools)

    def stream(self, tools: Tools = ()) -> Stream:
        """Return the assembler of one streamed answer."""
        if not self.chunk:
            raise TypeError(f"{self.name} cannot stream calls")
        return Stream(self._read_chunk, partial(self._restore_calls, tools=list(tools)))

    def results(self, answers: Iterable[tuple[ToolCall, Result]], tools: Tools = ()) -> list[dict[str, Any]]:
        """Return the messages that follow the calls, in their order.

        Content that the provider does not support, such as audio, is described in text.
        """
        pairs = list(answers)
        names = legal_names([*map(_name, tools), *(call.name for call, _ in pairs)], self.name)
        return self._results([(call, names[call.name], result) for call, result in pairs])

    def reply(self, text: str, calls: Iterable[ToolCall] = (), tools: Tools = ()) -> list[dict[str, Any]]:
        """Return a model's answer, also another provider's, as messages of a later request: the inverse of `calls`.

        Blank text is removed, and arguments that are not a JSON object are replaced, since providers reject them.
        `results` has the same ids.
        """
        if not self.chunk:
            raise TypeError(f"{self.name} has no messages of a model")
        items = list(calls)
        names = legal_names([*map(_name, tools), *(call.name for call in items)], self.name)
        return self._reply("" if is_blank(text) else sendable(text), [(call, names[call.name]) for call in items])

    def content(self, parts: Iterable[str | Block]) -> list[dict[str, Any]]:
        """Return texts and files as content of a user's message; unsupported files are described."""
        return [self._part(sendable(part) if isinstance(part, str) else part) for part in parts]

    def _restore_calls(self, calls: Iterable[WireCall], tools: Tools) -> list[ToolCall]:
        """Restore the tools' own names and arguments; unknown names are unchanged."""
        by_name = {_name(tool): tool for tool in tools}
        names = {wire: name for name, wire in legal_names(by_name, self.name).items()}
        restored = [ToolCall(id_, names.get(name, name), _arguments(value)) for id_, name, value in calls]
        return [
            self._restore(call, _definition(by_name[call.name])) if call.name in by_name else call for call in restored
        ]

    @abstractmethod
    def _define(self, definitions: list[tuple[str, Definition]]) -> list[dict[str, Any]]:
        """Convert definitions, each with its name on the wire."""

    @abstractmethod
    def _read(self, response: Any) -> Iterable[WireCall]:
        """Return the calls in an answer."""

    def _reply(self, text: str, calls: list[tuple[ToolCall, str]]) -> list[dict[str, Any]]:
        """Convert an answer whose text is not blank; calls have their names on the wire."""
        raise NotImplementedError

    @abstractmethod
    def _results(self, answers: list[Answer]) -> list[dict[str, Any]]:
        """Convert results."""

    @abstractmethod
    def _part(self, part: str | Block) -> dict[str, Any]:
        """Convert one part of a message."""

    def _read_chunk(self, stream: Stream, chunk: Any) -> None:
        """Read one chunk of a streamed answer into `stream`."""
        raise NotImplementedError

    def _restore(self, call: ToolCall, definition: Mapping[str, Any]) -> ToolCall:
        """Reverse the changes of `_define` to the arguments."""
        return without_absent(call, definition.get("input_schema")) if self.strict else call

    def _items(self, items: Any) -> list[Any]:
        """Return the items of a list as dicts; TypeError for anything else."""
        if not isinstance(items, list | tuple):
            self._reject(items)
        dicts = [data(item) for item in items]
        return [item if isinstance(item, Mapping) else self._reject(item) for item in dicts]

    def _reject(self, value: Any, expected: str = "") -> NoReturn:
        """Raise the TypeError for a value that is not part of an answer."""
        hint = f"; pass the chunks of a stream to formats.{self.name.replace('-', '_')}.stream()" if self.chunk else ""
        raise TypeError(f"{self.name}: got {show(value)}; expected {expected or self.answer + hint}")

    def __repr__(self) -> str:
        return f"<Format {self.name}>"


def legal_names(names: Iterable[str], format: str) -> dict[str, str]:  # noqa: A002  (the field's word)
    """Map each name to a unique one that the provider of `format` accepts, with at most 64 characters.

    A legal name is unchanged. In other names `_` replaces each invalid character; a digest of the name is appended if
    the result is too long, has no letter or digit, or equals another name. The order of names does not matter.
    """
    allowed = f"A-Za-z0-9{_PUNCTUATION.get(format, '_-')}"
    first = "A-Za-z_" if format == "gemini" else allowed
    is_legal = re.compile(f"[{first}][{allowed}]{{0,{_MAX_NAME - 1}}}").fullmatch
    legal = {name: name for name in names}
    replaced = {name: re.sub(f"[^{allowed}]", "_", name) for name in sorted(legal) if not is_legal(name)}
    if not replaced:
        return legal
    texts = [text if re.match(f"[{first}]", text) else f"_{text}" for text in replaced.values()]
    used = legal.keys() - replaced.keys()
    is_unique = [texts.count(text) == 1 and text not in used and is_legal(text) and text.strip("_") for text in texts]
    used |= {text for text, unique in zip(texts, is_unique, strict=True) if unique}
    for name, text, unique in zip(replaced, texts, is_unique, strict=True):
        legal[name] = text if unique else _with_digest(name, text, used)
        used.add(legal[name])
    return legal


def _with_digest(name: str, text: str, used: set[str]) -> str:
    unique = f"{text[: _MAX_NAME - 9]}_{sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
    # A server may name a tool like the rewritten name of another server's tool: try the next digest.
    return unique if unique not in used else _with_digest(f"{name} ", text, used)


def parameters(definition: Definition) -> tuple[dict[str, Any], str]:
    """Return the input schema with a root that providers accept, and the description.

    The description has the removed keywords, such as a union of all arguments; the tool itself validates them.
    """
    description: str = definition.get("description") or ""
    schema = definition.get("input_schema") or {"properties": {}}
    removed = {key: schema[key] for key in _REJECTED if key in schema}
    accepted_keys = {key: schema[key] for key in schema if key not in (*removed, "type", "$schema")}
    accepted = completed({"type": "object", "properties": {}} | accepted_keys)
    if removed:
        accepted = {"additionalProperties": True} | accepted  # the removed part may name further arguments
        description = f"{description}\n\nThe arguments must match the JSON Schema {_compact(removed)}".lstrip()
    return accepted, description


def _with_examples(definition: Definition) -> str:
    """Return the description, followed by the examples as JSON, one per line."""
    description: str = definition.get("description") or ""
    lines = [_compact(example) for example in definition.get("examples") or ()]
    return "\n".join([*([description, ""] if description else []), "Examples:", *lines]) if lines else description


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def plain_json(value: Any) -> Any:
    """Return a copy of JSON data that UTF-8 can encode: dicts and lists, with U+FFFD for lone surrogates."""
    return json.loads(sendable(json.dumps(value, ensure_ascii=False, default=dict)))


def _arguments(value: Any) -> Mapping[str, Any] | str | None:
    """Return arguments that a call can have: a list or a number as text, so that the tool refuses it."""
    return value if value is None or isinstance(value, Mapping | str) else json.dumps(value)


def _name(tool: Any) -> str:
    name = getattr(tool, "name", None)
    return name if isinstance(name, str) else _definition(tool)["name"]


def _definition(tool: Any) -> Mapping[str, Any]:
    definition = tool if isinstance(tool, Mapping) else getattr(tool, "definition", None)
    if not isinstance(definition, Mapping) or not isinstance(definition.get("name"), str):
        raise TypeError(
            f"expected Tool objects, or definitions with a name; got {show(tool)}; see registry.definitions()"
        )
    return definition
