"""`Toolset`: one object, many tools, with settings and state that they share."""

from __future__ import annotations

from functools import wraps
from types import FunctionType
from typing import TYPE_CHECKING, Any, ClassVar, Self

from tools_core._definition._naming import check_name, derive_name
from tools_core._definition._spec import is_async
from tools_core._execution._body import awaitable, finish
from tools_core._tools._function import FunctionTool, Options, ToolMethod
from tools_core._values._errors import DefinitionError

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from tools_core._definition._spec import Spec


_LIFECYCLE = ("_setup_lock", "_is_set_up", "_opening")


class Toolset:
    """Subclass it: each public method is a tool, named after the toolset and the method.

    ```python
    class Notes(Toolset):
        def __init__(self, path: str) -> None:
            self.path = path

        def add(self, text: str) -> str:
            \"\"\"Add a note.\"\"\"
    ```

    `Notes("a.txt").tools` has one tool, `notes_add`. Methods of parent toolsets and static methods count, class
    methods and names with a leading underscore do not; `@tool(...)` on a method sets its options. `name` and
    `description` are class attributes: the model reads a description that is set after that of each tool.
    `prefix = False` leaves the toolset's name out of its tools' names. `setup` runs once, before the first call, and
    `teardown` at `close()`, at the end of a `with` block, or when Python ends; both may be `async def`. A method that
    no model could call raises DefinitionError when the class is defined.
    """

    name: str
    description: str = ""
    prefix: bool = True
    _shared_description: ClassVar[str] = ""  # a description that was given, not taken from the docstring
    _methods: ClassVar[dict[str, tuple[Spec, Options]]] = {}

    def __init_subclass__(cls, *, name: str | None = None, description: str | None = None, **options: Any) -> None:
        from tools_core._definition._define import define, described  # programs that only call tools never load it

        super().__init_subclass__(**options)
        where = f"{cls.__module__}.{cls.__qualname__}"
        own = vars(cls)
        chosen = name if name is not None else own.get("name")
        if not isinstance(chosen, property):  # a property tells the name of each instance, see tools
            derived = derive_name(cls.__name__).removesuffix("_toolset").removesuffix("_tools")
            cls.name = check_name(derived if chosen is None else chosen, where)
        if description is not None:
            cls.description = description
        if description is not None or "description" in own:
            cls._shared_description = cls.description.strip()
        elif "description" not in own and own.get("__doc__"):
            cls.description = described(own["__doc__"])
        _check_lifecycle(cls, where)
        cls._methods = {
            method: (define(function, owner=f"{where}.{method}", bound=bound, **_schema_options(options)), options)
            for method, function, bound, options in public_methods(cls)
        }
        names = [options.get("name", method) for method, (_, options) in cls._methods.items()]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise DefinitionError(f"{where} has two tools called {twice!r}; give one of them another name")

    @property
    def tools(self) -> tuple[FunctionTool[..., Any], ...]:
        """The tools of this object, by name of the method."""
        return tuple(self.tool(method) for method in self._methods)

    def tool(self, method: str) -> FunctionTool[..., Any]:
        """Return the tool of one method; DefinitionError when there is none."""
        if method not in self._methods:
            raise DefinitionError(
                f"{type(self).__qualname__} has no tool {method!r}; it has {', '.join(self._methods)}"
            )
        spec, given = self._methods[method]
        options = given.copy()
        if self._shared_description:
            own = options.get("description") or spec.description
            options["description"] = f"{own}\n\n{self._shared_description}".strip()
        options.setdefault("name", f"{self.name}_{method}" if self.prefix else method)
        made: FunctionTool[..., Any] = FunctionTool(
            self._prepared(_undecorated(getattr(self, method))), spec=spec, **options
        )
        made._method = (self, method)
        return made

    def setup(self) -> Any:
        """Open what the tools share; runs once, before the first call."""

    def teardown(self) -> Any:
        """Close what `setup` opened."""

    def close(self) -> None:
        """Run `teardown`, if `setup` ran; the toolset can be used again after."""
        if self._closing():
            finish(self.teardown())

    async def aclose(self) -> None:
        """`close` for coroutines."""
        if self._closing():
            await _awaited(self.teardown())

    def __enter__(self) -> Self:
        self._set_up()
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        await self._aset_up()
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.aclose()

    def __getstate__(self) -> Any:
        """Leave out that `setup` ran, because a copy runs it again."""
        state: Any = super().__getstate__()
        own, *slots = state if isinstance(state, tuple) else (state,)
        kept = {name: value for name, value in (own or {}).copy().items() if name not in _LIFECYCLE}
        return (kept, *slots) if slots else kept

    def _prepared(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """Return the method, preceded by `setup` where the class has one."""
        if type(self).setup is Toolset.setup:
            return method
        if is_async(method) or is_async(type(self).setup):

            async def arun(**arguments: Any) -> Any:
                await self._aset_up()
                if is_async(method):
                    return await awaitable(method(**arguments))
                return await _in_thread(lambda: method(**arguments))

            return wraps(method)(arun)

        def run(**arguments: Any) -> Any:
            self._set_up()
            return method(**arguments)

        return wraps(method)(run)

    def _set_up(self) -> None:
        if is_async(type(self).setup):
            finish(self._aset_up())
            return
        with self._lock():
            if not self.__dict__.get("_is_set_up"):
                self.setup()
                self._opened()

    async def _aset_up(self) -> None:
        if self.__dict__.get("_is_set_up"):
            return
        if not is_async(type(self).setup):
            await _in_thread(self._set_up)
            return
        import asyncio  # loaded already: a coroutine awaits us
        from concurrent.futures import Future  # loaded with it

        with self._lock():
            opening: Future[None] | None = self.__dict__.get("_opening")
            is_first = opening is None
            if opening is None:
                opening = self.__dict__["_opening"] = Future()
        if not is_first:  # perhaps in another event loop
            await asyncio.shield(asyncio.wrap_future(opening))
            return
        try:
            await self.setup()
            self._opened()
        except BaseException as error:
            del self.__dict__["_opening"]  # the next call tries again
            opening.set_exception(error)
            raise
        opening.set_result(None)

    def _lock(self) -> AbstractContextManager[Any]:
        import threading  # only toolsets with a setup need a lock

        lock: AbstractContextManager[Any] = self.__dict__.setdefault("_setup_lock", threading.RLock())
        return lock

    def _closing(self) -> bool:
        """Return whether there is something to tear down; from now on there is not."""
        import atexit  # built in

        with self._lock():
            atexit.unregister(self.close)
            self.__dict__.pop("_opening", None)
            return bool(self.__dict__.pop("_is_set_up", False))

    def _opened(self) -> None:
        import atexit  # built in

        self.__dict__["_is_set_up"] = True
        atexit.register(self.close)


def public_methods(cls: type[Toolset]) -> list[tuple[str, Callable[..., Any], bool, Options]]:
    """Name, function, whether it takes self, and options of each method that is a tool, sorted by name."""
    bases = cls.__mro__[: cls.__mro__.index(Toolset) + 1]
    reserved = {name for base in bases if _is_ours(base) for name in vars(base)}
    found: dict[str, tuple[str, Callable[..., Any], bool, Options]] = {}
    for base in reversed([base for base in bases if not _is_ours(base)]):
        for name, value in vars(base).items():
            overridden = found.pop(name, None)  # maybe by something else than a tool
            if name.startswith("_") or name in reserved:
                continue
            kept = _restrictions(overridden[3]) if overridden else Options()
            method = _method_of(value, f"{base.__module__}.{base.__qualname__}.{name}")
            if method is not None:
                function, bound, options = method
                found[name] = (name, function, bound, {**kept, **options})
    return [found[name] for name in sorted(found)]


def _method_of(value: object, where: str) -> tuple[Callable[..., Any], bool, Options] | None:
    """Return the function behind an attribute of a class, True if it takes self, and its options; None for others."""
    if isinstance(value, FunctionType):
        return value, True, Options()
    if isinstance(value, ToolMethod):
        return value.function, not value.is_static, value.options
    if isinstance(value, staticmethod):
        function = value.__func__
        if isinstance(function, FunctionTool):  # @staticmethod over @tool
            return function.__wrapped__, False, function._options
        return function, False, Options()
    if isinstance(value, FunctionTool) and f"{value.__module__}.{getattr(value, '__qualname__', '')}" == where:
        raise DefinitionError(f"{where}: @tool needs a method with `self`, or a @staticmethod")
    return None


def _undecorated(method: Callable[..., Any]) -> Callable[..., Any]:
    return method.__wrapped__ if isinstance(method, FunctionTool) else method


def _restrictions(options: Options) -> Options:
    """Return the options that a method inherits from the one that it overrides."""
    claims = ("description", "input_schema", "parameters", "read_only", "idempotent", "tags")
    return {name: value for name, value in options.items() if name not in claims}  # type: ignore[return-value]


def _check_lifecycle(cls: type[Toolset], where: str) -> None:
    """Refuse a method that would be taken for one of ours, and so never be a tool."""
    ours = {name for name in vars(Toolset) if not name.startswith("_")} - {"name", "description", "prefix"}
    for base in cls.__mro__[: cls.__mro__.index(Toolset)]:
        for name in ours & vars(base).keys() if not _is_ours(base) else ():
            code = getattr(vars(base)[name], "__code__", None)
            if name not in ("setup", "teardown") or code is None or code.co_argcount != 1:
                raise DefinitionError(f"{where}: a Toolset uses the name {name} itself; rename the method")


def _is_ours(base: type) -> bool:
    return base.__module__.partition(".")[0] == "tools_core"


def _schema_options(options: Options) -> dict[str, Any]:
    return {key: value for key, value in options.items() if key in ("input_schema", "parameters")}


async def _in_thread(body: Callable[[], Any]) -> Any:
    import asyncio  # loaded already: a coroutine awaits us

    from tools_core.threads import in_thread, unwrap  # with it

    return unwrap(await asyncio.wrap_future(in_thread(body)))


async def _awaited(value: Any) -> Any:
    return await value if hasattr(value, "__await__") else value
