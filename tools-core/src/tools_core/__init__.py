"""Write a tool once; any model, agent framework or shell can call it, safely.

The public names are loaded when they are first used, so that a program that lists tools does not load the code that
defines and validates them.
"""

import importlib

from tools_core._version import __version__ as __version__

TYPE_CHECKING = not __name__  # false: jedi ignores a literal; `typing` takes 10 ms to import
if TYPE_CHECKING:  # type checkers and editors read the names here, Python in the table below
    from tools_core._definition._parameter import Parameter as Parameter
    from tools_core._registry._entry import LoadProblem as LoadProblem
    from tools_core._registry._entry_points import EntryPoint as EntryPoint
    from tools_core._registry._registry import Registry as Registry
    from tools_core._registry._registry import Tools as Tools
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
    from tools_core._values._context import Question as Question
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

_NAMES = {
    "_definition._parameter": ("Parameter",),
    "_registry._entry": ("LoadProblem",),
    "_registry._entry_points": ("EntryPoint",),
    "_registry._registry": ("Registry", "Tools", "registry"),
    "_tools._approval": ("Approval", "ApprovalRequest", "Approve", "Denial"),
    "_tools._function": ("tool",),
    "_tools._tool": ("Tool",),
    "_tools._toolset": ("Toolset",),
    "_values._content": ("Audio", "Block", "File", "Image"),
    "_values._context": ("Context", "Question"),
    "_values._effects": ("Effects",),
    "_values._errors": ("DefinitionError", "Halt", "InvalidArguments", "ToolError", "UnknownToolError"),
    "_values._limits": ("Limits",),
    "_values._problem": ("Problem",),
    "_values._result": ("Result",),
    "_values._tool_call": ("ToolCall",),
}
_MODULES = dict(sorted((name, module) for module, names in _NAMES.items() for name in names))
__all__ = list(_MODULES)  # pyright: ignore[reportUnsupportedDunderAll]  # the names load on first use


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module 'tools_core' has no attribute {name!r}")
    value: object = getattr(importlib.import_module(f"tools_core.{_MODULES[name]}"), name)
    globals()[name] = value  # Python does not call this function for it again
    return value


def __dir__() -> list[str]:
    return [*__all__]
