"""Every installed tool keeps the contract."""

from __future__ import annotations

import re

import pytest

from tools_core import registry
from tools_testing import CONTRACT


@pytest.mark.slow
def test_every_installed_tool_keeps_its_contract(run_pytest):
    ended = run_pytest("--tool-contract", "-q")
    assert ended.returncode == 0, ended.stdout[-10_000:]
    counts = {word: int(number) for number, word in re.findall(r"(\d+) (passed|skipped)", ended.stdout)}
    assert counts["passed"] + counts["skipped"] == len(CONTRACT) * len(registry)
    assert counts["passed"] >= 14 * len(registry)
