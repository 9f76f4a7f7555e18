"""`RunHooks`: the hooks of a run and of its requests to the model; see `tools_runtime.hookspecs`."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from tools_agent._loop._drive import Do, Steps
from tools_agent._loop._family import Budget
from tools_agent._messages import Assistant
from tools_agent._providers._provider import ProviderError, Request, cost_of
from tools_core import Context

_log = logging.getLogger("tools_agent")


class RunHooks:
    """Call the hooks of a run's executor, inside the hooks of its callers."""

    def __init__(self, hooks: Mapping[str, Sequence[Any]], name: str, run: Any, budget: Budget) -> None:
        self._hooks = hooks
        self._name = name
        self._budget = budget
        self._context = Context(workspace=run.workspace, state=run.context, run_id=run.run_id)
        self._context.caller = run
        self._cost: float | None = 0.0

    def before_run(self) -> Steps:
        """Call the hooks of the start."""
        yield from self._notify("before_run", self._name)

    def after_run(self, outcome: str) -> Steps:
        """Call the hooks of the end."""
        usage = self._budget.usage
        yield from self._notify("after_run", self._name, outcome, usage, self._cost, is_end=True)

    def before_request(self, request: Request) -> Steps:
        """Return the request that the hooks leave. Raises the exception of a hook."""
        for hook in self._hooks["before_model_request"]:
            answer = yield Do(hook.function, (request, self._context), blocks=hook.blocks)
            if isinstance(answer, Request):
                request = answer
            elif answer is not None:
                raise TypeError(
                    f"before_model_request of {hook.plugin} returned {type(answer).__name__}, not a Request"
                )
        return request

    def after_request(self, request: Request, reply: Assistant | None, error: BaseException | None = None) -> Steps:
        """Return the reply that the hooks leave; the exception of a hook is logged."""
        cost = None if reply is None else _known_cost(reply)
        if self._cost is not None and reply is not None:
            self._cost = None if cost is None else self._cost + cost
        for hook in reversed(self._hooks["after_model_request"]):
            arguments = (request, reply, error, cost, self._context)
            try:
                answer = yield Do(hook.function, arguments, blocks=hook.blocks)
                if answer is not None and not isinstance(answer, Assistant):
                    raise TypeError(f"it returned {type(answer).__name__}, not an Assistant")  # noqa: TRY301
            except Exception:  # noqa: BLE001  (a hook may raise anything)
                _log.exception("after_model_request of %s failed", hook.plugin)
            else:
                reply = reply if answer is None else answer
        return reply

    def _notify(self, name: str, *arguments: Any, is_end: bool = False) -> Steps:
        hooks = self._hooks[name]
        for hook in reversed(hooks) if is_end else hooks:
            try:
                yield Do(hook.function, (*arguments, self._context), blocks=hook.blocks)
            except Exception:  # noqa: BLE001  (a hook may raise anything)
                _log.exception("%s of %s failed", name, hook.plugin)


def _known_cost(reply: Assistant) -> float | None:
    """Return the price of a reply in US dollars; None if it is not known."""
    try:
        return cost_of(reply)
    except ProviderError:
        return None
