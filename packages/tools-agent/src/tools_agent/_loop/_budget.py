"""`Budget`: the limits that a run shares with the runs of its sub-agents."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from threading import RLock
from typing import Any

from tools_agent._messages import Usage
from tools_agent._response import Interrupted

LIMITS = ("max_steps", "max_tokens", "max_cost", "max_tool_calls")  # the options that are limits for the family


class Budget:
    """The usage of a run with the runs of its sub-agents, and the limits of the run.

    The limits of the callers hold as well: a run ends at the first limit that is reached.

    Attributes:
        usage: The tokens.
        cost: The price in US dollars, if a limit needs it.
        steps: The requests for a reply.
        calls: The tool calls.
        needs_price: Whether a limit is a price.
        before: The usage of an earlier run that waited for the user, and that this one continues.
    """

    def __init__(self, name: str, limits: Mapping[str, float | None], outer: Budget | None, *, is_part: bool) -> None:
        self.name = name  # of the agent
        self.needs_price: bool = limits["max_cost"] is not None or (outer is not None and outer.needs_price)
        self.usage = Usage()
        self.cost = 0.0
        self.steps = 0
        self.calls = 0
        self.before: Mapping[str, Any] = {}
        self._limits = limits
        self._is_part = is_part  # a program, not a model, writes its replies
        self._outer = outer
        self._lock: RLock = RLock() if outer is None else outer._lock

    def add(self, usage: Usage, cost: float) -> None:
        """Count a reply."""
        with self._lock:
            self.usage += usage
            self.cost += cost
            if self._outer is not None:
                self._outer.add(usage, cost)

    def spent(self) -> dict[str, float]:
        """Return what counts towards each limit."""
        tokens = self.usage.input_tokens + self.usage.output_tokens
        spent = {"max_steps": self.steps, "max_tokens": tokens, "max_cost": self.cost, "max_tool_calls": self.calls}
        return {name: value + self.before.get(name, 0) for name, value in spent.items()}

    def check(self, *, is_step: bool = False) -> None:
        """Raise Interrupted at a limit, else count a request for a reply."""
        with self._lock:
            limit = self._reached()
            if limit is not None:
                raise Interrupted(limit)
            if is_step and not self._is_part:
                self._count_step()

    def _reached(self) -> str | None:
        """Return the name of a limit that has been reached; for the limit of a caller with the caller's name."""
        for name, value in self.spent().items():
            limit = self._limits[name]
            if limit is not None and value >= limit and name != "max_tool_calls":
                return name
        return None if self._outer is None else self._outer._named(self._outer._reached())

    def _named(self, limit: str | None) -> str | None:
        return limit if limit is None or " of " in limit else f"{limit} of {self.name}"

    def take_calls(self, number: int) -> int:
        """Count calls that are about to run, and return how many of them the limits allow."""
        with self._lock:
            allowed = min(number, self._calls_left())
            self._count_calls(allowed)
            return allowed

    def return_calls(self, number: int) -> None:
        """Forget calls that were counted but have not run."""
        with self._lock:
            self._count_calls(-number)

    @property
    def calls_limit(self) -> str:
        """The name of the limit of calls that has been reached."""
        if self._outer is not None and self._outer._calls_left() <= self._own_calls_left():
            return self._outer._named(self._outer.calls_limit) or ""
        return "max_tool_calls"

    def _own_calls_left(self) -> int:
        limit = self._limits["max_tool_calls"]
        return sys.maxsize if limit is None else max(0, int(limit - self.spent()["max_tool_calls"]))

    def _calls_left(self) -> int:
        left = self._own_calls_left()
        return left if self._outer is None else min(left, self._outer._calls_left())

    def _count_calls(self, number: int) -> None:
        self.calls += number
        if self._outer is not None:
            self._outer._count_calls(number)

    def _count_step(self) -> None:
        self.steps += 1
        if self._outer is not None:
            self._outer._count_step()
