"""Where and how tool calls run: in order, concurrently, in processes, with hooks and policies around each."""

from tools_runtime._errors import ToolBugError
from tools_runtime._event import Event
from tools_runtime._executor import Executor
from tools_runtime._place._async import AsyncRuntime
from tools_runtime._place._choose import set_default_runtime
from tools_runtime._place._inline import InlineRuntime
from tools_runtime._place._process import ProcessRuntime
from tools_runtime._place._runtime import Runtime
from tools_runtime._place._thread import ThreadRuntime
from tools_runtime._policy import Approval, Decision, Policy, PolicyError, ask_on_terminal
from tools_runtime._wrap._effects import Blocking, Pause, Until
from tools_runtime.hookspecs import hookimpl
from tools_runtime.remote import RemoteError

__all__ = [
    "Approval",
    "AsyncRuntime",
    "Blocking",
    "Decision",
    "Event",
    "Executor",
    "InlineRuntime",
    "Pause",
    "Policy",
    "PolicyError",
    "ProcessRuntime",
    "RemoteError",
    "Runtime",
    "ThreadRuntime",
    "ToolBugError",
    "Until",
    "ask_on_terminal",
    "hookimpl",
    "set_default_runtime",
]
