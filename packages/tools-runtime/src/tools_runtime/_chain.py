"""The hooks around a call: compiled once from the plugins, then gone through for each call, without doing anything.

`steps` is a generator: it yields the call when it is to be made, and what hooks wait for; see `_drive`.
"""

from __future__ import annotations

import sys
from threading import Lock, current_thread, main_thread
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from tools_core import Halt, Result, ToolCall, ToolError
from tools_runtime._event import Event
from tools_runtime._log import log, said

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    import pluggy

    from tools_core import Context, Tool

    Steps = Generator[Any, Any, Result]

HOOKS = ("around_tool_call", "before_tool_call", "after_tool_call")
_AROUND, _BEFORE, _AFTER = range(3)
# What a plugin may raise; SystemExit, which must not take along a result that is made, or a thread, as well.
ACCIDENTS = (Exception, Halt, SystemExit)
_ARGUMENTS = ("call", "tool", "context", "result")


class Layer(NamedTuple):
    """One hook around a call, and where it comes from."""

    run: Callable[..., Any]
    plugin: str
    hook: str


class Trace:
    """How often each hook ran and the seconds that it took, by (plugin, hook)."""

    def __init__(self) -> None:
        self.times: dict[tuple[str, str], tuple[int, float]] = {}
        self._adding = Lock()

    def add(self, layer: Layer, seconds: float, count: int) -> None:
        """Count what a hook took."""
        key = layer.plugin, layer.hook
        with self._adding:
            known = self.times.get(key, (0, 0.0))
            self.times[key] = known[0] + count, known[1] + seconds


def accidents() -> tuple[type[BaseException], ...]:
    """ACCIDENTS, and a cancellation: that of a call comes to who awaits it, and never out of a hook."""
    return (*ACCIDENTS, *cancellations())


def cancellations() -> tuple[type[BaseException], ...]:
    """What cancels a task."""
    cancelled = getattr(sys.modules.get("asyncio.exceptions"), "CancelledError", None)  # not loaded: nobody raised one
    return () if cancelled is None else (cancelled,)


def _nothing(_: str) -> None:
    """No tool has the name."""


class Chain:
    """What the plugins have to say about calls: who wraps one, the outermost first, and who listens."""

    def __init__(self, around: Sequence[Layer], before: Sequence[Layer], after: Sequence[Layer]) -> None:
        self._layers = (around, before, after)
        self._around = tuple(layer.run for layer in around)
        self._before = tuple(enumerate(layer.run for layer in before))
        self._after = tuple(reversed(list(enumerate(layer.run for layer in after))))
        self.listeners: Sequence[tuple[Callable[..., object], str]] = ()
        self.is_empty = not (around or before or after)
        self._inner: Chain | None = None
        # How many of those around may change the call: the policy is the last one, since it decides about what is made.
        self._changing = next((place for place, layer in enumerate(around, 1) if layer.plugin == "policy"), len(around))

    @classmethod
    def of(cls, manager: pluggy.PluginManager, trace: Trace | None = None) -> Chain:
        """Compile the hooks of plugins."""
        around, before, after = (_layers(getattr(manager.hook, hook), trace) for hook in HOOKS)
        # What asks to be the last sees the call as it is made; and what it refuses is seen by `after`, too.
        last = sum(impl.trylast for impl in ordered(manager.hook.around_tool_call)) if before or after else 0
        made = cls(around[: len(around) - last], before, after)
        made.listeners = tuple((_given(impl, ("event",)), impl.plugin_name) for impl in ordered(manager.hook.on_event))
        if last:
            made._inner = cls(around[len(around) - last :], (), ())
            made._inner.listeners = made.listeners
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
            # It may raise anything, as pytest.fail does: in a thread the call would have no end.
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt) and current_thread() is main_thread():  # of the user
                    raise
                log().exception("on_event of %s failed", plugin)

    # One loop in one function: what a call pays for its hooks is what this takes.
    def steps(  # noqa: C901, PLR0912, PLR0915
        self, call: ToolCall, tool: Tool | None, context: Context, find: Callable[[str], Tool | None] = _nothing
    ) -> Steps:
        """Go through the hooks around one call; yields the call to have it made, and whatever hooks wait for.

        Where a hook makes it a call of another tool, `find` gives that one.
        """
        opened: list[Any] = []  # the generator of each that wraps the call, None for one that has nothing to say
        given: list[ToolCall] = []  # the calls that they were given, as soon as one is changed
        result: Result
        while True:
            for start in self._around[len(opened) :]:  # inward
                try:
                    generator = start(call, tool, context)
                    step = generator.send(None)
                    if step is not None:
                        if not isinstance(step, ToolCall):
                            step = yield from self._wait(generator, step)
                        self._check(step, call, len(opened))
                except _ENDS as end:
                    if end.value is not None:
                        result = self._answer(_AROUND, len(opened), call, end.value, None)
                        break
                    generator = step = None
                except accidents() as error:
                    result = self._failure(_AROUND, len(opened), call, error, None)
                    break
                opened.append(generator)
                if step is not None or given:
                    given += [call] * (len(opened) - len(given))
                    if step is not None:
                        call, tool = step, (tool if step.name == call.name else find(step.name))
            else:
                asked = self._asked(call, tool, context, find) if self._before else call
                if isinstance(asked, Result):
                    result = asked
                elif self._inner is None:
                    result = yield asked
                else:
                    known = tool if asked.name == call.name else find(asked.name)
                    result = yield from self._inner.steps(asked, known, context, find)
                if self._after:
                    result = self._seen(call, tool, context, result)
            while opened:  # outward
                generator = opened.pop()
                if given:
                    before = given.pop()
                    call, tool = before, (tool if before.name == call.name else find(before.name))
                if generator is None:
                    continue
                try:
                    step = generator.send(result)
                    if step is not None:
                        if not isinstance(step, ToolCall):
                            step = yield from self._wait(generator, step)
                        self._check(step, call, len(opened))
                except _ENDS as end:
                    if end.value is not None and end.value is not result:
                        result = self._answer(_AROUND, len(opened), call, end.value, result)
                except accidents() as error:
                    result = self._failure(_AROUND, len(opened), call, error, result)
                else:  # the call is to be made again
                    opened.append(generator)
                    if step is not None or given:
                        given += [call] * (len(opened) - len(given))
                        if step is not None:
                            call, tool = step, (tool if step.name == call.name else find(step.name))
                    break
            else:
                return result

    def _check(self, step: ToolCall | None, call: ToolCall, place: int) -> None:
        """Refuse another call that comes from behind the policy, which would not see it."""
        if step is not None and place >= self._changing and step != call:
            raise TypeError("it changed a call that the policy had decided about; leave out trylast=True")

    def _asked(
        self, call: ToolCall, tool: Tool | None, context: Context, find: Callable[[str], Tool | None]
    ) -> ToolCall | Result:
        """The call as those hooks leave it that come before it, or the result with which one of them answers."""
        for place, before in self._before:
            try:
                answer = before(call, tool, context)
            except accidents() as error:
                return self._failure(_BEFORE, place, call, error, None)
            if isinstance(answer, ToolCall):
                call, tool = answer, (tool if answer.name == call.name else find(answer.name))
            elif answer is not None:
                return self._answer(_BEFORE, place, call, answer, None)
        return call

    def _seen(self, call: ToolCall, tool: Tool | None, context: Context, result: Result) -> Result:
        """The result as those hooks leave it that come after the call."""
        for place, after in self._after:
            try:
                answer = after(call, tool, context, result)
            except accidents() as error:
                result = self._failure(_AFTER, place, call, error, result)
            else:
                if answer is not None:
                    result = self._answer(_AFTER, place, call, answer, result)
        return result

    def _wait(self, generator: Any, step: Any) -> Generator[Any, Any, Any]:
        """Have done what a hook waits for, until it wants the call to be made: that is returned; or raise `_Ended`."""
        try:
            while step is not None and not isinstance(step, ToolCall):
                if type(step) is Event:
                    self.emit(step)
                    step = generator.send(None)
                    continue
                try:
                    value = yield step
                except accidents() as error:  # of what the hook waited for: the hook's to handle
                    step = generator.throw(error)
                else:
                    step = generator.send(value)
        except StopIteration as end:  # which no generator can let through
            raise _Ended(end.value) from None
        return step

    def _answer(self, kind: int, place: int, call: ToolCall, answer: object, made: Result | None) -> Result:
        """What a hook returned, if it is a result; else the hook has failed."""
        if isinstance(answer, Result):
            return answer
        return self._failure(kind, place, call, TypeError(f"it returned {type(answer).__name__}, not a Result"), made)

    def _failure(self, kind: int, place: int, call: ToolCall, error: BaseException, made: Result | None) -> Result:
        """The result where a hook raised: an answer is one, and an accident leaves what was made before."""
        if (answer := answer_of(error)) is not None:
            return answer
        layer = self._layers[kind][place]
        log().error("%s of %s failed", layer.hook, layer.plugin, exc_info=error)
        text = said(error)
        self.emit(Event("hook_failed", call, detail={"plugin": layer.plugin, "hook": layer.hook, "error": text}))
        if made is not None:
            return made
        return Result.error(
            f"the call was not made: {layer.hook} of {layer.plugin} failed with {text}", type="unavailable"
        )


def answer_of(error: BaseException) -> Result | None:
    """The answer that an exception is, if it is none by accident."""
    if isinstance(error, ToolError):
        return Result.error(error.message, type=error.type, exception=error)
    return Result.halt(error.output) if isinstance(error, Halt) else None


class _Ended(Exception):
    """A hook ended while it waited, with this value."""

    def __init__(self, value: Any) -> None:
        self.value = value


_ENDS = (StopIteration, _Ended)  # of a generator, and of one that waited


def ordered(hook: pluggy.HookCaller) -> Sequence[pluggy.HookImpl]:
    """In the order in which they wrap a call: as they were given; the policy after those, then who wants to be last.

    pluggy calls the last registered first, and turns those around that want to be last.
    """
    impls = list(reversed(hook.get_hookimpls()))
    last = sorted((impl for impl in reversed(impls) if impl.trylast), key=lambda impl: impl.plugin_name != "policy")
    return [*(impl for impl in impls if not impl.trylast), *last]


def _layers(hook: pluggy.HookCaller, trace: Trace | None) -> list[Layer]:
    made: list[Layer] = []
    for impl in ordered(hook):
        layer = Layer(
            _given(impl, _ARGUMENTS[: 4 if hook.name == "after_tool_call" else 3]), impl.plugin_name, hook.name
        )
        if trace is not None:
            timed = _timed_generator if hook.name == "around_tool_call" else _timed
            layer = Layer(timed(layer, trace), layer.plugin, layer.hook)
        made.append(layer)
    return made


def _given(impl: pluggy.HookImpl, arguments: tuple[str, ...]) -> Callable[..., Any]:
    """The function of a hook, taking all arguments though it may name only some."""
    function, names = impl.function, tuple(impl.argnames)
    if names == arguments:
        return function
    if names == ("call",) and len(arguments) == 3:  # the commonest; to pass on any number of arguments takes longer
        return lambda call, _tool, _context: function(call)
    if names == ("call", "context") and len(arguments) == 3:
        return lambda call, _tool, context: function(call, context)
    places = [arguments.index(name) for name in names]
    return lambda *given: function(*[given[place] for place in places])


def _timed(layer: Layer, trace: Trace) -> Callable[..., Any]:
    def timed(*given: Any) -> Any:
        began = perf_counter()
        try:
            return layer.run(*given)
        finally:
            trace.add(layer, perf_counter() - began, 1)

    return timed


def _timed_generator(layer: Layer, trace: Trace) -> Callable[..., Any]:
    def timed(*given: Any) -> Steps:
        began = perf_counter()
        generator = layer.run(*given)
        count, value, failure = 1, None, None
        while True:
            try:
                step = generator.send(value) if failure is None else generator.throw(failure)
            except StopIteration as end:
                result: Result = end.value
                return result
            finally:
                trace.add(layer, perf_counter() - began, count)
                count = 0
            failure = None
            try:
                value = yield step
            except accidents() as error:  # handed on to the hook
                failure = error
            began = perf_counter()

    return timed
