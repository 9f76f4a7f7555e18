"""Write a tool once; any model, agent framework or shell can call it, safely.

The names below are the contract. Each is loaded when it is first used, so that a program which only lists
tools does not pay for the code that defines and validates them.
"""

from __future__ import annotations

# A constant here keeps typing, which takes 4 ms, from being imported; with a type, jedi reads the block below as well.
TYPE_CHECKING: bool = False
if TYPE_CHECKING:
    from tools_core._definition._parameter import Parameter
    from tools_core._registry._entry import LoadProblem
    from tools_core._registry._entry_points import EntryPoint
    from tools_core._registry._registry import Registry, registry
    from tools_core._tools._approval import ApprovalRequest
    from tools_core._tools._function import tool
    from tools_core._tools._tool import Tool
    from tools_core._tools._toolset import Toolset
    from tools_core._values._content import Audio, File, Image
    from tools_core._values._context import Context
    from tools_core._values._effects import Effects
    from tools_core._values._errors import DefinitionError, Halt, InvalidArguments, ToolError, UnknownToolError
    from tools_core._values._limits import Limits
    from tools_core._values._result import Result
    from tools_core._values._tool_call import ToolCall
    from tools_core._version import __version__ as __version__

__all__ = [
    "ApprovalRequest",
    "Audio",
    "Context",
    "DefinitionError",
    "Effects",
    "EntryPoint",
    "File",
    "Halt",
    "Image",
    "InvalidArguments",
    "Limits",
    "LoadProblem",
    "Parameter",
    "Registry",
    "Result",
    "Tool",
    "ToolCall",
    "ToolError",
    "Toolset",
    "UnknownToolError",
    "registry",
    "tool",
]

_HOMES = {
    "_definition._parameter": ("Parameter",),
    "_registry._entry": ("LoadProblem",),
    "_registry._entry_points": ("EntryPoint",),
    "_registry._registry": ("Registry", "registry"),
    "_tools._approval": ("ApprovalRequest",),
    "_tools._function": ("tool",),
    "_tools._tool": ("Tool",),
    "_tools._toolset": ("Toolset",),
    "_values._content": ("Audio", "File", "Image"),
    "_values._context": ("Context",),
    "_values._effects": ("Effects",),
    "_values._errors": ("DefinitionError", "Halt", "InvalidArguments", "ToolError", "UnknownToolError"),
    "_values._limits": ("Limits",),
    "_values._result": ("Result",),
    "_values._tool_call": ("ToolCall",),
    "_version": ("__version__",),
}


def __getattr__(name: str) -> object:
    for home, names in _HOMES.items():
        if name in names:
            from importlib import import_module  # built in; needs no further module

            value: object = getattr(import_module(f"tools_core.{home}"), name)
            globals()[name] = value  # found directly from now on
            return value
    raise AttributeError(f"module 'tools_core' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
