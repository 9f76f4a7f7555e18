"""Every installed tool keeps the contract."""

from __future__ import annotations

import re

import pytest

from tools_core import registry
from tools_testing import CONTRACT


@pytest.mark.slow
def test_every_installed_tool_keeps_its_contract(run_pytest):
    process = run_pytest("--tool-contract", "-q")
    assert process.returncode == 0, process.stdout[-10_000:]
    counts = {word: int(number) for number, word in re.findall(r"(\d+) (passed|skipped)", process.stdout)}
    assert counts["passed"] + counts["skipped"] == len(CONTRACT) * len(registry)
    assert counts["passed"] >= 14 * len(registry)
