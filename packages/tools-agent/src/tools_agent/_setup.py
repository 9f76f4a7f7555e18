"""`Setup`: what a run works with, from the options of its agent and its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from tools_agent._guardrails import Guardrail
from tools_agent._messages import System
from tools_agent._options import FUNCTIONS, NAMES, instruction_message, is_function, resolve
from tools_agent._output_type import Output
from tools_agent._providers._provider import Provider
from tools_agent._session._transcript import Change, Transcript
from tools_agent._skills import skills_of
from tools_agent._window import Window
from tools_core import Tool
from tools_runtime import Executor
from tools_runtime.search import ToolSearch


class RunValues:
    """The options of a run, as attributes: its own, else the agent's. Functions of the context have been called.

    Attributes:
        own: The options that are not the agent's.
        seeds: The system messages that the session should have, by id; None for one that it need not have.
    """

    def __init__(self, agent: object, own: Mapping[str, Any], context: Any, session: object) -> None:
        values = {**{name: getattr(agent, name) for name in NAMES}, **own}
        called = {name: resolve(values[name], context, session) for name in FUNCTIONS if is_function(values[name])}
        self.own: Mapping[str, Any] = {**own, **called}
        self.context = context
        vars(self).update(values, **called)
        skills = skills_of(values["skills"] if "skills" not in called else called["skills"])
        self.seeds: Mapping[str, System | None] = {
            "instructions": instruction_message(called.get("instructions", values["instructions"])),
            "skills": None if skills is None else skills.message,
        }

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """The values and objects of one run; see the options of `Agent`.

    Attributes:
        own: The options that are not the agent's.
        seeds: The system messages that the session should have, by id; None for one that it need not have.
        model: The name of the provider's model.
        tools: All tools by name, with the tools that the agent adds.
        search: The search for the deferred tools.
        reader: The tool that reads the rest of results that were cut.
    """

    own: Mapping[str, Any]
    seeds: Mapping[str, System | None]
    provider: Provider
    model: str
    tools: Mapping[str, Tool]
    search: ToolSearch | None
    reader: Tool
    executor: Executor
    output: Output | None
    guardrails: Sequence[Guardrail]
    output_validators: Sequence[Callable[..., Any]]
    output_retries: int
    max_steps: int | None
    max_session_steps: int | None
    max_tokens: int | None
    max_cost: float | None
    max_tool_calls: int | None
    max_depth: int
    approve: Callable[..., object] | Literal["all"] | None
    on_ask: Callable[..., object] | None
    window: Window | None
    settings: Mapping[str, Any]
    timeout: float | None
    tool_timeout: float | None
    runtime: object
    error_policy: Literal["capture_all", "strict_bugs"]
    workspace: Any
    heal: bool
    on_unknown: Literal["close", "ask"]

    def changes_of(self, log: Transcript) -> list[Change]:
        """Return the changes that give a session the current instructions and skills."""
        changes: list[Change] = []
        after, is_new = "", not log.entries
        for name, message in self.seeds.items():
            if message is None:
                continue
            old = log.find(name)
            if old is not None and old.message.content != message.content:
                changes.append(("update", {"message": message}))
            elif old is None and (is_new or name in self.own):
                changes.append(("message", {"message": message, "after": after}))
            after = name
        return changes
