"""Where calls run."""

from tools_runtime._runtimes._async import AsyncRuntime
from tools_runtime._runtimes._inline import InlineRuntime
from tools_runtime._runtimes._runtime import Runtime
from tools_runtime._runtimes._thread import ThreadRuntime

__all__ = ["AsyncRuntime", "InlineRuntime", "Runtime", "ThreadRuntime"]
