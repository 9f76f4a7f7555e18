"""Plugins: those that are installed, each loaded by itself, and those that an executor is given.

pluggy's own loader stops at the first plugin that fails, and takes only the first of two with one name. Here each is
known by its distribution and name, and one that fails is a problem which keeps nothing from the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache, partial
from inspect import iscoroutinefunction, isgeneratorfunction, signature
from time import perf_counter
from typing import TYPE_CHECKING, Any

import pluggy

from tools_runtime import hookspecs
from tools_runtime._log import log, said

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tools_runtime._runtimes import Runtime

GROUP = "ask_tools.plugins"
_LOAD_TIMEOUT = 10.0


class Installed:
    """An installed plugin: loaded once for the process, which all executors share."""

    def __init__(self, name: str, origin: str) -> None:
        self.name = name  # distribution:name
        self.origin = origin  # distribution and version
        self.plugin: Any = None
        self.error: str | None = None  # why it is left out
        self.milliseconds = 0.0  # that it took to load


@cache
def installed_plugins() -> list[Installed]:
    """Load what is installed; one that fails, hangs or exits is left out and named, in the log as well.

    `ASK_TOOLS_ALLOW`, `ASK_TOOLS_DENY` and `ASK_TOOLS_LOCK` keep plugins from being imported, as they do tools.
    """
    from tools_core import Registry  # metadata is only read for who wants plugins
    from tools_core.threads import in_thread, unwrap  # as above

    names, found = Registry(), []
    for name in names.discover(GROUP):
        point = names.origin(name)
        if point is None:  # its distribution was removed this very moment
            continue
        made = Installed(point.qualified, f"{point.distribution} {point.version}")
        began = perf_counter()
        try:
            made.plugin = unwrap(in_thread(partial(_made, point.load)).result(_LOAD_TIMEOUT))
        except KeyboardInterrupt:
            raise
        # A plugin may raise anything, SystemExit included, and must not take its host or the others along.
        except BaseException as error:  # noqa: BLE001
            is_late = isinstance(error, TimeoutError) and perf_counter() - began >= _LOAD_TIMEOUT
            made.error = f"it did not load within {_LOAD_TIMEOUT:g} s" if is_late else said(error)
            _warn(made)
        made.milliseconds = (perf_counter() - began) * 1000
        found.append(made)
    return found


def _made(load: Callable[[], Any]) -> Any:
    return _instance(load())


def _instance(plugin: Any) -> Any:
    return plugin() if isinstance(plugin, type) else plugin


def _warn(installed: Installed) -> None:
    log().warning("the plugin %s of %s is left out: %s", installed.name, installed.origin, installed.error)


class Plugins:
    """The plugins of an executor; `problems` says which installed ones do not work, by distribution and name."""

    def __init__(self, given: Sequence[Any], *, installed: bool, policy: Any = None) -> None:
        if not isinstance(given, Iterable):
            raise TypeError(f"hooks are a list of plugins, got {given!r}; one goes into a list, too")
        self.manager = pluggy.PluginManager(hookspecs.PROJECT)
        self.manager.add_hookspecs(hookspecs)
        self.problems: dict[str, str] = {}
        self.origins: dict[str, str] = {}  # of each plugin by name: its distribution and version, or "given"
        if policy is not None:  # the first one: the nearest to the call, but for what makes it again
            self._register(_instance(policy), "policy", "given")
        if installed:
            self._add_installed()
        for number, plugin in reversed(list(enumerate(given))):  # the last one to be registered is the outermost
            made = _instance(plugin)
            self._register(made, _name_of(made, number), "given")

    def runtimes(self) -> dict[str, type[Runtime]]:
        """The runtimes that plugins register, by name; TypeError when one that was given registers something else."""
        found: dict[str, type[Runtime]] = {}
        for impl in self.manager.hook.register_runtimes.get_hookimpls():  # the outermost last
            try:
                found |= _checked(impl.function(), impl.plugin_name)
            # An installed plugin may raise anything, and must not take its host or the others along.
            except BaseException as error:
                if self.origins[impl.plugin_name] == "given" or isinstance(error, KeyboardInterrupt):
                    raise
                self.problems[impl.plugin_name] = said(error)
                log().warning("register_runtimes of the plugin %s failed: %s", impl.plugin_name, said(error))
        return found

    def _add_installed(self) -> None:
        for installed in reversed(installed_plugins()):  # the first by name is the outermost
            name = installed.name
            self.origins[name] = installed.origin
            try:
                if installed.error is None:
                    self._register(installed.plugin, name, installed.origin)
            except Exception as error:  # noqa: BLE001  (attributes of an object may raise anything)
                installed.error = said(error)
                _warn(installed)
            if installed.error is not None:
                self.problems[name] = installed.error

    def _register(self, plugin: Any, name: str, origin: str) -> None:
        try:
            self.manager.register(plugin, name)
            self._check(name)
        except Exception:
            if self.manager.get_plugin(name) is not None:
                self.manager.unregister(name=name)
            raise
        self.origins[name] = origin

    def _check(self, name: str) -> None:
        """Refuse hooks that would never be called, or not as they are meant."""
        plugin = self.manager.get_plugin(name)
        known = {hook for hook in vars(hookspecs) if hasattr(getattr(hookspecs, hook), f"{hookspecs.PROJECT}_spec")}
        callers = self.manager.get_hookcallers(plugin) or ()
        impls = [(caller.name, impl) for caller in callers for impl in caller.get_hookimpls()]
        problem = _problem(name, [(hook, impl) for hook, impl in impls if impl.plugin_name == name], known)
        if problem is not None:
            raise pluggy.PluginValidationError(plugin, problem)


def _problem(name: str, hooks: Sequence[tuple[str, pluggy.HookImpl]], known: set[str]) -> str | None:
    """What is wrong with the hooks of a plugin; None where nothing is."""
    if not hooks:
        return f"{name} has no hook: mark its functions with @hookimpl"
    unknown = sorted({hook for hook, impl in hooks if not impl.optionalhook} - known)
    if unknown:
        return f"{name} has hooks that do not exist: {', '.join(unknown)}; there are {', '.join(sorted(known))}"
    for hook, impl in hooks:
        if hook not in known:  # one of another version, which the plugin can do without
            continue
        if impl.wrapper or impl.hookwrapper:
            return f"{hook} of {name} is a wrapper of pluggy's: write @hookimpl alone; around_tool_call wraps by itself"
        function = impl.function
        arguments = signature(getattr(hookspecs, hook)).parameters
        for each in signature(function).parameters.values():
            is_optional = each.default is not each.empty
            if (each.kind is each.KEYWORD_ONLY and not is_optional) or (each.name in arguments and is_optional):
                return f"{hook} of {name} is never given {each.name}: write it before any `*`, and without a default"
        is_generator = isgeneratorfunction(function)
        if hook == "around_tool_call" and not is_generator:
            return f"{hook} of {name} is no generator: write `result = yield` where the call is made"
        if hook != "around_tool_call" and (is_generator or iscoroutinefunction(function)):
            return f"{hook} of {name} is no plain function: what needs waiting belongs in around_tool_call"
    return None


def _checked(named: Any, plugin: str) -> Mapping[str, type[Runtime]]:
    """What a plugin registers, if these are runtimes by name."""
    from tools_runtime._runtimes import Runtime  # for who registers any

    if not isinstance(named, Mapping):
        raise TypeError(f"register_runtimes of {plugin} returned {type(named).__name__}, not a mapping")
    for name, kind in named.items():
        if not (isinstance(name, str) and isinstance(kind, type) and issubclass(kind, Runtime)):
            raise TypeError(f"register_runtimes of {plugin} gave {name!r}: {kind!r}, not a name and a class of Runtime")
    return named


def _name_of(plugin: Any, number: int) -> str:
    name = getattr(plugin, "__name__", None) or type(plugin).__name__
    return f"{name}#{number + 1}"
