"""Run the tests of a package if pytest is started in its folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

TESTS = Path(__file__).parent / "tests"


def pytest_configure(config: pytest.Config) -> None:
    """Select `tests/tools_core` for a plain `pytest` in `tools-core`."""
    packages = [path.parent.name for path in config.invocation_params.dir.glob("src/*/__init__.py")]
    if config.args_source is config.ArgsSource.INVOCATION_DIR and packages:
        config.args = [str(TESTS / package) for package in packages]
