"""Write a tool once; any model, agent framework or shell can call it, safely.

The names below are the contract. Each is loaded when it is first used, so that who lists tools, or runs one
sub-command, does not pay for what defines and validates them.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing for it would cost more than all of this module
if TYPE_CHECKING:
    from tools_core._approval import ApprovalRequest
    from tools_core._call import ToolCall
    from tools_core._content import Audio, File, Image
    from tools_core._context import Context
    from tools_core._effects import Effects
    from tools_core._errors import DefinitionError, Halt, InvalidArguments, ToolError, UnknownToolError
    from tools_core._function import tool
    from tools_core._limits import Limits
    from tools_core._parameter import Parameter
    from tools_core._registry import Registry, registry
    from tools_core._result import Result
    from tools_core._tool import Tool
    from tools_core._toolset import Toolset
    from tools_core._version import __version__ as __version__

__all__ = [
    "ApprovalRequest",
    "Audio",
    "Context",
    "DefinitionError",
    "Effects",
    "File",
    "Halt",
    "Image",
    "InvalidArguments",
    "Limits",
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
    "_approval": ("ApprovalRequest",),
    "_call": ("ToolCall",),
    "_content": ("Audio", "File", "Image"),
    "_context": ("Context",),
    "_effects": ("Effects",),
    "_errors": ("DefinitionError", "Halt", "InvalidArguments", "ToolError", "UnknownToolError"),
    "_function": ("tool",),
    "_limits": ("Limits",),
    "_parameter": ("Parameter",),
    "_registry": ("Registry", "registry"),
    "_result": ("Result",),
    "_tool": ("Tool",),
    "_toolset": ("Toolset",),
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
