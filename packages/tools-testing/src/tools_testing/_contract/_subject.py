"""The tool under check, the calls that its body may run for, and probes that do not run it."""

from __future__ import annotations

import copy
import sys
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tools_core import Context, Tool
from tools_testing._arguments import NoValueError, samples
from tools_testing._contract._promise import NotApplicable
from tools_testing._fixtures import one_tool
from tools_testing._observe import calling

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from tools_testing._observe import Caller, ObservedCall

_GENERATED = 8  # calls of a harmless tool
_PATIENCE = 30.0  # seconds for one call, beyond the tool's own limit

_RULE = "its body runs only for sample arguments, or if the tool is read_only, not open_world, and needs no approval"


class Subject:
    """One tool under check.

    Args:
        tool: A Tool, a class of one, or a function.
        arguments: Sample arguments, or several of them, for which the body may run.
        context: The context of those calls.
        origin: `module:attribute`, from which another process can import the tool.
    """

    def __init__(
        self,
        tool: Any,
        *,
        arguments: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        context: Context | None = None,
        origin: str | None = None,
    ) -> None:
        self.tool = one_tool(tool)
        several: Any = [arguments] if hasattr(arguments, "keys") else arguments or ()
        self.samples: list[dict[str, Any]] = [copy.deepcopy(dict(sample)) for sample in several]
        self.context = context
        self.origin = origin or _origin(tool if isinstance(tool, type) else self.tool)

    @property
    def definition(self) -> dict[str, Any]:
        return self.tool.definition

    @property
    def schema(self) -> dict[str, Any]:
        schema: dict[str, Any] = self.definition["input_schema"]
        return schema

    @cached_property
    def valid(self) -> list[dict[str, Any]]:
        """Valid arguments: the samples, then generated ones."""
        try:
            return [*self.samples, *samples(self.schema, _GENERATED)]
        except NoValueError as error:
            if self.samples:
                return self.samples
            raise NotApplicable(str(error)) from None

    @property
    def is_harmless(self) -> bool:
        """True if the body may run for generated arguments."""
        tool = self.tool
        return bool(tool.read_only) and not tool.open_world and not tool.requires_approval and not tool.destructive

    @property
    def runs(self) -> list[dict[str, Any]]:
        """The arguments for which the body may run; NotApplicable without any."""
        if not self.samples and not self.is_harmless:
            raise NotApplicable(f"{_RULE}; give sample arguments")
        return copy.deepcopy(self.samples or self.valid)

    def calling(self) -> AbstractContextManager[Caller]:
        """Provide a caller of the tool itself."""
        return calling(self.tool, limit=(self.tool.timeout or 0.0) + _PATIENCE, context=self.context)

    @cached_property
    def calls(self) -> list[ObservedCall]:
        """One call for each of `runs`, until one does not end."""
        observed: list[ObservedCall] = []
        runs = self.runs
        with self.calling() as caller:
            for arguments in runs:
                observed.append(caller(arguments))
                if observed[-1].is_endless:
                    break
        return observed

    def probe(self, body: Callable[[dict[str, Any]], Any]) -> Tool:
        """Return a copy of the tool with another body.

        NotApplicable for a tool that overrides `call` or `acall`, which may do anything, unless it is harmless.
        """
        override = next((name for name in ("call", "acall") if _overrides(self.tool, name)), None)
        if override is not None and not self.is_harmless:
            raise NotApplicable(f"it overrides `{override}`, which may have effects even if the body does not run")
        probe = copy.copy(self.tool)
        if self.tool.is_async:

            async def execute(**arguments: Any) -> Any:
                return body(arguments)

            probe.execute = execute  # type: ignore[method-assign]  # of the copy that is observed
        else:
            probe.execute = lambda **arguments: body(arguments)  # type: ignore[method-assign]  # of the copy that is observed
        return probe

    def recorder(self) -> tuple[Tool, list[dict[str, Any]]]:
        """Return a probe and the list to which its body adds the arguments of each call."""
        received: list[dict[str, Any]] = []
        return self.probe(received.append), received


def _overrides(tool: Tool, name: str) -> bool:
    return getattr(type(tool), name) is not getattr(Tool, name) or name in vars(tool)


def _origin(tool: Any) -> str | None:
    """Return `module:attribute` if that is this tool or its class."""
    for candidate in (tool, type(tool)):
        module, name = getattr(candidate, "__module__", None), getattr(candidate, "__qualname__", None)
        # Classes of the core are shared by all tools made from functions.
        if not module or not name or module == "__main__" or "<" in name or module.startswith("tools_core."):
            continue
        value: Any = sys.modules.get(module)
        for part in name.split("."):
            value = getattr(value, part, None)
        if value is candidate:
            return f"{module}:{name}"
    return None
