"""The plugins of an executor: installed plugins, and its `hooks`.

pluggy's own loader stops at the first plugin that fails, and skips the second of two plugins with the same name. Here
the name includes the distribution, and a plugin that fails affects no other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from inspect import iscoroutinefunction, isgeneratorfunction, signature
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import pluggy

from tools_core import Registry
from tools_runtime import hookspecs
from tools_runtime._events import describe_error, log
from tools_runtime._policy import Approvals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools_runtime._runtimes._runtime import Runtime

GROUP = "ask_tools.plugins"


class Installed(NamedTuple):
    """An installed plugin, or the reason why it does not work."""

    name: str  # distribution:name
    plugin: Any
    error: str | None


@cache
def installed_plugins() -> list[Installed]:
    """Load what is installed, once for the process; a plugin that fails is logged and skipped.

    `ASK_TOOLS_ALLOW` and `ASK_TOOLS_DENY` apply to plugins as they do to tools, and `ASK_TOOLS_LOCK` to their packages.
    """
    names, plugins = Registry(), []
    for name in names.discover(GROUP):
        point = names.origin(name)
        if point is None:  # its distribution was removed this very moment
            continue
        try:
            plugins.append(Installed(point.qualified, _instance(point.load()), None))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001  (a plugin may raise anything, SystemExit included)
            plugins.append(Installed(point.qualified, None, describe_error(error)))
            log.warning("the plugin %s does not work: %s", point.qualified, describe_error(error))
    return plugins


def _instance(plugin: Any) -> Any:
    return plugin() if isinstance(plugin, type) else plugin


class Plugins:
    """The plugins of an executor; `problems` has the installed ones that do not work, by distribution and name."""

    def __init__(self, hooks_of_user: Sequence[Any], *, installed: bool, policy: Any = None) -> None:
        if not isinstance(hooks_of_user, Iterable):
            raise TypeError(f"hooks must be a list of plugins, got {hooks_of_user!r}")
        self.manager = pluggy.PluginManager(hookspecs.PROJECT)
        self.manager.add_hookspecs(hookspecs)
        self.problems: dict[str, str] = {}
        if isinstance(policy, str | PathLike | Mapping | list | tuple):
            raise TypeError(f"policy is a Policy, such as Policy(rules) or Policy(files=[path]), got {policy!r}")
        if policy is not None:
            self._register(_instance(policy), "policy")
        if installed:
            self._add_installed()
        for number, plugin in reversed(list(enumerate(hooks_of_user))):  # the last one registered is the outermost
            instance = _instance(plugin)
            self._register(instance, f"{getattr(instance, '__name__', None) or type(instance).__name__}#{number + 1}")

    def runtimes(self) -> dict[str, type[Runtime]]:
        """The runtimes that plugins register, by name."""
        plugins: dict[str, type[Runtime]] = {}
        for impl in self.manager.hook.register_runtimes.get_hookimpls():  # the outermost last
            named: Any = impl.function()
            plugins |= named
        return plugins

    def approvals(self) -> Approvals | None:
        """Return the store of approvals of the policy, if there is one."""
        stores = (getattr(plugin, "approvals", None) for plugin in self.manager.get_plugins())
        return next((store for store in stores if isinstance(store, Approvals)), None)

    def _add_installed(self) -> None:
        for name, plugin, problem in reversed(installed_plugins()):  # the first by name is the outermost
            if problem is not None:
                self.problems[name] = problem
                continue
            try:
                self._register(plugin, name)
            except Exception as error:  # noqa: BLE001  (attributes of an object may raise anything)
                self.problems[name] = describe_error(error)
                log.warning("the plugin %s does not work: %s", name, describe_error(error))

    def _register(self, plugin: Any, name: str) -> None:
        self.manager.register(plugin, name)
        callers = self.manager.get_hookcallers(plugin) or ()
        hooks = [
            (caller.name, implementation)
            for caller in callers
            for implementation in caller.get_hookimpls()
            if implementation.plugin is plugin
        ]
        try:
            self.manager.check_pending()  # hooks that do not exist
            _check(plugin, name, hooks)
        except pluggy.PluginValidationError:
            self.manager.unregister(plugin)
            raise


def _check(plugin: Any, name: str, hooks: Sequence[tuple[str, pluggy.HookImpl]]) -> None:
    """Raise PluginValidationError for a plugin without hooks, or with a hook that would not work."""
    problems = [] if hooks else [f"{name} has no hook: mark its functions with @hookimpl"]
    for hook, impl in hooks:
        problem = _misfit(hook, impl) if hasattr(hookspecs, hook) else None
        if problem is not None:
            problems.append(f"{hook} of {name} {problem}")
    if problems:
        raise pluggy.PluginValidationError(plugin, problems[0])


def _misfit(hook: str, impl: pluggy.HookImpl) -> str | None:
    """Return why a hook would not work, or None."""
    if impl.wrapper or impl.hookwrapper:
        return "is a pluggy wrapper: use @hookimpl without options; around_tool_call is a wrapper already"
    arguments = signature(getattr(hookspecs, hook)).parameters
    for parameter in signature(impl.function).parameters.values():
        is_optional = parameter.default is not parameter.empty
        if (parameter.kind is parameter.KEYWORD_ONLY and not is_optional) or (
            parameter.name in arguments and is_optional
        ):
            return f"never receives {parameter.name}: write it before any `*`, and without a default"
    is_generator, is_async = isgeneratorfunction(impl.function), iscoroutinefunction(impl.function)
    if hook == "around_tool_call" and not (is_generator or is_async):
        return "is not a generator or coroutine function: `result = yield`, or `await call_next()`, runs the call"
    if is_async and hook == "around_tool_call" and "call_next" not in impl.argnames:
        return "never runs the call: add the parameter call_next"
    if hook != "around_tool_call" and is_generator:
        return "is a generator; only around_tool_call may be one"
    if is_async and hook in ("decide_tool_call", "on_event", "register_runtimes"):
        return "is a coroutine function; it must be a plain function"
    return None
