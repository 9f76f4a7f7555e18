"""`RunParts`: the objects that a run works with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tools_agent._guardrails import Guardrail
from tools_agent._output_type import Output
from tools_agent._providers._provider import Provider
from tools_core import Tool
from tools_core.search import ToolSearch
from tools_runtime import Executor


class RunParts(NamedTuple):
    """The objects that follow from the options of a run.

    Attributes:
        provider: The provider, and the name of its model.
        tools: All tools by name, with the tools that the agent adds.
        search: The search for the deferred tools.
        executor: The executor of calls.
        output: The type of replies.
        guardrails: The guardrails as instances.
        reader: The tool that reads the rest of results that were cut.
    """

    provider: tuple[Provider, str]
    tools: Mapping[str, Tool]
    search: ToolSearch | None
    executor: Executor
    output: Output | None
    guardrails: Sequence[Guardrail]
    reader: Tool
