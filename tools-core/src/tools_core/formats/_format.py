"""What every format does, whoever the provider is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping

from tools_core.formats._errors import FormatError
from tools_core.formats._names import legal_names

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    from tools_core._tools._tool import Tool
    from tools_core._values._result import Result
    from tools_core._values._tool_call import ToolCall
    from tools_core.formats._plan import Plan

    Definition: TypeAlias = dict[str, Any]
    # A call as the provider wrote it: its id, the name on the wire, and the arguments, parsed or JSON text.
    WireCall: TypeAlias = tuple[str | None, str, Mapping[str, Any] | str | None]
    # A call that was answered: the name on the wire is the second.
    Answer: TypeAlias = tuple[ToolCall, str, Result]


class Format(ABC):
    """One provider's shape of definitions, calls and results, as plain dicts that go into its requests.

    Nothing that is given is changed, and no definition that comes back shares a part with one. The same definitions
    belong to all three methods: they decide the names on the wire.
    """

    __slots__ = ("name",)

    # Whether `_define` makes every schema anew; else it may use the parts of a copy.
    _rewrites = False

    def __init__(self, name: str) -> None:
        self.name = name

    def definitions(self, definitions: Iterable[Mapping[str, Any] | Tool]) -> list[dict[str, Any]]:
        """What goes into the request's `tools`.

        Raises: FormatError for a definition that the format cannot carry.
        """
        given = self._read(definitions)
        names = self._names(given)
        if not self._rewrites:
            given = copied(given)
        return [self._define(definition, names[definition["name"]]) for definition in given]

    def calls(self, response: Any, definitions: Iterable[Mapping[str, Any] | Tool] = ()) -> list[ToolCall]:
        """The calls in a provider's answer: the response, its message, or the list of its items, as dicts.

        With `definitions` the names are the tools' own again, and so are arguments that the format writes in another
        way. Arguments that are no valid JSON stay as they are, for the tool to refuse.
        """
        from tools_core._values._tool_call import ToolCall  # who only defines needs none

        given = self._read(definitions)
        names = self._names(given)
        originals = {names[definition["name"]]: definition for definition in given}
        made: list[ToolCall] = []
        for id_, name, arguments in self._calls(response):
            definition = originals.get(name)
            if definition is None:  # a name that the model made up: no tool has it, and that is for the registry to say
                made.append(ToolCall(id_, name, arguments))
            else:
                plan = self._plan(definition)
                made.append(ToolCall(id_, definition["name"], plan.undo_call(arguments) if plan else arguments))
        return made

    def results(
        self, answers: Iterable[tuple[ToolCall, Result]], definitions: Iterable[Mapping[str, Any] | Tool] = ()
    ) -> list[dict[str, Any]]:
        """What goes into the conversation after the calls, in their order.

        What the provider cannot carry, such as a sound, is described in text.
        """
        answered = list(answers)
        given = self._read(definitions)
        names = self._names([*given, *({"name": call.name} for call, _ in answered)], is_set=False)
        return self._results([(call, names[call.name], result) for call, result in answered])

    @abstractmethod
    def _define(self, definition: Definition, name: str) -> dict[str, Any]:
        """Write a definition."""

    def _plan(self, definition: Definition) -> Plan | None:  # noqa: ARG002  (for the formats that rewrite schemas)
        """How to undo what `_define` did to the arguments; None when there is nothing to undo."""
        return None

    @abstractmethod
    def _calls(self, response: Any) -> Iterable[WireCall]:
        """Find the calls."""

    @abstractmethod
    def _results(self, answers: list[Answer]) -> list[dict[str, Any]]:
        """Write the results."""

    def _read(self, definitions: Iterable[Mapping[str, Any] | Tool]) -> list[Definition]:
        return [
            item if type(item) is dict and type(item.get("name")) is str else self._one(item) for item in definitions
        ]

    def _one(self, item: Any) -> Any:
        definition = item if isinstance(item, Mapping) else getattr(item, "definition", None)
        if not isinstance(definition, Mapping):
            raise TypeError(
                f"definitions are tools, or dicts with name, description and input_schema; got {item!r:.80} "
                f"(of a registry: registry.definitions())"
            )
        if not isinstance(definition.get("name"), str):
            raise TypeError(f"a definition needs a name, a string; got {', '.join(map(str, definition)) or 'nothing'}")
        return definition

    def _names(self, given: list[Definition], *, is_set: bool = True) -> dict[str, str]:
        names = [definition["name"] for definition in given]
        made = legal_names(names, self.name)
        if is_set and len(made) < len(names):
            twice = next(name for number, name in enumerate(names) if name in names[:number])
            raise FormatError(
                "two definitions have this name, and a provider takes one; rename one (registry.rename or prefix)",
                tool=twice,
                format=self.name,
            )
        return made

    def __repr__(self) -> str:
        return f"<Format {self.name}>"


def copied(definitions: list[Definition]) -> list[Definition]:
    """A deep copy, as ordinary dicts and lists."""
    import marshal  # built in; the fastest copy of plain JSON data

    try:
        made: list[Definition] = marshal.loads(marshal.dumps(definitions))  # noqa: S302  (packed by ourselves)
    except ValueError:  # frozen dicts, and mappings that are no dicts
        made = _plain(definitions)
    return made


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def schema_of(definition: Definition) -> Any:
    """The input schema; that of a tool without arguments when there is none."""
    schema = definition.get("input_schema")
    return {"type": "object", "properties": {}} if schema is None else schema


def items_of(response: Any, *keys: str) -> list[Any]:
    """The list that `response` is, or has under the first of `keys` that it knows; each item is a mapping.

    Raises: TypeError for what is neither.
    """
    found = response
    if isinstance(response, Mapping):
        found = next((response[key] for key in keys if response.get(key) is not None), None)
        if found is None:
            return [] if any(key in response for key in keys) else [response]
    if isinstance(found, str):  # a message of text alone
        return []
    if not isinstance(found, list | tuple) or not all(isinstance(item, Mapping) for item in found):
        raise TypeError(f"a response is a dict, or a list of dicts, as model_dump() gives it; got {response!r:.80}")
    return list(found)
