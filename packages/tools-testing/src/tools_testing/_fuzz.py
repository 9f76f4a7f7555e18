"""`fuzz_tool`: call a tool with valid, invalid and hostile arguments, and check its promises on each call."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

from hypothesis import Phase, find, given, settings
from hypothesis import seed as seeded
from hypothesis.errors import Flaky, NoSuchExample, Unsatisfiable

from tools_testing._arguments import QUIET, NoValueError, arguments_for
from tools_testing._contract import CONTRACT, Outcome, all_but
from tools_testing._contract._promise import shown
from tools_testing._fixtures import one_tool
from tools_testing._observe import calling

if TYPE_CHECKING:
    from collections.abc import Collection

    from hypothesis.strategies import SearchStrategy

    from tools_core import Context
    from tools_testing._arguments import Kind
    from tools_testing._contract import Promise
    from tools_testing._observe import Caller, ObservedCall

_SHRINKING = 150  # calls that search for simpler arguments which break one promise
_DEADLINE = "deadline_is_kept"
_PROMISES = {name: promise for name, promise in CONTRACT.items() if promise.check_call is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenPromise:
    """A promise that a call broke, and the simplest arguments found that break it."""

    promise: Promise
    kind: Kind
    arguments: Any
    problem: str

    @property
    def name(self) -> str:
        """The name of the promise."""
        return self.promise.name

    def __str__(self) -> str:
        return str(Outcome(promise=self.promise, problems=(f"for {shown(self.arguments)}: {self.problem}",)))


@dataclass(frozen=True, slots=True, kw_only=True)
class FuzzReport:
    """The promises that one tool broke in many calls."""

    tool: str
    calls: int
    broken: tuple[BrokenPromise, ...]

    @property
    def ok(self) -> bool:
        """True if no promise was broken."""
        return not self.broken

    def __str__(self) -> str:
        if self.ok:
            return f"`{self.tool}` kept its promises in {self.calls} calls"
        return "\n".join(
            [f"`{self.tool}` broke {len(self.broken)} promises in {self.calls} calls", *map(str, self.broken)]
        )


def fuzz_tool(
    tool: Any,
    *,
    examples: int = 100,
    context: Context | None = None,
    limit: float = 2.0,
    ignore: Collection[str] = (),
    even_destructive: bool = False,
    seed: int = 0,
) -> FuzzReport:
    """Call a tool's own body with valid, invalid and hostile arguments, and report the promises that it breaks.

    Each broken promise comes with the simplest arguments found that break it. Raises ValueError for a tool that is
    destructive or needs approval, unless `even_destructive=True`; NoValueError if no arguments are valid.

    Args:
        tool: A Tool, a class of one, or a function.
        examples: The number of valid arguments; half as many of each other kind.
        context: The context of the calls; by default one with an empty folder as workspace.
        limit: Seconds until the deadline of each call.
        ignore: Names of promises that are not checked; `CONTRACT` lists them.
        even_destructive: Run the body of a tool that is destructive or needs approval, too.
        seed: The same seed gives the same arguments.
    """
    target = one_tool(tool)
    if (target.destructive or target.requires_approval) and not even_destructive:
        raise ValueError(
            f"`{target.name}` is destructive or needs approval, and fuzzing runs it with random arguments; "
            "pass even_destructive=True if it can do no damage"
        )
    promises = all_but(ignore, _PROMISES)
    strategies = _strategies(target.definition["input_schema"])
    with calling(target, limit=limit, context=context) as caller:
        run = _Run(caller, promises)
        for kind, strategy in strategies.items():
            run.generate(strategy, kind, examples if kind == "valid" else max(1, examples // 2), seed)
        run.shrink(strategies)
    order = tuple(run.broken[promise.name] for promise in promises if promise.name in run.broken)
    return FuzzReport(tool=target.name, calls=run.calls, broken=order)


def _strategies(schema: dict[str, Any]) -> dict[Kind, SearchStrategy[Any]]:
    strategies: dict[Kind, SearchStrategy[Any]] = {"valid": arguments_for(schema)}
    with contextlib.suppress(NoValueError):  # an open schema refuses no object
        strategies["invalid"] = arguments_for(schema, "invalid")
    return {**strategies, "hostile": arguments_for(schema, "hostile")}


class _Run:
    """The calls of one run, and the shortest arguments that broke each promise."""

    def __init__(self, caller: Caller, promises: list[Promise]) -> None:
        self.calls = 0
        self.broken: dict[str, BrokenPromise] = {}
        self._caller = caller
        self._promises = promises

    def generate(self, strategy: SearchStrategy[Any], kind: Kind, count: int, seed: int) -> None:
        """Call the tool with arguments of one kind, until a call has to be abandoned: its thread continues."""

        @seeded(seed)
        @settings(QUIET, max_examples=count)
        @given(strategy)
        def call_and_check(arguments: Any) -> None:
            if _DEADLINE not in self.broken:
                self._check(self._call(arguments, kind), kind)

        call_and_check()

    def shrink(self, strategies: dict[Kind, SearchStrategy[Any]]) -> None:
        """Search for simpler arguments for each broken promise."""
        for name, broken in list(self.broken.items()):
            if _DEADLINE in self.broken:
                return

            def breaks(arguments: Any, broken: BrokenPromise = broken) -> bool:
                problem = _problem(broken.promise, self._call(arguments, broken.kind))
                if problem is not None:
                    self._add(broken.promise, broken.kind, arguments, problem)
                return problem is not None

            shrinking = settings(QUIET, phases=[Phase.generate, Phase.shrink], max_examples=_SHRINKING)
            try:
                find(strategies[broken.kind], breaks, settings=shrinking, random=Random(0))  # noqa: S311  (the same examples in each run)
            except (Flaky, NoSuchExample, Unsatisfiable):
                self.broken[name] = broken  # the problem depends on earlier calls

    def _call(self, arguments: Any, kind: Kind) -> ObservedCall:
        self.calls += 1
        return self._caller(arguments, kind)

    def _check(self, call: ObservedCall, kind: Kind) -> None:
        for promise in self._promises:
            broken = self.broken.get(promise.name)
            if broken is not None and len(shown(broken.arguments)) <= len(shown(call.arguments)):
                continue
            if problem := _problem(promise, call):
                self._add(promise, kind, call.arguments, problem)

    def _add(self, promise: Promise, kind: Kind, arguments: Any, problem: str) -> None:
        self.broken[promise.name] = BrokenPromise(promise=promise, kind=kind, arguments=arguments, problem=problem)


def _problem(promise: Promise, call: ObservedCall) -> str | None:
    return promise.check_call(call) if promise.check_call is not None else None
