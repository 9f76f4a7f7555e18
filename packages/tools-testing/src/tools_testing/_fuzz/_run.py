"""`fuzz_tool`: call a tool with everything that its schema allows, and with what it does not."""

from __future__ import annotations

import contextlib
import json
import tempfile
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, Phase, find, given, seed, settings
from hypothesis.errors import Flaky, NoSuchExample, Unsatisfiable

from tools_testing._check_tool import one_tool
from tools_testing._fuzz._call import Caller
from tools_testing._fuzz._promises import CALL_PROMISES
from tools_testing._strategy import arguments_for
from tools_testing._values._source import NoValueError

if TYPE_CHECKING:
    from collections.abc import Collection

    from hypothesis.strategies import SearchStrategy

    from tools_core import Context
    from tools_testing._fuzz._call import Call
    from tools_testing._fuzz._promises import Promise

# Its metaclass leaves out what is deprecated.
_ALL_CHECKS: list[HealthCheck] = list(HealthCheck)  # pyright: ignore[reportAssignmentType]
_SHRINKING = 150  # calls spent on a simpler example of one broken promise
_SLOW = frozenset({"keeps_to_the_deadline"})  # each further call would take as long as the first


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """A promise that a call broke, with the simplest arguments found."""

    promise: Promise
    arguments: Any
    problem: str

    @property
    def name(self) -> str:
        """The name of the promise."""
        return self.promise.name

    def __str__(self) -> str:
        return (
            f"{self.name}: {self.promise.demand}\n  - for {_shown(self.arguments)}: {self.problem}\n"
            f"  fix: {self.promise.fix}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FuzzReport:
    """What many calls of one tool brought to light."""

    tool: str
    calls: int
    broken: tuple[Broken, ...]

    @property
    def is_ok(self) -> bool:
        """Whether every promise was kept."""
        return not self.broken

    @property
    def names(self) -> list[str]:
        """The names of the broken promises."""
        return [each.name for each in self.broken]

    def __str__(self) -> str:
        if self.is_ok:
            return f"the tool `{self.tool}` kept its promises in {self.calls} calls"
        count = f"{len(self.broken)} of {len(CALL_PROMISES)}"
        return "\n".join(
            [f"the tool `{self.tool}` broke {count} promises in {self.calls} calls", *map(str, self.broken)]
        )


class _Fuzzing:
    """The calls of one run, and the first example of each promise that they broke."""

    def __init__(self, caller: Caller, names: Collection[str]) -> None:
        self.caller = caller
        self.promises = [CALL_PROMISES[name] for name in names]
        self.calls = 0
        self.found: dict[str, Broken] = {}
        self.kinds: dict[str, str] = {}
        self.is_over = False

    def one(self, arguments: Any, kind: str) -> None:
        """Make one call and hold it against every promise."""
        if self.is_over:
            return
        call = self.call(arguments, kind)
        for each in self.promises:
            known = self.found.get(each.name)
            if known is not None and len(_shown(known.arguments)) <= len(_shown(arguments)):
                continue
            problem = each.broken(call, self.caller)
            if problem is not None:
                self.found[each.name] = Broken(promise=each, arguments=arguments, problem=problem)
                self.kinds[each.name] = kind
        # A tool that has to be left behind goes on running: more of its kind would only fill the machine.
        self.is_over = "keeps_to_the_deadline" in self.found

    def call(self, arguments: Any, kind: str) -> Call:
        self.calls += 1
        return self.caller(arguments, kind)

    def shrink(self, strategies: dict[str, SearchStrategy[Any]], quiet: settings) -> None:
        """Look for a simpler example of each broken promise."""
        shrinking = settings(quiet, phases=[Phase.generate, Phase.shrink])
        for name, known in list(self.found.items()):
            if name in _SLOW or self.is_over:
                continue
            kind = self.kinds[name]

            def breaks(arguments: Any, each: Promise = known.promise, kind: str = kind) -> bool:
                problem = each.broken(self.call(arguments, kind), self.caller)
                if problem is not None:
                    self.found[each.name] = Broken(promise=each, arguments=arguments, problem=problem)
                return problem is not None

            try:
                find(strategies[kind], breaks, settings=shrinking, random=Random(0))  # noqa: S311  (nothing secret)
            except (
                Flaky,
                NoSuchExample,
                Unsatisfiable,
            ):  # it depended on what was called before: the first example stands
                self.found[name] = known


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
    """Call a tool's own body with valid, nearly valid and hostile arguments, and tell which promises it broke.

    Each broken promise comes with the simplest arguments that were found to break it. Raises ValueError for a tool
    that is destructive or needs approval: say `even_destructive=True` where nothing can be lost. Raises NoValueError
    where no arguments are valid.

    Args:
        tool: A Tool, a class of one, or a function.
        examples: How many valid arguments; of the other two kinds half as many.
        context: The context of the calls; by default one with an empty folder as workspace.
        limit: Seconds until the deadline of each call.
        ignore: Names of promises that are not held against it; `CALL_PROMISES` has them all.
        even_destructive: Whether the body may run although the tool says that it destroys, or asks for approval.
        seed: Another one gives other arguments; the same one always the same.
    """
    found = one_tool(tool)
    if (found.destructive or found.requires_approval) and not even_destructive:
        raise ValueError(
            f"`{found.name}` is destructive or needs approval, and fuzzing runs it with random arguments; "
            "say even_destructive=True where nothing can be lost"
        )
    unknown = sorted({*ignore} - CALL_PROMISES.keys())
    if unknown:
        raise ValueError(f"there is no promise {unknown[0]!r}; there are {', '.join(CALL_PROMISES)}")
    strategies = _strategies(found.definition["input_schema"])
    with tempfile.TemporaryDirectory(prefix="fuzz-tool-", ignore_cleanup_errors=True) as folder:
        caller = Caller(found, folder, limit, context)
        fuzzing = _Fuzzing(caller, [name for name in CALL_PROMISES if name not in ignore])
        quiet = settings(
            derandomize=False,
            database=None, deadline=None, max_examples=_SHRINKING, suppress_health_check=_ALL_CHECKS,
        )  # fmt: skip
        with caller.trusted():
            for kind, strategy in strategies.items():
                count = examples if kind == "valid" else max(1, examples // 2)
                _generate(fuzzing, strategy, kind, settings(quiet, max_examples=count), seed)
            fuzzing.shrink(strategies, quiet)
    order = [fuzzing.found[name] for name in CALL_PROMISES if name in fuzzing.found]
    return FuzzReport(tool=found.name, calls=fuzzing.calls, broken=tuple(order))


def _strategies(schema: dict[str, Any]) -> dict[str, SearchStrategy[Any]]:
    made: dict[str, SearchStrategy[Any]] = {"valid": arguments_for(schema)}
    with contextlib.suppress(NoValueError):  # an open schema refuses no object
        made["near"] = arguments_for(schema, "near")
    made["hostile"] = arguments_for(schema, "hostile")
    return made


def _generate(fuzzing: _Fuzzing, strategy: SearchStrategy[Any], kind: str, quiet: settings, number: int) -> None:
    @seed(number)
    @settings(quiet, phases=[Phase.generate])
    @given(strategy)
    def run(arguments: Any) -> None:
        fuzzing.one(arguments, kind)

    run()


def _shown(arguments: Any) -> str:
    if isinstance(arguments, str | bytes):
        return f"{arguments!r:.200}"
    try:
        return f"{json.dumps(arguments, ensure_ascii=False):.200}"
    except (TypeError, ValueError, RecursionError):
        return f"{arguments!r:.200}"
