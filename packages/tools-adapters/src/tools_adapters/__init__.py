"""Adapters for other frameworks: `to_...` converts our tools, `from_...` converts theirs, or an OpenAPI document.

Importing a function imports its framework.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tools_adapters._agno import to_agno
    from tools_adapters._bridge import Executor, Options
    from tools_adapters._claude_agent_sdk import from_claude_agent_sdk, to_claude_agent_sdk
    from tools_adapters._crewai import to_crewai
    from tools_adapters._google_adk import from_google_adk, to_google_adk
    from tools_adapters._haystack import to_haystack
    from tools_adapters._langchain import from_langchain, langchain_halt, to_langchain
    from tools_adapters._llm import from_llm, to_llm
    from tools_adapters._openai_agents import from_openai_agents, openai_agents_halt, to_openai_agents
    from tools_adapters._openapi import from_openapi
    from tools_adapters._pydantic_ai import from_pydantic_ai, pydantic_ai_halt, to_pydantic_ai
    from tools_adapters._smolagents import to_smolagents
    from tools_adapters._strands import to_strands

__all__ = [
    "Executor",
    "Options",
    "from_claude_agent_sdk",
    "from_google_adk",
    "from_langchain",
    "from_llm",
    "from_openai_agents",
    "from_openapi",
    "from_pydantic_ai",
    "langchain_halt",
    "openai_agents_halt",
    "pydantic_ai_halt",
    "to_agno",
    "to_claude_agent_sdk",
    "to_crewai",
    "to_google_adk",
    "to_haystack",
    "to_langchain",
    "to_llm",
    "to_openai_agents",
    "to_pydantic_ai",
    "to_smolagents",
    "to_strands",
]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'tools_adapters' has no attribute {name!r}")
    from importlib import import_module  # here, it is not a name of this package

    from tools_core.command import install_command

    framework = name.removeprefix("from_").removeprefix("to_").removesuffix("_halt")
    home = "bridge" if name[0].isupper() else framework
    try:
        return getattr(import_module(f"tools_adapters._{home}"), name)
    except ImportError as error:
        fix = install_command("tools-adapters", framework.replace("_", "-"))
        raise ImportError(f"{error}; to install it: {fix}", name=error.name) from error


def __dir__() -> list[str]:
    return __all__
