"""`Plan`: the settings of one run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tools_agent._guardrails import Guardrail
    from tools_agent._messages import User
    from tools_agent._output_type import Output
    from tools_agent._providers._provider import Provider
    from tools_core import Tool
    from tools_runtime import Executor


@dataclass(slots=True, kw_only=True)
class Plan:
    """The settings of one run, as its agent has them."""

    provider: Provider
    model: str
    tools: Mapping[str, Tool]
    definitions: Sequence[Any]
    executor: Executor
    guardrails: Sequence[Guardrail]
    output: Output | None
    settings: Mapping[str, Any]
    timeout: float | None
    max_steps: int | None
    max_session_steps: int | None
    heal: bool
    ask_on_unknown: bool
    window: Any
    workspace: Any
    approve: Any
    depth: int
    max_depth: int
    steering: list[User]
