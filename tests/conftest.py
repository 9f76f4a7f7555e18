"""Rules for every test of this repository."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import pytest
from hypothesis import settings

HERE = Path(__file__).parent
CI = os.environ.get("CI") == "true"
# A test may skip for what a machine is. What it merely has not got can be had in CI; such reasons say so.
MISSING = re.compile(r"not installed|could not import|not downloaded|JSON-Schema-Test-Suite")

# Who starts the tests in the background of a shell ignores these, and so would every program that a test starts.
for number in (signal.SIGINT, getattr(signal, "SIGQUIT", signal.SIGINT)):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)

# Machines differ in speed, so examples have no deadline; CI runs the same ones each time.
settings.register_profile("house", deadline=None, derandomize=CI, print_blob=True)
settings.load_profile("house")


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.is_relative_to(HERE / "benchmarks"):
            item.add_marker("benchmark")
        if item.path.is_relative_to(HERE / "ecosystem"):
            item.add_marker("ecosystem")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    return refuse_skip((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report():
    return refuse_skip((yield))


def refuse_skip(report):
    """In CI a skip for want of a package is a failure: a test that never runs proves nothing."""
    if CI and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2].removeprefix("Skipped: ")
        if MISSING.search(reason):
            report.outcome = "failed"
            report.longrepr = f"skipped in CI: {reason}"
    return report
