"""The tool under check: what is known of it, when its body may run, and how to look without running it."""

from __future__ import annotations

import copy
import inspect
import tempfile
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tools_core import Context, Tool
from tools_testing._contract._check import NotApplicable
from tools_testing._observe import observe
from tools_testing._values._source import NoValueError, samples

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

    from tools_testing._observe import Observation

_GENERATED = 8  # calls that a harmless tool gets
_PATIENCE = 30.0  # seconds for one call before it counts as never ending

RULE = "its body runs only for sample arguments, or where the tool is read_only, not open_world, and needs no approval"


class Subject:
    """One tool and what a check may do with it.

    `make` constructs it once more, where that is possible. `origin` is where another process can import it, as
    `module:attribute`.
    """

    def __init__(
        self,
        tool: Tool,
        *,
        arguments: Sequence[Mapping[str, Any]] = (),
        context: Context | None = None,
        make: Callable[[], Tool] | None = None,
        origin: str | None = None,
    ) -> None:
        self.tool = tool
        self.given = [copy.deepcopy(dict(each)) for each in arguments]
        self.context = context
        self.make = make
        self.origin = origin

    @property
    def definition(self) -> dict[str, Any]:
        return self.tool.definition

    @property
    def schema(self) -> dict[str, Any]:
        schema: dict[str, Any] = self.definition["input_schema"]
        return schema

    @cached_property
    def valid(self) -> list[dict[str, Any]]:
        """Arguments that the schema accepts: those given, then generated ones."""
        try:
            made: list[dict[str, Any]] = samples(self.schema, _GENERATED)
        except NoValueError as error:
            if not self.given:
                raise NotApplicable(str(error)) from None
            made = []
        return [*self.given, *made]

    @property
    def is_harmless(self) -> bool:
        """Whether its body may run for arguments that nobody has chosen."""
        tool = self.tool
        return bool(tool.read_only) and not tool.open_world and not tool.requires_approval and not tool.destructive

    @property
    def runs(self) -> list[dict[str, Any]]:
        """The arguments for which the body may run; NotApplicable when there are none."""
        if self.given:
            return copy.deepcopy(self.given)
        if not self.is_harmless:
            raise NotApplicable(f"{RULE}; give sample arguments")
        return copy.deepcopy(self.valid)

    @contextmanager
    def running(self) -> Generator[Context]:
        """A context for one call: the one given, or one with an empty workspace that goes away."""
        if self.context is not None:
            yield self.context
            return
        with tempfile.TemporaryDirectory(prefix="tool-contract-", ignore_cleanup_errors=True) as folder:
            yield Context(workspace=folder)

    @cached_property
    def calls(self) -> list[Observation]:
        """Each of the arguments that the body may run for, called once; what never ends is the last."""
        made: list[Observation] = []
        for arguments in self.runs:
            with self.running() as context:
                made.append(observe(self.tool, arguments, context, patience(self.tool)))
            if made[-1].is_late:
                break
        return made

    def probe(self, body: Callable[[dict[str, Any]], Any]) -> Tool:
        """The same tool with another body, so that its doors can be tried and nothing happens.

        NotApplicable for a tool that has a `call` of its own, which may do anything, unless it is harmless.
        """
        own = next((name for name in ("call", "acall", "invoke") if _overrides(self.tool, name)), None)
        if own is not None and not self.is_harmless:
            raise NotApplicable(f"it has a {own} of its own, which may do anything with arguments that nobody chose")
        probe = copy.copy(self.tool)
        if _is_async(self.tool.execute):

            async def execute(**arguments: Any) -> Any:
                return body(arguments)

            probe.execute = execute  # type: ignore[method-assign]
        else:
            probe.execute = lambda **arguments: body(arguments)  # type: ignore[method-assign]
        return probe

    def recorder(self) -> tuple[Tool, list[dict[str, Any]]]:
        """A probe that only notes what it is called with."""
        seen: list[dict[str, Any]] = []
        return self.probe(seen.append), seen


def _overrides(tool: Tool, name: str) -> bool:
    return getattr(type(tool), name) is not getattr(Tool, name) or name in vars(tool)


def _is_async(function: Any) -> bool:
    function = getattr(function, "func", function)  # functools.partial
    if not hasattr(function, "__code__"):
        function = getattr(type(function), "__call__", function)  # noqa: B004  (its code is wanted)
    return inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)


def patience(tool: Tool) -> float:
    """How long a call of this tool may take before it counts as never ending."""
    return (tool.timeout or 0.0) + _PATIENCE
