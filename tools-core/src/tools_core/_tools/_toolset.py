"""`Toolset`: several tools as methods of one object, with shared settings and state."""

from __future__ import annotations

import atexit
from collections.abc import Callable
from functools import cached_property, wraps
from typing import Any, ClassVar, Self, TypeVar

from tools_core._definition._define import model_text
from tools_core._definition._spec import Spec, is_async
from tools_core._execution._body import awaitable, finish
from tools_core._tools._function import FunctionTool, function_tool
from tools_core._tools._methods import read_methods
from tools_core._tools._options import (
    OPTIONS,
    check_name,
    check_option,
    derive_name,
    is_computed,
    right_word,
)
from tools_core._tools._setup import Setup, running_loop, setting_up
from tools_core._tools._tool import Tool
from tools_core._tools._wrapped import is_tool, tool_of_method
from tools_core._values._errors import DefinitionError

T = TypeVar("T")

_SETTINGS = ("name", "description", "prefix")


class Toolset:
    """Subclass it: each public method is a tool, named after the toolset and the method.

    ```python
    class Notes(Toolset):
        def __init__(self, path: str) -> None:
            self.path = path

        def add(self, text: str) -> str:
            \"\"\"Add a note.\"\"\"
    ```

    `Notes("a.txt").tools` has one tool, `notes_add`. Inherited methods and static methods are tools; class methods and
    names with a leading underscore are not. `@tool(...)` sets the options of a method. `name` and `description` are
    class attributes or properties; models read a description that is set after the description of each tool.
    `prefix = False` leaves the toolset's name out of its tools' names. `setup` runs once, before the first call.
    `teardown` runs at `close()`, at the end of a `with` block, or when Python exits. Both may be `async def`. A class
    with a method that models cannot call raises DefinitionError when it is defined.
    """

    name: str
    description: str = ""
    prefix: bool = True
    _is_described: ClassVar[bool] = False  # by an attribute or a property, and not by the docstring
    _methods: ClassVar[dict[str, tuple[Spec, dict[str, Any]]]] = {}  # with their options

    def __init_subclass__(cls, *, name: str | None = None, description: str | None = None, **options: Any) -> None:
        super().__init_subclass__(**options)
        owner = f"{cls.__module__}.{cls.__qualname__}"
        _check_attributes(cls, owner)
        if name is not None:
            cls.name = name
        if description is not None:
            cls.description = description
        attributes = vars(cls)
        if not is_computed(attributes.get("name")):
            derived = derive_name(cls.__name__).removesuffix("_toolset").removesuffix("_tools")
            cls.name = check_name(attributes.get("name", derived), owner)
        if "description" in attributes:
            cls._is_described = True
            if not is_computed(attributes["description"]):
                check_option("description", cls.description, owner)
        elif attributes.get("__doc__") and not cls._is_described:
            cls.description = model_text(attributes["__doc__"])
        cls._methods = read_methods(cls.__mro__[: cls.__mro__.index(Toolset)], owner, vars(Toolset))
        names = [options.get("name", name) for name, (_, options) in cls._methods.items()]
        if repeated := next((name for name in names if names.count(name) > 1), None):
            raise DefinitionError(f"{owner} has two tools called {repeated!r}; rename one of them")

    @property
    def tools(self) -> tuple[FunctionTool[..., Any], ...]:
        """The tools of this object, by name of the method; the same objects at each access."""
        if not self._methods:
            raise DefinitionError(f"{type(self).__qualname__} has no tools: write a public method")
        return tuple(self.tool(method) for method in self._methods)

    def tool(self, method: str) -> FunctionTool[..., Any]:
        """Return the tool of a method; DefinitionError if it does not exist."""
        if method not in self._methods:
            names = ", ".join(self._methods) or "none"
            raise DefinitionError(f"{type(self).__qualname__} has no tool {method!r}; it has {names}")
        tools = self.__state.tools
        return tools.get(method) or tools.setdefault(method, self.__tool(method))

    def __tool(self, method: str) -> FunctionTool[..., Any]:
        spec, options = self._methods[method][0], dict(self._methods[method][1])
        if self._is_described:
            text = options.get("description") or options.pop("desc", "") or spec.description
            options["description"] = f"{text}\n\n{self.description.strip()}".strip()
        options.setdefault("name", f"{self.name}_{method}" if self.prefix else method)
        function = getattr(self, method)
        if isinstance(function, FunctionTool):  # @staticmethod over @tool
            function = function.__wrapped__
        prepared = self.__after_setup(function)
        tool: FunctionTool[..., Any] = FunctionTool(prepared, spec=spec, **options)
        tool._method, tool._needs_setup = (self, method), prepared is not function
        return tool

    @cached_property
    def __state(self) -> Setup:
        """The state of this object. It is created late, because a subclass may not call our `__init__`."""
        return Setup()

    def setup(self) -> Any:
        """Open what the tools share; runs once, before the first call."""

    def teardown(self) -> Any:
        """Close what `setup` opened."""

    def close(self) -> None:
        """Run `teardown`, if `setup` ran; the next call runs `setup` again."""
        if self.__reset():
            finish(self.teardown())

    async def aclose(self) -> None:
        """`close` for coroutines."""
        if self.__reset() and hasattr(result := self.teardown(), "__await__"):
            await result

    def __enter__(self) -> Self:
        self.__set_up()
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        await self.__aset_up()
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.aclose()

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the state of `setup`: a copy runs it again."""
        return {name: value for name, value in vars(self).items() if name != "_Toolset__state"}

    def __after_setup(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """Return the method, preceded by `setup` if the class has one."""
        if type(self).setup is Toolset.setup:
            return method

        def start(**arguments: Any) -> Any:
            return arun(running_loop(), arguments)

        async def arun(caller: object, arguments: dict[str, Any]) -> Any:
            await self.__aset_up(caller)
            if is_async(method):
                return await awaitable(method(**arguments))
            return await _in_thread(lambda: method(**arguments))

        def run(**arguments: Any) -> Any:
            self.__set_up()
            return method(**arguments)

        return wraps(method)(start if is_async(method) or is_async(self.setup) else run)

    def __set_up(self) -> None:
        state = self.__state
        if not state.is_needed:
            return
        if is_async(self.setup):
            finish(self.__aset_up(running_loop()))
            return
        with state.lock:
            if not state.is_set_up:
                with setting_up(state):
                    self.setup()
                self.__finish_setup()

    async def __aset_up(self, caller: object = None) -> None:
        """Run `setup` once; `caller` is the event loop in which the call began, which it may block."""
        state = self.__state
        if not (state.is_set_up or is_async(self.setup)):
            await _in_thread(self.__set_up)
        while state.is_needed:
            if await state.is_first(caller):
                try:
                    with setting_up(state):
                        await self.setup()
                    self.__finish_setup()
                finally:
                    state.end()

    def __finish_setup(self) -> None:
        self.__state.is_set_up = True
        atexit.register(self.close)

    def __reset(self) -> bool:
        """Return whether `setup` ran, and forget it."""
        with self.__state.lock:
            atexit.unregister(self.close)
            was_set_up, self.__state.is_set_up = self.__state.is_set_up, False
            return was_set_up


def _check_attributes(cls: type[Toolset], owner: str) -> None:
    """Refuse methods with a name that Toolset uses, and options of tools as class attributes."""
    reserved = {name for name in vars(Toolset) if not name.startswith("_")} - set(_SETTINGS)
    for base in cls.__mro__[: cls.__mro__.index(Toolset)]:
        for name, value in vars(base).items():
            if name in reserved:
                code = getattr(value, "__code__", None)
                if name not in ("setup", "teardown") or code is None or code.co_argcount != 1:
                    raise DefinitionError(f"{owner}: a Toolset uses the name {name} itself; rename the method")
                continue
            option = "requires_approval" if right_word(name) == "requires_approval" else name
            if option in OPTIONS and option not in _SETTINGS and not callable(value) and not is_computed(value):
                raise DefinitionError(f"{owner}: set {option} on its methods: @tool({option}=...)")


async def _in_thread(body: Callable[[], Any]) -> Any:
    import asyncio  # 29 ms, and loaded already

    from tools_core.threads import in_thread  # with it

    return await asyncio.wrap_future(in_thread(body))


def as_tools(value: Any) -> list[Tool]:
    """Return the tools of a Tool class or instance, a function, a method, or an object with a tuple of `tools`."""
    if is_tool(value):
        return [value]
    if isinstance(value, type) and issubclass(value, Tool | Toolset):
        return as_tools(instance_of(value))
    if (tool := tool_of_method(value)) is not None:
        return [tool]
    tools = getattr(value, "tools", None)
    is_agent = hasattr(value, "as_tool")
    if isinstance(tools, tuple) and all(isinstance(item, Tool) for item in tools) and not is_agent:
        return list(tools)
    if callable(value) and not isinstance(value, type):
        return [function_tool(value)]
    advice = "register each tool" if isinstance(value, list | tuple) else "pass a Tool, a function or a Toolset"
    advice = "pass the tool that its `as_tool()` returns" if is_agent else advice
    raise DefinitionError(f"{value!r} is not a tool; {advice}")


def instance_of(cls: type[T]) -> T:
    """Return an instance of a tool or toolset class without constructor arguments."""
    try:
        return cls()
    except TypeError as error:
        raise DefinitionError(f"{cls.__qualname__} needs arguments ({error}); register an instance") from error
