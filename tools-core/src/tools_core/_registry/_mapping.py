"""The reading part of a registry: tools by name, and calls by the name of a tool."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, ItemsView, Mapping, ValuesView

from tools_core._values._errors import DefinitionError, ToolError, UnknownToolError
from tools_core._values._problem import listing, show

TYPE_CHECKING: bool = False  # importing typing costs 4 ms; with a type, jedi reads the block as well
if TYPE_CHECKING:
    from typing import Any, TypeVar, overload

    from tools_core._registry._entry_points import EntryPoint
    from tools_core._tools._approval import Approve
    from tools_core._tools._tool import Tool
    from tools_core._values._context import Context
    from tools_core._values._result import Result
    from tools_core._values._tool_call import ToolCall

    T = TypeVar("T")


_NEAR_LIMIT = 2_000  # names that "did you mean" compares with; it costs about 10 us for each


class ToolMapping(Mapping[str, "Tool"]):
    """Tools by name, to be read.

    Iterating shows names and imports nothing; a toolset that is not loaded yet shows as one name, its own.
    `values`, `items`, `all` and `definitions` load every tool, and leave out the broken ones.
    """

    @abstractmethod
    def _find(self, name: str) -> Tool | None:
        """The tool, or None; raises for a tool that is there but broken, and for a name that means two."""

    @abstractmethod
    def _knows(self, name: str) -> bool:
        """Return whether there is one tool of that name, without loading it."""

    @abstractmethod
    def _settle(self, may_begin: Callable[[str], bool]) -> None:
        """Load whatever may be a toolset with tools whose names begin as `may_begin` accepts."""

    @abstractmethod
    def origin(self, name: str) -> EntryPoint | None:
        """The entry point behind a name, without importing it; None for a tool that was registered."""

    def __getitem__(self, name: str) -> Tool:
        tool = self.get(name)
        if tool is None:
            raise self._unknown(name)
        return tool

    if TYPE_CHECKING:

        @overload
        def get(self, name: str, /) -> Tool | None: ...
        @overload
        def get(self, name: str, /, default: Tool | T) -> Tool | T: ...

    def get(self, name: Any, /, default: Any = None) -> Any:
        """The tool, or `default` for an unknown name.

        A broken tool or an ambiguous name raises, as it does for `[]`: neither is absent.
        """
        tool = self._find(name) if isinstance(name, str) else None
        return default if tool is None else tool

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._knows(name)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @property
    def count(self) -> int:
        """Return the number of names."""
        return len(self)

    def all(self) -> list[Tool]:
        """Every tool that loads; `problems` of the registry says which did not."""
        return list(self._loaded().values())

    def definitions(self) -> list[dict[str, Any]]:
        """Return the definitions for a model, each under the name by which the tool is found here."""
        return [{**tool.definition, "name": name} for name, tool in self._loaded().items()]

    def call(self, call: ToolCall, context: Context | None = None, *, approve: Approve = None) -> Result:
        """Call the tool that a model asked for; an unknown or broken tool is a Result as well.

        A tool with `requires_approval` is called if `approve` is "all", or a function that returns True or "once" for
        the ApprovalRequest; else the error is `approval_required` or `denied`.
        """
        try:
            tool = self[call.name]
        except (DefinitionError, ToolError, UnknownToolError) as error:
            return _not_called(error)
        if tool.requires_approval and approve != "all":
            from tools_core._tools._approval import ask  # only for tools that require approval
            from tools_core._values._context import Context

            context = context or Context()
            refused = ask(tool, call, context, approve)
            if refused is not None:
                return refused
        return tool.call(call, context)

    async def acall(self, call: ToolCall, context: Context | None = None, *, approve: Approve = None) -> Result:
        """`call` for coroutines; `approve` may be a coroutine function."""
        try:
            tool = self[call.name]
        except (DefinitionError, ToolError, UnknownToolError) as error:
            return _not_called(error)
        if tool.requires_approval and approve != "all":
            from tools_core._tools._approval import aask  # see call
            from tools_core._values._context import Context

            context = context or Context()
            refused = await aask(tool, call, context, approve)
            if refused is not None:
                return refused
        return await tool.acall(call, context)

    def values(self) -> ValuesView[Tool]:
        return self._loaded().values()

    def items(self) -> ItemsView[str, Tool]:
        return self._loaded().items()

    # A mapping would compare its items, and so import every plugin.
    __eq__ = object.__eq__
    __hash__ = object.__hash__  # pyright: ignore[reportAssignmentType]

    def _loaded(self) -> dict[str, Tool]:
        self._settle(lambda _: True)
        found: dict[str, Tool] = {}
        for name in self:
            try:
                tool = self._find(name)
            except ToolError:  # does not load, which the registry keeps among its problems
                continue
            if tool is not None:
                found[name] = tool
        return found

    def _unknown(self, name: object) -> UnknownToolError:
        known = list(self)
        if not known:
            return UnknownToolError(str(name), f"no tool {show(name)}: there are no tools")
        near = _nearest(name, known)
        hint = f"did you mean {listing(near)}?" if near else f"there are {listing(known)}"
        return UnknownToolError(str(name), f"no tool {show(name)}; {hint}", near)


def _not_called(error: DefinitionError | ToolError | UnknownToolError) -> Result:
    from tools_core._values._result import Result  # only where names are turned into calls

    kind = "unknown_tool" if isinstance(error, UnknownToolError) else getattr(error, "type", "unavailable")
    return Result.error(str(error), type=kind, exception=error)


def _nearest(name: object, known: list[str]) -> list[str]:
    if not isinstance(name, str):
        return []
    from difflib import get_close_matches  # only for a wrong name: costs 4 ms at import

    lower = {each.lower(): each for each in known[:_NEAR_LIMIT]}
    return [lower[each] for each in get_close_matches(name[:64].lower(), lower)]
