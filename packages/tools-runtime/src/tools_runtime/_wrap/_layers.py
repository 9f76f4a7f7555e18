"""The hooks around a call, compiled to one kind of layer: a generator that yields where the call is made.

`steps` goes through the layers of one call, and does nothing by itself: it yields the call when it is to be made, and
what hooks wait for. `_schedule` drives it.
"""

from __future__ import annotations

from threading import current_thread, main_thread
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from tools_core import Halt, Result, ToolCall
from tools_runtime._errors import answer_of, describe_error, log
from tools_runtime._wrap._decide import Judge

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Sequence

    import pluggy

    from tools_core import Context, Tool
    from tools_runtime._event import Event
    from tools_runtime._wrap._decide import Approve

    Wrap = Callable[[ToolCall, Tool | None, Context], Generator[Any, Any, Any]]
    Steps = Generator[Any, Any, Result]

_ACCIDENTS = (Exception, Halt, SystemExit)  # what a hook may raise; KeyboardInterrupt is the user's


class Caller(Protocol):
    """The job that goes through the layers."""

    context: Context

    def find(self, name: str) -> Tool | None:
        """Find the tool of a call that a hook makes instead."""

    def emit(self, kind: Any, result: Result | None = None, **detail: Any) -> None:
        """Emit an event of the call."""


class Layer(NamedTuple):
    """One hook around calls, and where it comes from."""

    wrap: Wrap
    plugin: str
    hook: str


class Layers:
    """The layers around calls, the outermost first, the decision behind them, and the listeners."""

    def __init__(
        self, layers: Iterable[Layer], judge: Judge, listeners: Sequence[tuple[Callable[[Event], object], str]]
    ) -> None:
        self._layers = tuple(layers)
        self.judge = judge
        self.listeners = listeners
        self.is_empty = not (self._layers or judge.is_needed or listeners)

    @classmethod
    def of(cls, manager: pluggy.PluginManager, approve: Approve | None) -> Layers:
        """Compile the hooks of plugins."""
        hook = manager.hook
        layers = [
            Layer(_COMPILERS[name](_taking(impl, _TAKEN[name])), impl.plugin_name, name)
            for name, impl in _ordered(manager)
        ]
        deciders = [(_taking(impl, 3), impl.plugin_name, impl.plugin) for impl in hook.decide_tool_call.get_hookimpls()]
        starters = [(_taking(impl, 3), impl.plugin_name) for impl in hook.start_tool_call.get_hookimpls()]
        listeners = [(impl.function, impl.plugin_name) for impl in reversed(hook.on_event.get_hookimpls())]
        return cls(layers, Judge(deciders, approve, starters), listeners)

    def inside(self, wrap: Wrap, name: str) -> Layers:
        """Return these layers with one more, the innermost: a runtime's own wrapper."""
        return Layers((*self._layers, Layer(wrap, name, "around_tool_call")), self.judge, self.listeners)

    def emit(self, event: Event) -> None:
        """Call the listeners; one that fails is logged and keeps nothing from the others."""
        for listener, plugin in self.listeners:
            try:
                listener(event)
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt) and current_thread() is main_thread():
                    raise
                log.exception("on_event of %s failed", plugin)

    # One loop in one function: what a call pays for its hooks is what this takes.
    def steps(self, call: ToolCall, tool: Tool | None, caller: Caller) -> Steps:  # noqa: C901, PLR0912
        """Go through the layers around one call."""
        context, judge = caller.context, self.judge
        approved: list[Any] = []
        entered: list[tuple[Any, ToolCall, Tool | None]] = []  # the generators, each with the call that it was given
        while True:
            for layer in self._layers[len(entered) :]:  # inward
                generator: Any
                try:
                    generator = layer.wrap(call, tool, context)
                    step = generator.send(None)
                    if step is not None and not isinstance(step, ToolCall):
                        step = yield from _wait(generator, step)
                except _ENDS as end:  # it answers, or has nothing to do with this call
                    if end.value is not None:
                        result = self._checked(layer, end.value, None, caller)
                        break
                    generator = None
                    step = None
                except _ACCIDENTS as error:
                    result = self._failed(layer, error, None, caller)
                    break
                entered.append((generator, call, tool))
                if step is not None:
                    call, tool = step, tool if step.name == call.name else caller.find(step.name)
            else:
                if judge.is_needed or (tool is not None and tool.requires_approval):
                    result = yield from judge.make(call, tool, context, approved)
                else:
                    result = yield call
            while entered:  # outward
                generator, call, tool = entered.pop()
                if generator is None:
                    continue
                try:
                    step = generator.send(result)
                    if step is not None and not isinstance(step, ToolCall):
                        step = yield from _wait(generator, step)
                except _ENDS as end:
                    if end.value is not None and end.value is not result:
                        result = self._checked(self._layers[len(entered)], end.value, result, caller)
                except _ACCIDENTS as error:
                    result = self._failed(self._layers[len(entered)], error, result, caller)
                else:  # it wants the call to be made again
                    entered.append((generator, call, tool))
                    if step is not None:
                        call, tool = step, tool if step.name == call.name else caller.find(step.name)
                    break
            else:
                return result

    def _checked(self, layer: Layer, answer: object, made: Result | None, caller: Caller) -> Result:
        """Return the answer of a hook if it is a Result; else the hook has failed."""
        if isinstance(answer, Result):
            return answer
        error = TypeError(f"it returned {type(answer).__name__}, not a Result")
        return self._failed(layer, error, made, caller)

    def _failed(self, layer: Layer, error: BaseException, made: Result | None, caller: Caller) -> Result:
        """The result where a hook raised: ToolError and Halt are answers, an accident keeps what was made before."""
        answer = answer_of(error)
        if answer is not None:
            return answer
        text = describe_error(error)
        log.error("%s of %s failed", layer.hook, layer.plugin, exc_info=error)
        caller.emit("hook_failed", plugin=layer.plugin, hook=layer.hook, error=text)
        if made is not None:
            return made
        message = f"the call was not made: {layer.hook} of {layer.plugin} failed with {text}"
        return Result.error(message, type="unavailable")


class _Ended(Exception):
    """A hook ended while it waited; a generator cannot let StopIteration through."""

    def __init__(self, value: Any) -> None:
        self.value = value


_ENDS = (StopIteration, _Ended)


def _wait(generator: Any, step: Any) -> Generator[Any, Any, ToolCall | None]:
    """Do what a hook waits for, until it yields the call."""
    try:
        while step is not None and not isinstance(step, ToolCall):
            try:
                value = yield step
            except _ACCIDENTS as error:  # of what the hook waited for: the hook's to handle
                step = generator.throw(error)
            else:
                step = generator.send(value)
    except StopIteration as end:
        raise _Ended(end.value) from None
    return step


def _before(function: Callable[..., Any]) -> Wrap:
    def wrap(call: ToolCall, tool: Tool | None, context: Context) -> Generator[Any, Any, Any]:
        answer = function(call, tool, context)
        if answer is None or isinstance(answer, ToolCall):
            yield answer
            return None
        return answer

    return wrap


def _after(function: Callable[..., Any]) -> Wrap:
    def wrap(call: ToolCall, tool: Tool | None, context: Context) -> Generator[Any, Any, Any]:
        result = yield
        return function(call, tool, context, result)

    return wrap


_COMPILERS: dict[str, Callable[[Callable[..., Any]], Wrap]] = {
    "around_tool_call": lambda function: function,
    "before_tool_call": _before,
    "after_tool_call": _after,
}
_ARGUMENTS = ("call", "tool", "context", "result")
_TAKEN = {"around_tool_call": 3, "before_tool_call": 3, "after_tool_call": 4}


def _ordered(manager: pluggy.PluginManager) -> list[tuple[str, pluggy.HookImpl]]:
    """The hooks around calls with their names, the outermost first.

    Hooks marked `tryfirst` come before all others and those marked `trylast` after them; otherwise the plugin that was
    registered last is the outermost.
    """
    places = {name: -place for place, (name, _) in enumerate(manager.list_name_plugin())}
    found = [(name, impl) for name in _COMPILERS for impl in getattr(manager.hook, name).get_hookimpls()]
    rank = {(True, False): 0, (False, False): 1, (False, True): 2}
    return sorted(found, key=lambda each: (rank[each[1].tryfirst, each[1].trylast], places[each[1].plugin_name]))


def hook_order(manager: pluggy.PluginManager) -> list[tuple[str, str]]:
    """The hooks around calls, and then those that decide and listen, each with its plugin."""
    others = [
        (name, impl)
        for name in ("decide_tool_call", "start_tool_call", "on_event", "register_runtimes")
        for impl in getattr(manager.hook, name).get_hookimpls()
    ]
    return [(name, impl.plugin_name) for name, impl in (*_ordered(manager), *others)]


def _taking(impl: pluggy.HookImpl, count: int) -> Callable[..., Any]:
    """Return the function of a hook, taking all arguments although it may name only some."""
    function, names, arguments = impl.function, tuple(impl.argnames), _ARGUMENTS[:count]
    if names == arguments:
        return function
    if names == ("call",) and count == 3:  # the commonest; passing any number of arguments costs more
        return lambda call, _tool, _context: function(call)
    if names == ("call", "context") and count == 3:
        return lambda call, _tool, context: function(call, context)
    places = [arguments.index(name) for name in names]
    return lambda *given: function(*[given[place] for place in places])
