"""The hooks around a call: compiled once from the plugins, then gone through for each call, without doing anything.

`steps` is a generator: it yields the call when it is to be made, and what hooks wait for; see `_drive`.
"""

from __future__ import annotations

import logging
from itertools import chain
from time import perf_counter
from types import GeneratorType
from typing import TYPE_CHECKING, Any, NamedTuple

from tools_core import Halt, Result, ToolCall, ToolError
from tools_runtime._event import Event

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Sequence

    import pluggy

    from tools_core import Context, Tool

    Steps = Generator[Any, Any, Result]

logger = logging.getLogger("tools_runtime")

_ARGUMENTS = ("call", "tool", "context")


class Layer(NamedTuple):
    """One hook around a call, and where it comes from."""

    start: Callable[..., Any]
    plugin: str
    hook: str


class Trace:
    """How often each hook ran and the seconds that it took, by (plugin, hook)."""

    def __init__(self) -> None:
        self.times: dict[tuple[str, str], tuple[int, float]] = {}

    def add(self, layer: Layer, seconds: float, count: int) -> None:
        """Count what a hook took."""
        key = layer.plugin, layer.hook
        known = self.times.get(key, (0, 0.0))
        self.times[key] = known[0] + count, known[1] + seconds


class Chain:
    """What the plugins have to say about calls: the layers around one from the outermost, and who listens."""

    def __init__(self, manager: pluggy.PluginManager, trace: Trace | None = None) -> None:
        hooks = manager.hook
        before = (Layer(_before(_given(impl)), impl.plugin_name, "before_tool_call") for impl in _ordered(hooks.before_tool_call))
        after = (Layer(_after(impl), impl.plugin_name, "after_tool_call") for impl in _ordered(hooks.after_tool_call))
        around = (Layer(_given(impl), impl.plugin_name, "around_tool_call") for impl in _ordered(hooks.around_tool_call))
        layers: Iterable[Layer] = chain(around, after, before)
        if trace is not None:
            layers = (Layer(_timed(layer, trace), layer.plugin, layer.hook) for layer in layers)
        self.layers = tuple(layers)
        self.listeners = tuple((impl.function, impl.plugin_name) for impl in _ordered(hooks.on_event))

    def within(self, layer: Layer) -> Chain:
        """These layers with one more inside them."""
        made = object.__new__(Chain)
        made.layers = (*self.layers, layer)
        made.listeners = self.listeners
        return made

    def listen(self, context: Context, call: ToolCall) -> None:
        """Have the listeners told of the progress of a call."""
        outer = context.on_progress

        def report(done: float, total: float | None, message: str) -> None:
            self.emit(Event("progress", call, detail={"done": done, "total": total, "message": message}))
            if outer is not None:
                outer(done, total, message)

        context.on_progress = report

    def emit(self, event: Event) -> None:
        """Tell the listeners; one that fails is logged, and keeps nothing from the others."""
        for listener, plugin in self.listeners:
            try:
                listener(event)
            except Exception:
                logger.exception("on_event of %s failed", plugin)

    def failed(self, layer: Layer, call: ToolCall, error: BaseException) -> None:
        """Report a hook that failed."""
        logger.error("%s of %s failed", layer.hook, layer.plugin, exc_info=error)
        detail = {"plugin": layer.plugin, "hook": layer.hook, "error": f"{type(error).__name__}: {error}"}
        self.emit(Event("hook_failed", call, detail=detail))

    def steps(self, call: ToolCall, tool: Tool | None, context: Context) -> Steps:
        """Go through the layers around one call; yields the call to have it made, and whatever hooks wait for."""
        layers = self.layers
        opened: list[tuple[Any, int, ToolCall, bool]] = []  # generator, its layer, its call, whether it was made before
        depth, result, value = 0, None, None
        inward = True
        while True:
            if inward:
                if depth == len(layers):
                    result = yield call
                    inward = False
                    continue
                layer = layers[depth]
                try:
                    generator = layer.start(call, tool, context)
                    if type(generator) is not GeneratorType:
                        raise TypeError(f"a hook around a call is a generator; this one returned {type(generator).__name__}")
                except Exception as error:  # noqa: BLE001  (a plugin may raise anything)
                    result, inward = self._refused(layer, call, error), False
                    continue
                opened.append((generator, depth, call, False))
                value = None
            elif not opened:
                return result
            else:
                value = result
            generator, position, own_call, was_made = opened.pop()
            try:
                step = generator.send(value)
                while step is not None and not isinstance(step, ToolCall):
                    if type(step) is Event:
                        self.emit(step)
                        step = generator.send(None)
                        continue
                    try:
                        value = yield step
                    except Exception as error:  # noqa: BLE001  (of what the hook waited for: the hook's to handle)
                        step = generator.throw(error)
                    else:
                        step = generator.send(value)
            except StopIteration as end:
                answer = end.value
                if isinstance(answer, Result):
                    result, inward = answer, False
                elif answer is not None:
                    error = TypeError(f"returned {type(answer).__name__}, not a Result")
                    if was_made:
                        self.failed(layers[position], own_call, error)
                    else:
                        result = self._refused(layers[position], own_call, error)
                    inward = False
                elif was_made:
                    inward = False
                else:  # nothing to say
                    call, depth, inward = own_call, position + 1, True
            except (Exception, Halt) as error:  # noqa: BLE001  (a plugin may raise anything)
                answer = _answered(error)
                if answer is not None:
                    result = answer
                elif was_made:
                    self.failed(layers[position], own_call, error)
                else:
                    result = self._refused(layers[position], own_call, error)
                inward = False
            else:
                opened.append((generator, position, own_call, True))
                call = own_call if step is None else step
                depth, inward = position + 1, True

    def _refused(self, layer: Layer, call: ToolCall, error: BaseException) -> Result:
        answer = _answered(error)
        if answer is not None:
            return answer
        self.failed(layer, call, error)
        return Result.error(
            f"the call was not made: {layer.hook} of {layer.plugin} failed with {type(error).__name__}: {error}",
            type="unavailable",
        )


def _answered(error: BaseException) -> Result | None:
    if isinstance(error, ToolError):
        return Result.error(error.message, type=error.type, exception=error)
    return Result.halt(error.output) if isinstance(error, Halt) else None


def _ordered(hook: pluggy.HookCaller) -> Sequence[pluggy.HookImpl]:
    """In the order in which pluggy calls them: the last registered first, unless it asks for another place."""
    return list(reversed(hook.get_hookimpls()))


def _given(impl: pluggy.HookImpl) -> Callable[..., Any]:
    """The function of a hook, taking all arguments though it may name only some."""
    function, names = impl.function, tuple(impl.argnames)
    if names == _ARGUMENTS:
        return function
    if names == ("call",):
        return lambda call, _tool, _context: function(call)
    places = [_ARGUMENTS.index(name) for name in names]
    return lambda *given: function(*[given[place] for place in places])


def _before(function: Callable[..., Any]) -> Callable[..., Any]:
    def before(call: ToolCall, tool: Tool | None, context: Context) -> Steps:
        answer = function(call, tool, context)
        if answer is None or isinstance(answer, ToolCall):
            return (yield answer)
        return answer  # what is no Result is refused as with any hook

    return before


def _after(impl: pluggy.HookImpl) -> Callable[..., Any]:
    function, names = impl.function, frozenset(impl.argnames)

    def after(call: ToolCall, tool: Tool | None, context: Context) -> Steps:
        result = yield
        given = {"call": call, "tool": tool, "context": context, "result": result}
        return function(**{name: value for name, value in given.items() if name in names})

    return after


def _timed(layer: Layer, trace: Trace) -> Callable[..., Any]:
    def timed(call: ToolCall, tool: Tool | None, context: Context) -> Steps:
        began = perf_counter()
        generator = layer.start(call, tool, context)
        count, value, failure = 1, None, None
        while True:
            try:
                step = generator.send(value) if failure is None else generator.throw(failure)
            except StopIteration as end:
                return end.value
            finally:
                trace.add(layer, perf_counter() - began, count)
                count = 0
            failure = None
            try:
                value = yield step
            except Exception as error:  # noqa: BLE001  (handed on to the hook)
                failure = error
            began = perf_counter()

    return timed
