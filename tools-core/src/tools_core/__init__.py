"""Write a tool once; any model, agent framework or shell can call it, safely.

The public names are loaded when they are first used, so that a program that lists tools does not load the code that
defines and validates them.
"""

import importlib
from typing import TYPE_CHECKING

from tools_core._version import __version__ as __version__

if TYPE_CHECKING:  # type checkers and editors read the names here, Python in the table below
    from tools_core._definition._parameter import Parameter as Parameter
    from tools_core._registry._entry import LoadProblem as LoadProblem
    from tools_core._registry._entry_points import EntryPoint as EntryPoint
    from tools_core._registry._registry import Registry as Registry
    from tools_core._registry._registry import registry as registry
    from tools_core._tools._approval import Approval as Approval
    from tools_core._tools._approval import ApprovalRequest as ApprovalRequest
    from tools_core._tools._approval import Approve as Approve
    from tools_core._tools._approval import Denial as Denial
    from tools_core._tools._function import tool as tool
    from tools_core._tools._tool import Tool as Tool
    from tools_core._tools._toolset import Toolset as Toolset
    from tools_core._values._content import Audio as Audio
    from tools_core._values._content import Block as Block
    from tools_core._values._content import File as File
    from tools_core._values._content import Image as Image
    from tools_core._values._context import Context as Context
    from tools_core._values._effects import Effects as Effects
    from tools_core._values._errors import DefinitionError as DefinitionError
    from tools_core._values._errors import Halt as Halt
    from tools_core._values._errors import InvalidArguments as InvalidArguments
    from tools_core._values._errors import ToolError as ToolError
    from tools_core._values._errors import UnknownToolError as UnknownToolError
    from tools_core._values._limits import Limits as Limits
    from tools_core._values._problem import Problem as Problem
    from tools_core._values._result import Result as Result
    from tools_core._values._tool_call import ToolCall as ToolCall

_MODULES = {
    "Approval": "_tools._approval",
    "ApprovalRequest": "_tools._approval",
    "Approve": "_tools._approval",
    "Audio": "_values._content",
    "Block": "_values._content",
    "Context": "_values._context",
    "DefinitionError": "_values._errors",
    "Denial": "_tools._approval",
    "Effects": "_values._effects",
    "EntryPoint": "_registry._entry_points",
    "File": "_values._content",
    "Halt": "_values._errors",
    "Image": "_values._content",
    "InvalidArguments": "_values._errors",
    "Limits": "_values._limits",
    "LoadProblem": "_registry._entry",
    "Parameter": "_definition._parameter",
    "Problem": "_values._problem",
    "Registry": "_registry._registry",
    "Result": "_values._result",
    "Tool": "_tools._tool",
    "ToolCall": "_values._tool_call",
    "ToolError": "_values._errors",
    "Toolset": "_tools._toolset",
    "UnknownToolError": "_values._errors",
    "registry": "_registry._registry",
    "tool": "_tools._function",
}
__all__ = list(_MODULES)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module 'tools_core' has no attribute {name!r}")
    value: object = getattr(importlib.import_module(f"tools_core.{_MODULES[name]}"), name)
    globals()[name] = value  # Python does not call this function for it again
    return value


def __dir__() -> list[str]:
    return [*__all__]
