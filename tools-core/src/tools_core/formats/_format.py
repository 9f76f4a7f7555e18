"""`Format`, the base of all formats."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeAlias

from tools_core._tools._tool import Tool
from tools_core._values._problem import show
from tools_core._values._result import Result
from tools_core._values._tool_call import ToolCall
from tools_core.formats._names import legal_names
from tools_core.formats._stream import Stream, data
from tools_core.formats._strict import without_absent
from tools_core.text import sendable

if TYPE_CHECKING:
    from tools_core._values._content import Block

Definition: TypeAlias = dict[str, Any]
Tools: TypeAlias = Iterable[Mapping[str, Any] | Tool]
# A call as the provider wrote it: its id, the name on the wire, and the arguments, parsed or JSON text.
WireCall: TypeAlias = tuple[str | None, str, Mapping[str, Any] | str | None]
# A call that was answered, with its name on the wire.
Answer: TypeAlias = tuple[ToolCall, str, Result]

# OpenAI and Anthropic refuse a request when the schema of one tool has one of these at its root.
_REFUSED = ("$ref", "allOf", "anyOf", "enum", "not", "oneOf")


class FormatError(ValueError):
    """Definitions that a format cannot carry."""


class Format(ABC):
    """One provider's shape of definitions, calls and results, as plain dicts that go into its requests.

    Pass the same tools to all methods: together they decide the names on the wire. What is given is neither changed
    nor shared.
    """

    answer: ClassVar[str]  # what `calls` reads, and below what a stream reads: for the messages of TypeErrors
    chunk: ClassVar[str] = ""

    def __init__(self, name: str, *, strict: bool = False) -> None:
        self.name = name
        self.strict = strict

    def definitions(self, tools: Tools) -> list[dict[str, Any]]:
        """Return the tools as a request has them; FormatError for two of one name.

        A strict format sends a tool whose schema cannot be strict as it is, with `strict: false`.
        """
        given = plain([_definition(tool) for tool in tools])
        names = [definition["name"] for definition in given]
        wire = legal_names(names, self.name)
        if len(wire) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise FormatError(f"{self.name}: two definitions have the name `{twice}`; rename one")
        return self._define([(wire[definition["name"]], definition) for definition in given])

    def calls(self, response: Any, tools: Tools = ()) -> list[ToolCall]:
        """Return the calls in a provider's answer: the response, its message, or the list of its items.

        With `tools` their own names come back, and the arguments as their schemas have them. Text that is not valid
        JSON stays as it is, for the tool to refuse. Raises TypeError for an item of any other kind.
        """
        return self._own_calls(self._find(data(response)), tools)

    def stream(self, tools: Tools = ()) -> Stream:
        """Return the assembler of one streamed answer."""
        if not self.chunk:
            raise TypeError(f"{self.name} cannot stream calls")
        return Stream(self._read_chunk, partial(self._own_calls, tools=list(tools)))

    def results(self, answers: Iterable[tuple[ToolCall, Result]], tools: Tools = ()) -> list[dict[str, Any]]:
        """Return what goes into the conversation after the calls, in their order.

        Content that the provider cannot carry, such as sound, is described in text.
        """
        answered = list(answers)
        names = legal_names([*map(_name, tools), *(call.name for call, _ in answered)], self.name)
        return self._results([(call, names[call.name], result) for call, result in answered])

    def content(self, parts: Iterable[str | Block]) -> list[dict[str, Any]]:
        """Return texts and files as a user's message has them; a file that the provider cannot carry is described."""
        return [self._part(sendable(part) if isinstance(part, str) else part) for part in parts]

    def _own_calls(self, found: Iterable[WireCall], tools: Tools) -> list[ToolCall]:
        """Give calls the names and arguments of the tools themselves; a name that the model made up stays."""
        known = {_name(tool): tool for tool in tools}
        own = {wire: name for name, wire in legal_names(known, self.name).items()}
        calls = [ToolCall(id_, own.get(name, name), arguments) for id_, name, arguments in found]
        return [self._own(call, _definition(known[call.name])) if call.name in known else call for call in calls]

    @abstractmethod
    def _define(self, given: list[tuple[str, Definition]]) -> list[dict[str, Any]]:
        """Write definitions, each with its name on the wire."""

    @abstractmethod
    def _find(self, response: Any) -> Iterable[WireCall]:
        """Find the calls in an answer."""

    @abstractmethod
    def _results(self, answers: list[Answer]) -> list[dict[str, Any]]:
        """Write results."""

    @abstractmethod
    def _part(self, part: str | Block) -> dict[str, Any]:
        """Write one part of a message."""

    def _read_chunk(self, stream: Stream, chunk: Any) -> None:
        """Read one chunk of a streamed answer into `stream`."""
        raise NotImplementedError

    def _own(self, call: ToolCall, definition: Mapping[str, Any]) -> ToolCall:
        """Undo what `_define` did to the arguments."""
        return without_absent(call, definition.get("input_schema")) if self.strict else call

    def _items(self, found: Any) -> list[Any]:
        """Return the items of a list as dicts; TypeError for anything else."""
        if not isinstance(found, list | tuple):
            self._refuse(found)
        items = [data(item) for item in found]
        return [item if isinstance(item, Mapping) else self._refuse(item) for item in items]

    def _refuse(self, got: Any, wanted: str = "") -> NoReturn:
        """Raise the TypeError for what is not part of an answer."""
        hint = f"; pass the chunks of a stream to formats.{self.name.replace('-', '_')}.stream()" if self.chunk else ""
        raise TypeError(f"{self.name}: got {show(got)}; expected {wanted or self.answer + hint}")

    def __repr__(self) -> str:
        return f"<Format {self.name}>"


def parameters(definition: Definition) -> tuple[dict[str, Any], str]:
    """Return the input schema with a root that providers accept, and the description.

    The description has what was removed, such as a union of all arguments; the tool itself validates it.
    """
    description: str = definition.get("description") or ""
    schema = definition.get("input_schema") or {"properties": {}}
    refused = {key: schema[key] for key in _REFUSED if key in schema}
    made = {"type": "object"} | {key: schema[key] for key in schema if key not in (*refused, "type", "$schema")}
    if refused:
        made = {"additionalProperties": True} | made  # the removed part may name further arguments
        text = json.dumps(refused, ensure_ascii=False, separators=(",", ":"))
        description = f"{description}\n\nThe arguments must fit the JSON Schema {text}".lstrip()
    return made, description


def plain(value: Any) -> Any:
    """Copy JSON data as dicts and lists; U+FFFD replaces lone surrogates, which UTF-8 cannot carry."""
    return json.loads(sendable(json.dumps(value, ensure_ascii=False, default=dict)))


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
