"""`RunHooks`: the hooks of a run and of its requests to the model; see `tools_runtime.hookspecs`."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from tools_agent._loop._frame import Frame
from tools_agent._messages import Assistant
from tools_agent._providers._provider import ProviderError, Request, cost_of
from tools_core import Context

_log = logging.getLogger("tools_agent")


class RunHooks:
    """Call the hooks of a run's executor, inside the hooks of its callers."""

    def __init__(self, frame: Frame) -> None:
        hooks: Mapping[str, Sequence[Any]] = frame.executor.bound_by(frame.outer)[0].agents
        self._hooks = hooks
        self._frame = frame
        self._context = Context(workspace=frame.setup.workspace, state=frame.state, run_id=frame.run_id)
        self._context.caller = frame
        self._cost: float | None = 0.0

    def __bool__(self) -> bool:
        return any(self._hooks.values())

    async def before_run(self) -> None:
        """Call the hooks of the start."""
        await self._notify("before_run", self._frame.agent.name)

    async def after_run(self, outcome: str) -> None:
        """Call the hooks of the end."""
        frame = self._frame
        await self._notify("after_run", frame.agent.name, outcome, frame.budget.usage, self._cost, is_end=True)

    async def before_request(self, request: Request) -> Request:
        """Return the request that the hooks leave. Raises the exception of a hook."""
        for hook in self._hooks["before_model_request"]:
            answer = await self._frame.call_user(hook.function, request, self._context, blocks=hook.blocks)
            if isinstance(answer, Request):
                request = answer
            elif answer is not None:
                raise TypeError(
                    f"before_model_request of {hook.plugin} returned {type(answer).__name__}, not a Request"
                )
        return request

    async def after_request(
        self, request: Request, reply: Assistant | None, error: BaseException | None = None
    ) -> Assistant | None:
        """Return the reply that the hooks leave; the exception of a hook is logged."""
        cost = None if reply is None else _known_cost(reply)
        if self._cost is not None and reply is not None:
            self._cost = None if cost is None else self._cost + cost
        for hook in reversed(self._hooks["after_model_request"]):
            arguments = (request, reply, error, cost, self._context)
            try:
                answer = await self._frame.call_user(hook.function, *arguments, blocks=hook.blocks)
                if answer is not None and not isinstance(answer, Assistant):
                    raise TypeError(f"it returned {type(answer).__name__}, not an Assistant")  # noqa: TRY301
            except Exception:  # noqa: BLE001  (a hook may raise anything)
                _log.exception("after_model_request of %s failed", hook.plugin)
            else:
                reply = reply if answer is None else answer
        return reply

    async def _notify(self, name: str, *arguments: Any, is_end: bool = False) -> None:
        hooks = self._hooks[name]
        for hook in reversed(hooks) if is_end else hooks:
            try:
                await self._frame.call_user(hook.function, *arguments, self._context, blocks=hook.blocks)
            except Exception:  # noqa: BLE001  (a hook may raise anything)
                _log.exception("%s of %s failed", name, hook.plugin)


def _known_cost(reply: Assistant) -> float | None:
    """Return the price of a reply in US dollars; None if it is not known."""
    try:
        return cost_of(reply)
    except ProviderError:
        return None
