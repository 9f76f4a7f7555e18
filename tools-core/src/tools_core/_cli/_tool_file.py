"""A tool in a Python file that is not installed: `./weather.py:weather`."""

from __future__ import annotations

import os
import sys
from functools import reduce
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import module_from_spec
from typing import TYPE_CHECKING, Any

from tools_core._cli._terminal import CommandError, did_you_mean, location
from tools_core._tools._as_tools import as_tools, instance_of
from tools_core._tools._tool import Tool
from tools_core._tools._toolset import Toolset
from tools_core._values._errors import DefinitionError

if TYPE_CHECKING:
    from types import ModuleType


def load_from_file(reference: str) -> Tool:
    """Run a file as a module and return what is named after the colon as a tool; without a name, its only tool."""
    path, _, attribute = (reference, "", "") if reference.endswith(".py") else reference.rpartition(":")
    module = _run(path)
    names = [name for name, value in vars(module).items() if _is_tool(value, module)]
    if not attribute:
        if len(names) != 1:
            hints = [f"{path}:{name}" for name in names]
            raise CommandError(f"{path} has {len(names)} tools; name one of them", *hints, type="unknown_tool")
        attribute = names[0]
    try:
        tools = as_tools(reduce(_attribute, attribute.split("."), module))
    except (AttributeError, DefinitionError) as mistake:
        hints = [did_you_mean(attribute, names), f"tools in {path}: {', '.join(names) or 'none'}"]
        raise CommandError(f"{reference} is not a tool: {mistake}", *hints, type="unknown_tool") from mistake
    if len(tools) != 1:
        hints = [f"{path}:{attribute}.{getattr(tool, '__name__', '')}" for tool in tools]
        raise CommandError(f"{attribute} is a toolset; name one of its methods", *hints, type="unknown_tool")
    return tools[0]


def _is_tool(value: Any, module: ModuleType) -> bool:
    if isinstance(value, type):  # a class of the file, not one that it has imported
        return value.__module__ == module.__name__ and issubclass(value, Tool | Toolset)
    return isinstance(value, Tool | Toolset)


def _attribute(owner: Any, name: str) -> Any:
    """Return an attribute; for a class of toolsets, an instance, whose methods are tools."""
    value = getattr(owner, name)
    return instance_of(value) if isinstance(value, type) and issubclass(value, Toolset) else value


def _run(path: str) -> ModuleType:
    """Import a file under its own name; its folder comes first on `sys.path`, as for `python FILE`."""
    if not os.path.isfile(path):
        raise CommandError(f"the file {path} does not exist", type="unknown_tool")
    name = os.path.basename(path).removesuffix(".py")
    name = f"{name}_file" if name in sys.modules else name
    loader = SourceFileLoader(name, os.path.abspath(path))
    module = module_from_spec(ModuleSpec(name, loader, origin=loader.path))
    module.__file__ = loader.path
    sys.modules[name] = module  # type hints are looked up there
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    try:
        loader.exec_module(module)
    except (Exception, SystemExit) as broken:  # the user's code may raise anything
        where = location(broken, name)
        message = f"{path} cannot be loaded: {type(broken).__name__}: {broken}"
        raise CommandError(message, f"at {where}" if where else "", status=1, type="unavailable") from broken
    return module
