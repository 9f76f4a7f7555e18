"""The options that `@tool(...)` and the attributes of `Tool` share: their types and checks."""

from __future__ import annotations

import inspect
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypedDict

from tools_core._definition._parameter import Parameter
from tools_core._values._errors import DefinitionError
from tools_core._values._problem import show
from tools_core.text import closest

NAME_PATTERN = "[A-Za-z_][A-Za-z0-9_-]{0,63}"
HINTS = ("read_only", "destructive", "idempotent", "open_world")
FLAGS = ("requires_approval", "repair", "stateful", "manages_timeout", "deferred")
# Options that the definition is built from. They cannot change afterwards.
SCHEMAS = ("input_schema", "output_schema", "parameters", "examples")

# Words of other frameworks and of the original libraries, each with the option that it means here.
_FOREIGN = {
    **dict.fromkeys(("args_schema", "inputSchema", "parameters_schema", "params_json_schema"), "input_schema"),
    "func": "execute",
    "identifier": "name",
    "params": "parameters",
    "readOnlyHint": "read_only",
    "destructiveHint": "destructive",
    "idempotentHint": "idempotent",
    "openWorldHint": "open_world",
}
# A tool that is meant to need approval must not run without it because of a word.
_is_approval = re.compile(
    r"((needs?|requires?|ask_?for|human|user)_?)?app?rov(al|e)(_?(required|needed|mode))?"
    r"|(needs?|requires?|ask_?for|human|user)_?confirm(ation)?|confirm(ation)?_?(required|needed)",
    re.IGNORECASE,
).fullmatch


class Options(TypedDict, total=False):
    """The options of `@tool(...)`; each has the meaning of the `Tool` attribute with the same name."""

    name: str
    description: str
    desc: str
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any] | None
    parameters: Sequence[Parameter]
    examples: Sequence[Mapping[str, Any]]
    read_only: bool | None
    destructive: bool | None
    idempotent: bool | None
    open_world: bool | None
    timeout: float | None
    requires_approval: bool
    repair: bool
    tags: Sequence[str]
    stateful: bool
    manages_timeout: bool
    deferred: bool
    verify: str | None


OPTIONS = tuple(Options.__annotations__)


def derive_name(class_name: str) -> str:
    """Return `http_server` for `HTTPServerTool`; empty if no letter of the name is ASCII.

    As in the original ask-tools: remove diacritics (NFKD), replace other characters than `[A-Za-z0-9_-]` by `-`, turn
    CamelCase into snake_case, and remove `_tool` at the end.
    """
    name = unicodedata.normalize("NFKD", class_name).encode("ascii", "ignore").decode("ascii")
    name = re.sub("[^A-Za-z0-9_-]", "-", name)
    name = re.sub("([A-Z]+)([A-Z][a-z])", r"\1_\2", name)  # an acronym before a word
    name = re.sub("([a-z0-9])([A-Z])", r"\1_\2", name)
    return name.lower().removesuffix("_tool")


def check_name(name: object, owner: str) -> str:
    """Return `name` if it is a legal tool name for every provider; DefinitionError otherwise."""
    rule = "use 1 to 64 of the letters A-Z and a-z, digits, _ and -, and begin with a letter or _"
    if name == "":
        raise DefinitionError(f'{owner}: cannot derive a tool name; set name = "my_tool" ({rule})')
    if not isinstance(name, str) or not re.fullmatch(NAME_PATTERN, name):
        raise DefinitionError(f"{owner}: invalid tool name {show(name)}; {rule}")
    return name


def right_word(name: str) -> str | None:
    """Return the option for a word of another framework, None for any other name."""
    if name == "requires_approval":
        return None
    return "requires_approval" if _is_approval(name) else _FOREIGN.get(name)


def check_class_attributes(cls: type, owner: str) -> None:
    """Refuse attributes of a tool class with the words of other frameworks, which would have no effect."""
    for name, value in vars(cls).items():
        if (option := right_word(name)) and not is_computed(value) and not inspect.isroutine(value):
            raise DefinitionError(no_option(owner, name, option))


def no_option(owner: str, name: str, option: str) -> str:
    """Return the message for an attribute with the word of another framework."""
    return (
        f"{owner}: a tool has no option {name!r}; did you mean {option!r}? "
        "Give an attribute with another purpose another name"
    )


def check_options(options: Iterable[str], owner: str) -> None:
    """Refuse unknown options of `@tool(...)`."""
    for name in options:
        if name not in OPTIONS:
            option = right_word(name) or next(iter(closest(name, OPTIONS, 1)), None)
            advice = f"did you mean {option!r}?" if option else f"it has {', '.join(OPTIONS)}"
            raise DefinitionError(f"{owner}: @tool has no option {name!r}; {advice}")


def check_option(name: str, value: Any, owner: str) -> None:
    """Refuse a value that an option cannot have."""
    if name == "name":
        check_name(value, owner)
    elif name == "verify" and value is not None:
        check_name(value, f"{owner}: verify")
    elif name in _RULES:
        is_valid, rule = _RULES[name]
        if not is_valid(value):
            raise DefinitionError(f"{owner}: {name} must be {rule}, got {value!r}")


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_limit(value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value is None or (is_number and 0 < value < 1e9)


def _are_tags(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str) and all(isinstance(tag, str) for tag in value)


# Options by name: a test of their values, and its rule as text.
_RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    **dict.fromkeys(HINTS, (lambda value: value is None or _is_flag(value), "True or False")),
    **dict.fromkeys(FLAGS, (_is_flag, "True or False")),
    **dict.fromkeys(("description", "desc"), (lambda value: isinstance(value, str), "text")),
    "timeout": (_is_limit, "seconds above 0, or None for no limit"),
    "tags": (_are_tags, "a list of strings"),
}


def check_hints(tool: Any, owner: str) -> None:
    """Refuse hints that contradict each other."""
    if tool.read_only and tool.destructive:
        raise DefinitionError(f"{owner} cannot be both read_only and destructive")


def is_computed(value: object) -> bool:
    """Return whether a class attribute is a property or a similar descriptor."""
    return hasattr(type(value), "__get__") and not callable(value)
