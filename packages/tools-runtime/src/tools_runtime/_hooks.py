"""The hooks around one call, from the outermost to the innermost."""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Callable, Generator, Mapping, Sequence
from functools import partial
from inspect import iscoroutine, iscoroutinefunction
from types import coroutine
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import pluggy

from tools_core import Halt, Result, ToolCall
from tools_runtime._drive import Wait
from tools_runtime._events import answer_of, describe_error, log

if TYPE_CHECKING:
    from tools_core import Context, Tool
    from tools_runtime._drive import Steps
    from tools_runtime._runtimes._runtime import Runtime

_FAILURES = (Exception, Halt, SystemExit, CancelledError)  # exceptions of a hook; KeyboardInterrupt is the user's
_AROUND = ("around_tool_call", "before_tool_call", "after_tool_call")


class Execution(Protocol):
    """The call that hooks are around."""

    context: Context
    in_loop: bool
    in_hook: bool

    def run_approved(self, call: ToolCall, tool: Tool | None) -> Steps[Result]:
        """Run a call that has passed all hooks."""
        ...

    def tool_of(self, other: ToolCall) -> Tool | None:
        """Return the tool of another call, which a hook runs instead."""

    def emit(self, kind: Any, result: Result | None = None, **detail: Any) -> None:
        """Emit an event of the call."""


class Hook(NamedTuple):
    """One function of a plugin; it takes all arguments of its kind."""

    name: str
    plugin: str
    function: Callable[..., Any]
    is_async: bool
    blocks: bool  # it may block, so that it runs in a worker thread if the call runs in an event loop
    owner: object = None  # the plugin itself
    is_nested: bool = True  # it is for the calls that a call makes, too

    @classmethod
    def of(cls, name: str, implementation: pluggy.HookImpl, arguments: Sequence[str] = ()) -> Hook:
        """Make the hook of a pluggy implementation."""
        function, names = implementation.function, implementation.argnames
        function = _with_arguments(function, [arguments.index(name) for name in names], len(arguments))
        is_async = iscoroutinefunction(implementation.function)
        blocks = getattr(implementation.plugin, "blocks", True) and not is_async
        owner = implementation.plugin
        return cls(name, implementation.plugin_name, function, is_async, blocks, owner, getattr(owner, "nested", True))

    def call(self, execution: Execution, *arguments: Any) -> Steps[Any]:
        """Call the function, in a worker thread if it may block an event loop."""
        if self.is_async:
            outer, execution.in_hook = execution.in_hook, True
            try:
                return (yield from self.function(*arguments).__await__())
            finally:
                execution.in_hook = outer
        if not (execution.in_loop and self.blocks):
            return self.function(*arguments)
        return (yield Wait(partial(self.function, *arguments))).result()


class Hooks:
    """The hooks of an executor, by purpose."""

    def __init__(
        self,
        around: Sequence[Hook],
        deciders: Sequence[Hook],
        starters: Sequence[Hook],
        listeners: Sequence[Hook],
        agents: Mapping[str, Sequence[Hook]],
    ) -> None:
        self.around = tuple(around)
        self.deciders = tuple(deciders)
        self.starters = tuple(starters)
        self.listeners = tuple(listeners)
        self.agents = agents  # the hooks of runs and of requests to models by name, the outermost first
        self.need_loop = any(hook.is_async for hook in (*self.around, *self.starters))

    @classmethod
    def of(cls, manager: pluggy.PluginManager) -> Hooks:
        """Return the hooks of the plugins of a manager."""

        def hooks(name: str, arguments: Sequence[str]) -> list[Hook]:
            return [Hook.of(name, each, arguments) for each in getattr(manager.hook, name).get_hookimpls()]

        around = [Hook.of(name, each, _ARGUMENTS[name]) for name, each in _ordered(manager)]
        listeners = hooks("on_event", ("event",))[::-1]
        agents = {name: hooks(name, arguments)[::-1] for name, arguments in AGENT_HOOKS.items()}
        return cls(around, hooks("decide_tool_call", _CALL), hooks("start_tool_call", _CALL), listeners, agents)

    def over(self, inner: Hooks) -> Hooks:
        """Return these hooks around those of an executor that a call uses; a plugin of both is there once."""
        return Hooks(
            _outside(self.around, inner.around),
            _outside(self.deciders, inner.deciders),
            _outside(self.starters, inner.starters),
            _outside(self.listeners, inner.listeners),
            {name: _outside(hooks, inner.agents[name]) for name, hooks in self.agents.items()},
        )

    def inside(self, runtime: Runtime) -> tuple[Hook, ...]:
        """Return the hooks around calls, with the runtime's own as the innermost."""
        function = _with_arguments(runtime.around_tool_call, [0, 2], len(_ARGUMENTS["around_tool_call"]))
        inner_tool = Hook("around_tool_call", type(runtime).__name__, function, is_async=False, blocks=False)
        return (*self.around, inner_tool)


def _outside(outer: Sequence[Hook], inner: Sequence[Hook]) -> list[Hook]:
    kept = [hook for hook in outer if hook.is_nested]
    owners = {id(hook.owner) for hook in kept}
    return [*kept, *(hook for hook in inner if id(hook.owner) not in owners)]


def run_hooks(hooks: tuple[Hook, ...], call: ToolCall, tool: Tool | None, execution: Execution) -> Steps[Result]:
    """Run one call, wrapped by hooks."""
    if not hooks:
        return (yield from execution.run_approved(call, tool))
    run = _STYLES.get(hooks[0].name) or (_around_async if hooks[0].is_async else _around)
    return (yield from run(hooks[0], hooks[1:], call, tool, execution))


def _before(hook: Hook, inner: tuple[Hook, ...], call: ToolCall, tool: Any, execution: Execution) -> Steps[Result]:
    try:
        answer = yield from hook.call(execution, call, tool, execution.context)
    except _FAILURES as error:
        return _failed(hook, error, None, execution)
    if isinstance(answer, ToolCall):
        tool = tool if answer.name == call.name else execution.tool_of(answer)
        call = answer
    elif answer is not None:
        return answer if isinstance(answer, Result) else _failed(hook, _wrong(answer), None, execution)
    return (yield from run_hooks(inner, call, tool, execution))


def _after(hook: Hook, inner: tuple[Hook, ...], call: ToolCall, tool: Any, execution: Execution) -> Steps[Result]:
    result = yield from run_hooks(inner, call, tool, execution)
    try:
        answer = yield from hook.call(execution, call, tool, execution.context, result)
    except _FAILURES as error:
        return _failed(hook, error, result, execution)
    if answer is None or isinstance(answer, Result):
        return result if answer is None else answer
    return _failed(hook, _wrong(answer), result, execution)


def _around(hook: Hook, inner: tuple[Hook, ...], call: ToolCall, tool: Any, execution: Execution) -> Steps[Result]:
    """Run a hook that is a generator: each `yield` runs the call.

    Plugins of this package may also yield a `Wait`.
    """
    result: Result | None = None
    answer: Any = None
    in_thread = execution.in_loop and hook.blocks
    try:
        generator, value = hook.function(call, tool, execution.context, None), None
        while True:
            try:
                value = (yield from _send_in_thread(generator, value)) if in_thread else generator.send(value)
            except (StopIteration, _Ended) as end:
                answer = end.value
                break
            if isinstance(value, Wait):
                value = yield value
                continue
            if isinstance(value, ToolCall):
                tool = tool if value.name == call.name else execution.tool_of(value)
                call = value
            value = result = yield from run_hooks(inner, call, tool, execution)
    except _FAILURES as error:
        return _failed(hook, error, result, execution)
    if answer is None and result is None:  # it does not wrap this call
        return (yield from run_hooks(inner, call, tool, execution))
    if isinstance(answer, Result):
        return answer
    return result if answer is None and result is not None else _failed(hook, _wrong(answer), result, execution)


class _Ended(Exception):
    """The end of a generator that ran in another thread; a future cannot hold StopIteration."""

    def __init__(self, value: Any) -> None:
        self.value = value


def _send_in_thread(generator: Generator[Any, Any, Any], value: Any) -> Steps[Any]:
    def send() -> Any:
        try:
            return generator.send(value)
        except StopIteration as end:
            raise _Ended(end.value) from None

    return (yield Wait(send)).result()


def _around_async(
    hook: Hook, inner: tuple[Hook, ...], call: ToolCall, tool: Any, execution: Execution
) -> Steps[Result]:
    """Run a hook that is a coroutine function: each `await call_next()` runs the call."""
    result: Result | None = None

    @coroutine
    def call_next(other: ToolCall | None = None) -> Generator[Any, Any, Result]:
        nonlocal result
        request = call if other is None else other
        inner_tool = tool if request.name == call.name else execution.tool_of(request)
        execution.in_hook = False
        try:
            result = yield from run_hooks(inner, request, inner_tool, execution)
        finally:
            execution.in_hook = True
        return result

    try:
        answer = yield from hook.call(execution, call, tool, execution.context, call_next)
    except _FAILURES as error:
        return _failed(hook, error, result, execution)
    if isinstance(answer, Result):
        return answer
    return result if answer is None and result is not None else _failed(hook, _wrong(answer), result, execution)


def _wrong(answer: object) -> TypeError:
    if iscoroutine(answer):
        answer.close()  # else Python warns that it was never awaited
    return TypeError(f"it returned {type(answer).__name__}, not a Result")


def _failed(hook: Hook, error: BaseException, result: Result | None, execution: Execution) -> Result:
    """Return the result if a hook raised: ToolError and Halt are answers; otherwise an earlier result stays."""
    answer = answer_of(error)
    if answer is not None:
        return answer
    if isinstance(error, CancelledError) and result is None:
        raise error
    text = describe_error(error)
    log.error("%s of %s failed", hook.name, hook.plugin, exc_info=error)
    execution.emit("hook_failed", plugin=hook.plugin, hook=hook.name, error=text)
    if result is not None:
        return result
    return Result.error(f"the call was not run: {hook.name} of {hook.plugin} failed with {text}", type="unavailable")


_STYLES = {"before_tool_call": _before, "after_tool_call": _after}
_CALL = ("call", "tool", "context")
_ARGUMENTS = {
    "before_tool_call": _CALL,
    "after_tool_call": (*_CALL, "result"),
    "around_tool_call": (*_CALL, "call_next"),
}
AGENT_HOOKS = {
    "before_run": ("agent", "context"),
    "after_run": ("agent", "outcome", "usage", "cost", "context"),
    "before_model_request": ("request", "context"),
    "after_model_request": ("request", "reply", "error", "cost", "context"),
}


def _with_arguments(function: Callable[..., Any], places: list[int], count: int) -> Callable[..., Any]:
    """Return a function that takes all arguments and passes those at `places`."""
    if places == list(range(count)):
        return function
    return lambda *arguments: function(*[arguments[place] for place in places])


def _ordered(manager: pluggy.PluginManager) -> list[tuple[str, pluggy.HookImpl]]:
    """Return the hooks around calls with their names, the outermost first.

    Hooks marked `tryfirst` come before all others and those marked `trylast` after them; otherwise the plugin that was
    registered last is the outermost.
    """
    places = {name: -place for place, (name, _) in enumerate(manager.list_name_plugin())}
    hooks = [
        (name, implementation) for name in _AROUND for implementation in getattr(manager.hook, name).get_hookimpls()
    ]
    rank = {(True, False): 0, (False, False): 1, (False, True): 2}
    return sorted(hooks, key=lambda hook: (rank[hook[1].tryfirst, hook[1].trylast], places[hook[1].plugin_name]))


def hook_order(manager: pluggy.PluginManager) -> list[tuple[str, str]]:
    """Return the names of all hooks with their plugins: first those around calls, then the others."""
    others = [
        (name, implementation)
        for name in ("decide_tool_call", "start_tool_call", "on_event", *AGENT_HOOKS, "register_runtimes")
        for implementation in getattr(manager.hook, name).get_hookimpls()
    ]
    return [(name, implementation.plugin_name) for name, implementation in (*_ordered(manager), *others)]
