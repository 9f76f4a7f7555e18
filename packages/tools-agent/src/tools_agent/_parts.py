"""`Parts`: the provider, tools, executor and other objects that follow from the options of an agent."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from threading import RLock
from typing import TYPE_CHECKING, Any, TypeVar

from tools_agent._guardrails import Guardrail, check_guardrails
from tools_agent._loop._approvals import SessionApprovals
from tools_agent._loop._calls import Recorder
from tools_agent._options import is_function, read_tools, resolve
from tools_agent._output_type import Output
from tools_agent._providers._provider import Provider, window_of
from tools_agent._search import estimate_tokens, tool_search
from tools_agent._skills import Skills
from tools_core import Tool
from tools_core.search import ToolSearch
from tools_runtime import Approvals, Executor
from tools_runtime.plugins import LoopDetector, OutputBudget

if TYPE_CHECKING:
    from tools_agent._agent import Agent

T = TypeVar("T")
_RECORDER = Recorder()
_SMALL = 800  # tokens: a tenth of the smallest context window
_EXECUTOR = ("executor",)
_TOOLS = ("tools", "executor")
_DEPENDENT = {  # the parts that an option changes
    "model": ("provider", *_TOOLS), "output": ("output",), "guardrails": ("guardrails",), "tools": _TOOLS,
    "skills": _TOOLS, "deferred": _TOOLS, "definition_budget": _TOOLS, "output_budget": ("budget", *_TOOLS),
    "hooks": _TOOLS, "runtime": _EXECUTOR, "policy": _EXECUTOR, "loop_detection": _EXECUTOR,
    "tool_timeout": _EXECUTOR, "error_policy": _EXECUTOR,
}  # fmt: skip


class Parts:
    """The objects that follow from the options of an agent, each created once until an option changes."""

    def __init__(self, agent: Agent[Any, Any]) -> None:
        self._agent = agent
        self._lock = RLock()
        self._values: dict[str, Any] = {}

    def check(self) -> None:
        """Raise the errors of options now."""
        _ = self.provider, self.executor, self.output, self.guardrails

    def forget(self, option: str) -> None:
        """Forget what depends on an option, which changes."""
        with self._lock:
            for key in _DEPENDENT.get(option, ()):
                value = self._values.pop(key, None)
                if isinstance(value, Executor) and not self._agent.runs:
                    value.close()

    def release(self, executor: Executor) -> None:
        """Close the executor of a run that has ended, unless it is the agent's."""
        if executor is not self._values.get("executor"):
            executor.close()

    def close(self) -> Any:
        """Close the executor, and return the provider, which is the caller's to close, if `model` is a name."""
        if "executor" in self._values:
            self._values["executor"].close()
        is_named = isinstance(resolve(self._agent.model, self._agent.context), str)
        return self._values["provider"][0] if is_named and "provider" in self._values else None

    @property
    def provider(self) -> tuple[Provider, str]:
        """The provider, and the name of its model."""
        return self._cached("provider", lambda: _provider_of(resolve(self._agent.model, self._agent.context)))

    @property
    def output(self) -> Output | None:
        """The type of replies."""
        return self._cached("output", lambda: None if self._agent.output is None else Output(self._agent.output))

    @property
    def guardrails(self) -> Sequence[Guardrail]:
        """The guardrails as instances."""
        return self._cached("guardrails", lambda: check_guardrails(self._agent.guardrails))

    @property
    def budget(self) -> OutputBudget:
        """The plugin that shortens results."""
        return self._cached("budget", lambda: OutputBudget(self._agent.output_budget or 1))

    @property
    def tools(self) -> tuple[dict[str, Tool], ToolSearch | None]:
        """The tools by name, with the tools that the agent adds, and the search for the deferred ones."""
        return self._cached("tools", lambda: self._find_tools(self._agent.context))

    @property
    def executor(self) -> Executor:
        """The executor of calls."""
        return self._cached("executor", lambda: self._make_executor(self.tools[0]))

    def for_run(
        self, context: Mapping[str, Any], *, is_overlaid: bool
    ) -> tuple[dict[str, Tool], ToolSearch | None, Executor]:
        """Return the tools, their search and the executor of a run: its own if its context differs."""
        if not (is_overlaid and is_function(self._agent.tools)):
            return *self.tools, self.executor
        tools, search = self._find_tools(context)
        return tools, search, self._make_executor(tools)

    def _cached(self, key: str, compute: Callable[[], T]) -> T:
        with self._lock:
            if key not in self._values:
                self._values[key] = compute()
            value: T = self._values[key]
            return value

    def _find_tools(self, context: Mapping[str, Any]) -> tuple[dict[str, Tool], ToolSearch | None]:
        agent = self._agent
        option = resolve(agent.tools, context)
        tools = read_tools(option)
        search = tool_search(option, tools, agent.deferred, self._definition_budget(tools))
        added = [] if agent.skills is None else [agent.skills.tool]
        if search is not None:
            added.append(search.tool)
        if tools and self._has_budget:
            added.append(self.budget.tool)
        for tool in added:
            if tool.name in tools:
                raise ValueError(f"{tool.name!r} is the name of a tool that the agent adds: rename your tool")
            tools[tool.name] = tool
        return tools, search

    def _definition_budget(self, tools: Mapping[str, Tool]) -> int:
        budget = self._agent.definition_budget
        if budget is not None:
            return budget
        size = sum(map(estimate_tokens, tools.values()))
        return size if size < _SMALL else window_of(*self.provider) // 10

    def _make_executor(self, tools: Mapping[str, Tool]) -> Executor:
        agent, runtime = self._agent, self._agent.runtime
        if is_function(runtime):
            choose = runtime

            def runtime(context: Any) -> Any:
                return resolve(choose, context.state)

        policy = agent.policy() if isinstance(agent.policy, type) else agent.policy
        approvals = getattr(policy, "approvals", None)
        hooks = [*agent.hooks, _RECORDER]
        if agent.loop_detection and not any(isinstance(hook, LoopDetector) for hook in hooks):
            hooks.insert(0, LoopDetector())
        if self._has_budget:
            hooks.insert(0, self.budget)
        return Executor(
            tools, runtime=runtime, hooks=hooks, policy=policy, approve=_RECORDER.approve,
            approvals=SessionApprovals(approvals if isinstance(approvals, Approvals) else None),
            default_timeout=agent.tool_timeout, error_policy=agent.error_policy,
        )  # fmt: skip

    @property
    def _has_budget(self) -> bool:
        agent = self._agent
        return agent.output_budget is not None and not any(isinstance(hook, OutputBudget) for hook in agent.hooks)


def skills_of(folders: Any) -> Skills | None:
    """Return the skills of an agent's option."""
    if folders is None or isinstance(folders, Skills):
        return folders
    return Skills([folders] if isinstance(folders, str | os.PathLike) else folders)


def _provider_of(model: Any) -> tuple[Provider, str]:
    if model is None:
        raise TypeError('an agent needs a model: "PROVIDER:NAME", or a Provider')
    if isinstance(model, str):
        from tools_agent._providers._get_provider import get_provider  # 30 ms that other providers do not need

        return get_provider(model)
    if not hasattr(model, "stream"):
        raise TypeError(f'a model is "PROVIDER:NAME", or a Provider, got {model!r}')
    return model, getattr(model, "model", "")
