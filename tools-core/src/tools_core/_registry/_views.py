"""What can be read from a registry, and the views which show a part of one, or show it under other names."""

# a view asks its base by the inner methods that both inherit

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, ItemsView, Iterable, Iterator, Mapping, ValuesView

from tools_core._values._errors import DefinitionError, ToolError, UnknownToolError
from tools_core._values._problem import listing, show

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from typing import Any, TypeVar, overload

    from tools_core._tools._approval import Approve
    from tools_core._tools._tool import Tool
    from tools_core._values._context import Context
    from tools_core._values._result import Result
    from tools_core._values._tool_call import ToolCall

    T = TypeVar("T")


_NEAR_LIMIT = 2_000  # names that "did you mean" compares with; it costs about 10 us for each


class ToolMapping(Mapping[str, "Tool"]):
    """Tools by name, to be read: a registry, or a live view of one.

    Iterating shows names and imports nothing; a toolset that is not loaded yet shows as one name, its own.
    `values`, `items`, `all` and `definitions` load every tool, and leave out the broken ones.
    """

    @abstractmethod
    def _find(self, name: str) -> Tool | None:
        """The tool, or None; raises for a tool that is there but broken, and for a name that means two."""

    @abstractmethod
    def _knows(self, name: str) -> bool:
        """Whether there is one tool of that name, without loading it."""

    @abstractmethod
    def _settle(self, may_begin: Callable[[str], bool]) -> None:
        """Load whatever may be a toolset with tools whose names begin as `may_begin` accepts."""

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
        """How many names there are."""
        return len(self)

    def all(self) -> list[Tool]:
        """Every tool that loads; `problems` of the registry says which did not."""
        return list(self._loaded().values())

    def definitions(self) -> list[dict[str, Any]]:
        """What a model is shown, each under the name by which the tool is found here."""
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

    def filter(
        self,
        predicate: Callable[[Tool], bool] | None = None,
        *,
        names: Iterable[str] | None = None,
        patterns: Iterable[str] | None = None,
        tags: Iterable[str] | None = None,
    ) -> ToolMapping:
        """A view of the tools that meet every condition given.

        Args:
            predicate: Asked with the tool, which has to be loaded for that.
            names: The names wanted, as this mapping lists them.
            patterns: Wildcard patterns (`fs_*`), of which one has to match the name.
            tags: Tags, of which the tool has to have one; it has to be loaded for that.
        """
        view: ToolMapping = self
        if names is not None or patterns is not None:
            view = _Named(view, _strings(names), _strings(patterns))
        if tags is not None:
            wanted = set(_strings(tags))
            view = _Chosen(view, lambda tool: not wanted.isdisjoint(tool.tags))
        return view if predicate is None else _Chosen(view, predicate)

    def prefix(self, prefix: str) -> ToolMapping:
        """A view in which every name begins with `prefix`, and the tools answer to that name."""
        return _Renamed(
            self,
            lambda name: prefix + name,
            lambda name: name.removeprefix(prefix) if name.startswith(prefix) else None,
        )

    def rename(self, names: Mapping[str, str]) -> ToolMapping:
        """A view with other names, given as `{"old": "new"}`; the old ones are unknown in it.

        Raises: ValueError if two tools would have one name.
        """
        new_names = dict(names)
        old_names = {new: old for old, new in new_names.items()}
        for old, new in new_names.items():
            if old_names[new] != old:
                raise ValueError(f"`{old}` and `{old_names[new]}` cannot both be renamed to `{new}`")
            if new in self and new not in new_names:
                raise ValueError(f"`{old}` cannot be renamed to `{new}`: that is another tool's name")
        return _Renamed(
            self,
            lambda name: new_names.get(name, name),
            lambda name: old_names.get(name, None if name in new_names else name),
            renamed=new_names,
        )

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


class _View(ToolMapping):
    def __init__(self, base: ToolMapping) -> None:
        self._base = base

    def _settle(self, may_begin: Callable[[str], bool]) -> None:
        self._base._settle(may_begin)


class _Named(_View):
    """Some of the names: a toolset is loaded only if one of them can be among its tools."""

    def __init__(self, base: ToolMapping, names: Iterable[str], patterns: Iterable[str]) -> None:
        super().__init__(base)
        self._names = frozenset(names)
        self._patterns = tuple(patterns)
        self._starts = tuple(_literal_start(pattern) for pattern in self._patterns)

    def _wants(self, name: str) -> bool:
        from fnmatch import fnmatchcase  # for views alone

        return name in self._names or any(fnmatchcase(name, pattern) for pattern in self._patterns)

    def _find(self, name: str) -> Tool | None:
        return self._base._find(name) if self._wants(name) else None

    def _knows(self, name: str) -> bool:
        return self._wants(name) and self._base._knows(name)

    def _settle(self, may_begin: Callable[[str], bool]) -> None:
        self._base._settle(lambda start: self._may_begin(start) and may_begin(start))

    def _may_begin(self, start: str) -> bool:
        return any(name.startswith(start) for name in self._names) or any(
            start.startswith(known) or known.startswith(start) for known in self._starts
        )

    def __iter__(self) -> Iterator[str]:
        # Unless it is wanted itself: then it stands in for its tools, as it does in the registry.
        self._base._settle(lambda start: self._may_begin(start) and not self._wants(start[:-1]))
        return iter([name for name in self._base if self._wants(name)])


class _Chosen(_View):
    """Some of the tools, by what they are, for which they have to be loaded."""

    def __init__(self, base: ToolMapping, predicate: Callable[[Tool], bool]) -> None:
        super().__init__(base)
        self._predicate = predicate

    def _find(self, name: str) -> Tool | None:
        tool = self._base._find(name)
        return tool if tool is not None and self._predicate(tool) else None

    def _knows(self, name: str) -> bool:
        return name in list(self)

    def __iter__(self) -> Iterator[str]:
        return iter([name for name, tool in self._base._loaded().items() if self._predicate(tool)])


class _Renamed(_View):
    """Every tool under another name."""

    def __init__(
        self,
        base: ToolMapping,
        to_new: Callable[[str], str],
        to_old: Callable[[str], str | None],
        renamed: Iterable[str] = (),
    ) -> None:
        super().__init__(base)
        self._to_new = to_new
        self._to_old = to_old
        self._renamed = renamed
        # A renamed tool is a new object; keeping it keeps the validator that it compiles at its first call.
        self._made: dict[str, tuple[Tool, Tool]] = {}

    def _find(self, name: str) -> Tool | None:
        old = self._to_old(name)
        if self._is_contested(name):
            error = f"`{name}` means more than one tool: `{old}`, renamed, and `{name}` itself"
            raise UnknownToolError(name, error)
        tool = None if old is None else self._base._find(old)
        if tool is None or old == name:
            return tool
        made = self._made.get(name)
        if made is None or made[0] is not tool:
            made = self._made[name] = (tool, tool.renamed(name))
        return made[1]

    def _knows(self, name: str) -> bool:
        old = self._to_old(name)
        return old is not None and self._base._knows(old) and not self._is_contested(name)

    def _is_contested(self, name: str) -> bool:
        """Whether the base got a tool of that name after another was renamed to it."""
        return self._to_old(name) != name == self._to_new(name) and self._base._knows(name)

    def _settle(self, may_begin: Callable[[str], bool]) -> None:
        def may_begin_old(start: str) -> bool:
            return may_begin(self._to_new(start)) or any(old.startswith(start) for old in self._renamed)

        self._base._settle(may_begin_old)

    def __iter__(self) -> Iterator[str]:
        return iter([new for old in self._base if not self._is_contested(new := self._to_new(old))])


def _not_called(error: DefinitionError | ToolError | UnknownToolError) -> Result:
    from tools_core._values._result import Result  # only where names are turned into calls

    kind = "unknown_tool" if isinstance(error, UnknownToolError) else getattr(error, "type", "unavailable")
    return Result.error(str(error), type=kind, exception=error)


def _strings(given: Iterable[str] | None) -> tuple[str, ...]:
    """One string is one item, not its letters."""
    return (given,) if isinstance(given, str) else tuple(given or ())


def _literal_start(pattern: str) -> str:
    return pattern[: min((pattern.find(c) for c in "*?[" if c in pattern), default=len(pattern))]


def _nearest(name: object, known: list[str]) -> list[str]:
    if not isinstance(name, str):
        return []
    from difflib import get_close_matches  # only for a wrong name: costs 4 ms at import

    lower = {each.lower(): each for each in known[:_NEAR_LIMIT]}
    return [lower[each] for each in get_close_matches(name[:64].lower(), lower)]
