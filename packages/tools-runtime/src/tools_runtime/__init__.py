"""Run tool calls: in order, concurrently or in processes, with hooks and policies around each."""

from tools_runtime._events import Event, ToolBugError
from tools_runtime._executor import Executor
from tools_runtime._policy import Approvals, Decision, Policy, PolicyError, user_name
from tools_runtime._runtimes._choice import set_default_runtime
from tools_runtime._runtimes._local import AsyncRuntime, AutoRuntime, InlineRuntime, ThreadRuntime
from tools_runtime._runtimes._process import ProcessRuntime
from tools_runtime._runtimes._runtime import Runtime
from tools_runtime.hookspecs import hookimpl
from tools_runtime.remote import RemoteError

__all__ = [
    "Approvals",
    "AsyncRuntime",
    "AutoRuntime",
    "Decision",
    "Event",
    "Executor",
    "InlineRuntime",
    "Policy",
    "PolicyError",
    "ProcessRuntime",
    "RemoteError",
    "Runtime",
    "ThreadRuntime",
    "ToolBugError",
    "hookimpl",
    "set_default_runtime",
    "user_name",
]
