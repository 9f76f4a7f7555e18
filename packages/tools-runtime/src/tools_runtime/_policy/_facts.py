"""What is known of a call before it is made: what rules look at, and approvals are bound to."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from tools_core import Tool, ToolCall
from tools_core import tool as make_tool
from tools_runtime._policy._paths import mentions_paths, schema_paths

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools_core import Context

Command = tuple[str | None, ...]  # its words; None for words that are known only when it runs

_MOST_FORMS = 1_000
_forms: dict[tuple[int, bool], _Form] = {}
_SCALARS = frozenset({str, int, float, bool, type(None)})


class _Form(NamedTuple):
    """What is known of the arguments that a schema describes."""

    schema: Mapping[str, Any]  # kept, so that its id stays its own
    reader: Tool
    defaults: Mapping[str, Any]
    untold: frozenset[str]
    has_paths: bool


@dataclass(frozen=True, slots=True)
class Facts:
    """A call as its tool will get it.

    `arguments` are parsed, valid and repaired, as the tool receives them; `paths` and `commands` are empty where the
    tool says nothing of them, and None where they cannot be known. `untold` are the arguments whose values cannot be
    known when they are left out, since the schema states no default. `names` are those of the call and of the tool.
    """

    names: frozenset[str]
    arguments: Mapping[str, Any]
    defaults: Mapping[str, Any]
    untold: frozenset[str]
    annotations: Mapping[str, bool]
    requires_approval: bool
    paths: Sequence[str] | None
    commands: Sequence[Command] | None
    workspace: str

    @property
    def hints(self) -> list[str]:
        """What the tool says of this very call, in words: `read_only`, `not destructive`."""
        return [name if value else f"not {name}" for name, value in self.annotations.items()]

    def argument(self, name: str) -> Any:
        """The value of an argument, or the default that the schema states; KeyError without either."""
        return self.arguments[name] if name in self.arguments else self.defaults[name]


def own_copy(call: ToolCall) -> ToolCall:
    """The call with arguments that nobody else can change meanwhile."""
    if call.raw is not None:
        return call
    arguments = call.arguments
    if any(type(value) not in _SCALARS for value in arguments.values()):
        arguments = deepcopy(arguments)
    return ToolCall(call.id, call.name, arguments)


def facts_of(call: ToolCall, tool: Tool, context: Context | None, workspace: str) -> Facts:
    """Find out what a call comes to; InvalidArguments where its tool would refuse it."""
    form = _form_of(tool)
    arguments = received(call, tool)
    resources = tool.resources_for(arguments, context)
    paths = commands = None
    if resources is not None:
        commands = _commands(resources.get("commands", ()))
        if "paths" in resources:
            paths = _paths(resources["paths"])
        else:
            paths = schema_paths(tool.input_schema, arguments, workspace) if form.has_paths else ()
    return Facts(
        names=frozenset((call.name.rpartition(":")[2], tool.name)),
        arguments=arguments,
        defaults=form.defaults,
        untold=form.untold,
        annotations=dict(tool.annotations_for(arguments)),
        requires_approval=tool.requires_approval,
        paths=paths,
        commands=commands,
        workspace=workspace,
    )


def received(call: ToolCall, tool: Tool) -> Mapping[str, Any]:
    """The arguments as the tool gets them, by the very code that its own call goes through; InvalidArguments."""
    return _form_of(tool).reader.invoke(call.given) if is_read_by_core(tool) else call.arguments


def is_read_by_core(tool: Tool) -> bool:
    """Whether the tool takes its arguments as every tool does, so that what is invalid for us is so for it."""
    kind = type(tool)
    return kind.call is Tool.call and kind.acall is Tool.acall and kind.invoke is Tool.invoke


def _form_of(tool: Tool) -> _Form:
    schema, strict = tool.input_schema, tool.strict
    form = _forms.get((id(schema), strict))
    if form is None:
        if len(_forms) >= _MOST_FORMS:
            _forms.clear()
        properties = schema.get("properties", {})
        defaults = {
            name: each["default"]
            for name, each in properties.items()
            if isinstance(each, Mapping) and "default" in each
        }
        untold = frozenset(properties.keys() - defaults.keys() - set(schema.get("required", ())))
        reader = make_tool(_returned, name="reader", input_schema=schema, strict=strict)
        form = _forms[id(schema), strict] = _Form(schema, reader, defaults, untold, mentions_paths(schema))
    return form


def _paths(told: Any) -> Sequence[str]:
    """What a tool says that it would touch: a tool that is mistaken about the form fails its call."""
    for path in told:
        if not isinstance(path, str) or not path.startswith("/"):
            raise TypeError(f"resources_for gives absolute paths as text, not {path!r}")
    return tuple(told)


def _commands(told: Any) -> Sequence[Command]:
    for words in told:
        if isinstance(words, str) or not words or not all(isinstance(word, str | None) for word in words):
            raise TypeError(f"resources_for gives each command as a list of words, not {words!r}")
    return tuple(tuple(words) for words in told)


def _returned(**arguments: Any) -> Mapping[str, Any]:
    return arguments
