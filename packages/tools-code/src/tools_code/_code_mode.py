"""`CodeMode`: tools as functions of Python code that a model writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from tools_agent import Assistant
from tools_agent.delegation import delegate
from tools_code._code_model import CodeModel
from tools_code._interpreter import Interpreter
from tools_code._stubs import stubs_of
from tools_core import Context, Effects, Registry, Result, Tool, ToolError, Tools
from tools_runtime.search import Index
from tools_shell import Python

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools_agent import Response

_MAX_STUBS = 16_000  # characters of all stubs in the description, some 4,000 tokens
_SANDBOXES = ("required", "bubblewrap", "landlock")
_DESCRIPTION = """\
Run Python code that calls tools as functions, and return what it prints and the value of its last expression.

Use it for work with many calls, loops over results, or results that you need only in part; print only what you need.
Functions block, return Python values, and raise ToolError (with error_type) if a call fails. For calls at once, use
threads, or `await asyncio.gather(name.aio(...), name.aio(...))`; only `.aio` can be awaited. The code runs in a sandbox
without network, in an empty folder: only the functions reach files and services. Variables do not survive. At most
{max_calls} calls.
"""


class CodeMode(Tool):
    """A tool, `run_code`, that runs Python code in a sandbox, with other tools as its functions.

    The calls of the code are calls of the caller, an agent or an executor: policy, approval, hooks, limits and events
    are the same as for direct calls. In an agent with a store, a call that needs approval ends the code; it resumes
    when the session does, and the results of completed calls are read from the log.
    """

    name = "run_code"
    stateful = True
    manages_timeout = True

    def __init__(
        self,
        tools: Tools,
        *,
        max_calls: int = 200,
        timeout: float = 300.0,
        python: Python | None = None,
    ) -> None:
        """Create the tool.

        Args:
            tools: The tools that code may call, also of toolsets and functions, as an agent takes them.
            max_calls: The number of calls after which the code is stopped.
            timeout: Seconds for the code from each start, without the time of its calls.
            python: The interpreter, by default `Python(sandbox="required")`. If it may run without a sandbox, each
                call of `run_code` requires approval.
        """
        if max_calls < 1 or not timeout > 0:
            raise ValueError(f"max_calls and timeout are positive, got {max_calls!r} and {timeout!r}")
        registry = Registry(tools)
        self._tools: dict[str, Tool] = dict(registry)
        if any(isinstance(tool, CodeMode) for tool in self._tools.values()):
            raise ValueError("code cannot run code: leave run_code out of the tools of CodeMode")
        self._max_calls = max_calls
        self._timeout = timeout
        self._python = python or Python(sandbox="required")
        settings: Any = self._python.effects({}).settings
        self.requires_approval = settings["sandbox"]["level"] not in _SANDBOXES
        self._stubs = stubs_of(self._tools)
        self._index = Index(registry.definitions())
        self.description = _DESCRIPTION.format(max_calls=max_calls) + self._functions()

    def execute(self, context: Context, code: Annotated[str, "Python source code"]) -> Any:
        """Run Python code that calls tools."""
        if not code.strip():
            raise ToolError("code must not be empty", "validation_error")
        limit = min(self._timeout, context.remaining or self._timeout)
        model = CodeModel(
            lambda: Interpreter(
                self._python, code, self._stubs, timeout=limit, max_calls=self._max_calls, search=self._search
            ),
            self._max_calls,
        )
        return delegate(
            self, context, {"code": code}, model=model, tools=self._tools, read=_result_of, close=model.close
        )

    def effects(self, arguments: Mapping[str, Any], context: Context | None = None) -> Effects:
        """Return the effects of the code alone; it can run again if its session is in a store, since it resumes."""
        session = getattr(None if context is None else context.caller, "session", None)
        is_stored = session is not None and session.store is not None
        return Effects({**super().effects(arguments, context).annotations, "idempotent": is_stored})

    def _functions(self) -> str:
        text = "\n\n".join(stub.text for stub in self._stubs)
        if len(text) <= _MAX_STUBS:
            return f"\n```python\n{text}\n```"
        names = ", ".join(stub.identifier for stub in self._stubs)
        return (
            f"\nsearch_tools(query: str, limit: int = 5) -> str returns signatures of functions. The functions: {names}"
        )

    def _search(self, query: str, limit: int = 5) -> str:
        stubs = {stub.name: stub.text for stub in self._stubs}
        hits = self._index.search(str(query), limit=int(limit))
        return "\n\n".join(stubs[hit.name] for hit in hits) or "no function matches; use other words"


def _result_of(response: Response[Any]) -> Result:
    if response.halted:
        return Result.halt(response.content)
    last = next(message for message in reversed(response.messages) if isinstance(message, Assistant))
    return Result.from_dict(last.output)
