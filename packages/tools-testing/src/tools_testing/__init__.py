"""Tests for tools: the contract, fixtures and assertions, fuzzing, snapshots, and conformance kits.

Each name is loaded when it is first used, so that pytest can load the plugin in every run and pay nothing for it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tools_testing._assertions import assert_error, assert_halted, assert_ok
    from tools_testing._check_tool import assert_contract, check_tool
    from tools_testing._compare import Change, compare_definitions
    from tools_testing._conformance import (
        FormatConformance,
        RegistryConformance,
        RuntimeConformance,
        SessionStoreConformance,
    )
    from tools_testing._context import Progress, RecordingContext
    from tools_testing._contract import CONTRACT, Check, ContractReport, Outcome
    from tools_testing._fuzz._promises import CALL_PROMISES
    from tools_testing._fuzz._run import FuzzReport, fuzz_tool
    from tools_testing._strategy import arguments_for
    from tools_testing._values._source import NoValueError

__all__ = [
    "CALL_PROMISES",
    "CONTRACT",
    "Change",
    "Check",
    "ContractReport",
    "FormatConformance",
    "FuzzReport",
    "NoValueError",
    "Outcome",
    "Progress",
    "RecordingContext",
    "RegistryConformance",
    "RuntimeConformance",
    "SessionStoreConformance",
    "arguments_for",
    "assert_contract",
    "assert_error",
    "assert_halted",
    "assert_ok",
    "check_tool",
    "compare_definitions",
    "fuzz_tool",
]

_HOMES = {
    "_assertions": ("assert_error", "assert_halted", "assert_ok"),
    "_check_tool": ("assert_contract", "check_tool"),
    "_compare": ("Change", "compare_definitions"),
    "_conformance": ("FormatConformance", "RegistryConformance", "RuntimeConformance", "SessionStoreConformance"),
    "_context": ("Progress", "RecordingContext"),
    "_contract": ("CONTRACT", "Check", "ContractReport", "Outcome"),
    "_fuzz._promises": ("CALL_PROMISES",),
    "_fuzz._run": ("FuzzReport", "fuzz_tool"),
    "_strategy": ("arguments_for",),
    "_values._source": ("NoValueError",),
}


def __getattr__(name: str) -> object:
    for home, names in _HOMES.items():
        if name in names:
            from importlib import import_module  # only for who uses a name

            value: object = getattr(import_module(f"tools_testing.{home}"), name)
            globals()[name] = value  # found directly from now on
            return value
    raise AttributeError(f"module 'tools_testing' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
