"""Tests for tools: the contract, fixtures and assertions, fuzzing, snapshots and recordings.

Each name is imported when it is first used: pytest imports this package in every run, and hypothesis takes 0.3 s.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tools_testing._arguments import NoValueError, arguments_for
    from tools_testing._assertions import assert_error, assert_halted, assert_ok
    from tools_testing._contract import CONTRACT, ContractReport, Outcome, Promise, assert_contract, check_tool
    from tools_testing._fixtures import Progress, RecordingContext
    from tools_testing._fuzz import FuzzReport, fuzz_tool
    from tools_testing._recording import RecordingProvider, ReplayError, ReplayProvider

__all__ = [
    "CONTRACT",
    "ContractReport",
    "FuzzReport",
    "NoValueError",
    "Outcome",
    "Progress",
    "Promise",
    "RecordingContext",
    "RecordingProvider",
    "ReplayError",
    "ReplayProvider",
    "arguments_for",
    "assert_contract",
    "assert_error",
    "assert_halted",
    "assert_ok",
    "check_tool",
    "fuzz_tool",
]

_MODULES = {
    "_arguments": ("NoValueError", "arguments_for"),
    "_assertions": ("assert_error", "assert_halted", "assert_ok"),
    "_contract": ("CONTRACT", "ContractReport", "Outcome", "Promise", "assert_contract", "check_tool"),
    "_fixtures": ("Progress", "RecordingContext"),
    "_fuzz": ("FuzzReport", "fuzz_tool"),
    "_recording": ("RecordingProvider", "ReplayError", "ReplayProvider"),  # with the extra `agent`
}


def __getattr__(name: str) -> object:
    for module, names in _MODULES.items():
        if name in names:
            value: object = getattr(importlib.import_module(f"tools_testing.{module}"), name)
            globals()[name] = value  # found directly from now on
            return value
    raise AttributeError(f"module 'tools_testing' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
