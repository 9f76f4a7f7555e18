"""`Parts`: the provider, tools, executor and other objects that follow from the options of an agent."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import fields
from threading import RLock
from typing import Any, TypeVar

from tools_agent._guardrails import Guardrail, check_guardrails
from tools_agent._loop._approvals import SessionApprovals
from tools_agent._loop._recorder import Recorder
from tools_agent._loop._tool_checks import ToolChecks
from tools_agent._options import is_function, resolve
from tools_agent._output_type import Output
from tools_agent._providers._provider import Provider, window_of
from tools_agent._search import estimate_tokens, tool_search
from tools_agent._setup import RunValues, Setup
from tools_agent._skills import skills_of
from tools_core import Registry, Tool
from tools_runtime import Approvals, Executor
from tools_runtime.plugins import LoopDetector, OutputBudget
from tools_runtime.search import ToolSearch

T = TypeVar("T")
_RECORDER = Recorder()
_SMALL = 800  # tokens: a tenth of the smallest context window
_EXECUTOR = ("executor",)
_TOOLS = ("tools", "executor")
_DEPENDENT = {  # the parts that an option changes
    "model": ("provider", *_TOOLS), "output": ("output",), "guardrails": ("guardrails", *_EXECUTOR), "tools": _TOOLS,
    "skills": _TOOLS, "deferred": _TOOLS, "definition_budget": _TOOLS, "output_budget": ("budget", *_TOOLS),
    "hooks": _TOOLS, "runtime": _EXECUTOR, "policy": _EXECUTOR, "loop_detection": _EXECUTOR,
    "tool_timeout": _EXECUTOR, "error_policy": _EXECUTOR,
}  # fmt: skip


class Parts:
    """The objects that follow from the options of an agent, each created once until an option changes.

    The parts of a run have a `base`, the agent's, and differ from it in what the run's own options change.
    """

    def __init__(self, options: Any, base: Parts | None = None, own: Collection[str] = ()) -> None:
        self._options = options
        self._base = base
        self._own = {key for name in own for key in _DEPENDENT.get(name, ())}
        self._lock = RLock()
        self._values: dict[str, Any] = {}
        self._named: dict[str, tuple[Provider, str]] = {}  # the providers of models that are names

    def check(self) -> None:
        """Raise the errors of options now, except those that are functions of the run."""
        _ = self.output, self.guardrails
        if not is_function(self._options.model):
            _ = self.provider
            if not is_function(self._options.tools) and not is_function(self._options.skills):
                _ = self.executor

    def forget(self, option: str) -> None:
        """Forget what depends on an option, which changes."""
        with self._lock:
            for key in _DEPENDENT.get(option, ()):
                value = self._values.pop(key, None)
                if isinstance(value, Executor) and not self._options.runs:
                    value.close()

    def release(self, executor: Executor) -> None:
        """Close the executor of a run that has ended, unless it is the agent's."""
        if executor is not self._values.get("executor"):
            executor.close()

    def close(self) -> list[Any]:
        """Close the executor, and return the providers of models that are names, which the caller closes."""
        if "executor" in self._values:
            self._values["executor"].close()
        return [provider for provider, _ in self._named.values()]

    def setup(self, values: RunValues) -> Setup:
        """Return what a run with these options works with."""
        provider, model = self.provider
        tools, search = self.tools
        own: dict[str, Any] = {
            "provider": provider, "model": model, "tools": tools, "search": search, "reader": self.budget.tool,
            "executor": self.executor, "output": self.output, "guardrails": self.guardrails,
        }  # fmt: skip
        options = {field.name for field in fields(Setup)} - own.keys()  # they are the same in a setup
        return Setup(**own, **{name: getattr(values, name) for name in options})

    @property
    def provider(self) -> tuple[Provider, str]:
        """The provider, and the name of its model."""
        return self._cached(
            "provider", lambda: self._find_provider(resolve(self._options.model, self._options.context))
        )

    @property
    def output(self) -> Output | None:
        """The type of replies."""
        return self._cached("output", lambda: None if self._options.output is None else Output(self._options.output))

    @property
    def guardrails(self) -> Sequence[Guardrail]:
        """The guardrails as instances."""
        return self._cached("guardrails", lambda: check_guardrails(self._options.guardrails))

    @property
    def budget(self) -> OutputBudget:
        """The plugin that shortens results."""
        return self._cached("budget", lambda: OutputBudget(self._options.output_budget or 1))

    @property
    def tools(self) -> tuple[dict[str, Tool], ToolSearch | None]:
        """The tools by name, with the tools that the agent adds, and the search for the deferred ones."""
        return self._cached("tools", self._find_tools)

    @property
    def executor(self) -> Executor:
        """The executor of calls."""
        return self._cached("executor", self._make_executor)

    def _cached(self, key: str, compute: Callable[[], T]) -> T:
        if self._base is not None and key not in self._own:
            return self._base._cached(key, compute)
        with self._lock:
            if key not in self._values:
                self._values[key] = compute()
            value: T = self._values[key]
            return value

    def _find_provider(self, model: Any) -> tuple[Provider, str]:
        if not isinstance(model, str):
            return _provider_of(model)
        if self._base is not None:
            return self._base._find_provider(model)
        with self._lock:
            if model not in self._named:
                from tools_agent._providers._get_provider import get_provider  # 30 ms that other providers do not need

                self._named[model] = get_provider(model)
            return self._named[model]

    def _find_tools(self) -> tuple[dict[str, Tool], ToolSearch | None]:
        agent = self._options
        option = resolve(agent.tools, agent.context)
        tools = dict(Registry(option))
        search = tool_search(option, tools, agent.deferred, self._definition_budget(tools))
        skills = skills_of(resolve(agent.skills, agent.context))
        added = [] if skills is None else [skills.tool]
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
        budget: int | None = self._options.definition_budget
        if budget is not None:
            return budget
        size = sum(map(estimate_tokens, tools.values()))
        return size if size < _SMALL else window_of(*self.provider) // 10

    def _make_executor(self) -> Executor:
        agent, runtime = self._options, self._options.runtime
        if is_function(runtime):
            choose = runtime

            def runtime(context: Any) -> Any:
                return resolve(choose, context.state, getattr(context.caller, "session", None))

        policy = agent.policy() if isinstance(agent.policy, type) else agent.policy
        approvals = getattr(policy, "approvals", None)
        hooks = [*agent.hooks, _RECORDER]
        if checks := ToolChecks(self.guardrails):
            hooks.append(checks)
        if agent.loop_detection and not any(isinstance(hook, LoopDetector) for hook in hooks):
            hooks.insert(0, LoopDetector())
        if self._has_budget:
            hooks.insert(0, self.budget)
        return Executor(
            self.tools[0], runtime=runtime, hooks=hooks, policy=policy, approve=_RECORDER.approve,
            approvals=SessionApprovals(approvals if isinstance(approvals, Approvals) else None),
            default_timeout=agent.tool_timeout, error_policy=agent.error_policy,
        )  # fmt: skip

    @property
    def _has_budget(self) -> bool:
        agent = self._options
        return agent.output_budget is not None and not any(isinstance(hook, OutputBudget) for hook in agent.hooks)


def _provider_of(model: Any) -> tuple[Provider, str]:
    if model is None:
        raise TypeError('an agent needs a model: "PROVIDER:NAME", or a Provider')
    if not hasattr(model, "astream"):
        hint = ": it needs `astream`, an asynchronous generator" if hasattr(model, "stream") else ""
        raise TypeError(f'a model is "PROVIDER:NAME", or a Provider, got {model!r}{hint}')
    return model, getattr(model, "model", "")
