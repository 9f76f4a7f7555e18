"""The plugin of llm that lists every installed tool: `llm tools list`, `llm -T NAME`.

llm imports this module whenever it starts, and asks for tools where a command needs some. It reads only the names of
those that the command does not use, so no package is imported for these.
"""

from __future__ import annotations

import json
import os
import sys
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from click import confirm, echo, get_current_context
from llm import Tool, hookimpl

if TYPE_CHECKING:
    from collections.abc import Callable

    from tools_adapters._bridge import BridgedTool
    from tools_core import Context, Registry, Result, ToolError


@hookimpl  # type: ignore[untyped-decorator]  # pyright: ignore[reportUntypedFunctionDecorator]
def register_tools(register: Callable[[Tool], None]) -> None:
    """Register the installed tools; a problem with these is reported, and keeps llm from nothing else."""
    from tools_core import Context, Registry  # only commands with tools pay for these
    from tools_core.formats import legal_names

    registry, context = Registry(), Context()  # one context: the calls of a command are one run
    try:
        registry.discover()
    except ValueError as error:  # the lock cannot be read, so that no tool is allowed
        echo(f"ask-tools: {error}", err=True)
    for key, name in legal_names(registry, "openai").items():
        # llm takes a name that begins with a capital for a toolbox.
        register(InstalledTool(name[0].lower() + name[1:], key, registry, context))


class InstalledTool(Tool):
    """A tool that is loaded when more than its name is read; one that cannot be loaded describes why."""

    def __init__(self, name: str, key: str, registry: Registry, context: Context) -> None:
        self.name = name
        self.plugin: str | None = None
        self._key = key
        self._registry = registry
        self._context = context

    @cached_property
    def _made(self) -> Tool:
        from tools_adapters._bridge import Bridge
        from tools_adapters._llm import implementation_of
        from tools_core import ToolError

        try:
            tool = self._registry[self._key]
        except ToolError as error:
            return _broken(self.name, error)
        (bridged,) = Bridge({tool.name: tool}, context=self._context).tools
        implementation = implementation_of(bridged, partial(_call, bridged))
        return Tool(self.name, bridged.description, bridged.schema, implementation)

    @property
    def description(self) -> str | None:
        """The description that the model reads."""
        made: str | None = self._made.description
        return made

    @property
    def input_schema(self) -> dict[str, Any]:
        """The schema of the arguments."""
        made: dict[str, Any] = self._made.input_schema
        return made

    @property
    def implementation(self) -> Any:
        """The function that makes a call."""
        return self._made.implementation


def _broken(name: str, error: ToolError) -> Tool:
    def implementation() -> Any:
        raise error

    return Tool(name, f"Unavailable: {error}", {"type": "object", "properties": {}}, implementation)


def _call(bridged: BridgedTool, arguments: dict[str, Any]) -> Result:
    """Make a call; one that requires approval waits for the user."""
    from tools_core import Result

    result = bridged.call(arguments, approved=_is_approved())
    request = bridged.request_in(result)
    if request is None:
        return result
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        problem = "requires approval, and there is no terminal to ask at"
        return Result.error(f"{bridged.name} {problem}; ASK_TOOLS_LLM_APPROVE=all allows it", type="approval_required")
    shown = json.dumps(request["arguments"])  # with escapes for what could act on the terminal
    if not confirm(f"{bridged.name} requires approval: {shown}\nRun it?", err=True):
        return Result.error(f"{bridged.name} was not approved", type="denied")
    return bridged.call(request["arguments"], approved=True)


def _is_approved() -> bool:
    """Return whether llm has asked about this call already, for `--ta`, or the user has allowed all."""
    command = get_current_context(silent=True)
    asked = command is not None and bool(command.params.get("tools_approve"))
    return asked or os.environ.get("ASK_TOOLS_LLM_APPROVE") == "all"
