"""The pytest plugin: the fixture `recorded`, and the option `--record`.

pytest imports this module in every run; so it imports pytest alone.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tools_agent import Provider
    from tools_core import Tool


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    text = "send the requests of tests with the fixture `recorded` to their models, and record the replies"
    parser.getgroup("tools_eval", "recordings of models").addoption("--record", action="store_true", help=text)


class Recorded:
    """The recording of a test: `recorded("openai:gpt-5")` is the model, `recorded.tools([weather])` its tools."""

    def __init__(self, path: Path, *, records: bool) -> None:
        self.path, self.records = path, records
        self._replay: Any = None

    def __call__(self, model: Provider | str) -> Any:
        """Return a provider: `model` with `--record`, else its recorded replies."""
        from tools_eval._record import RecordingProvider

        return RecordingProvider(model, self.path) if self.records else self._recording()

    def tools(self, tools: Iterable[Tool]) -> list[Tool]:
        """Return the tools with `--record`, else tools that return the recorded results."""
        replayed: list[Tool] = list(tools) if self.records else self._recording().tools(tools)
        return replayed

    def _recording(self) -> Any:
        from tools_eval._record import ReplayProvider

        if not self.path.is_file():
            pytest.fail(f"{self.path} does not exist; record it: pytest --record", pytrace=False)
        self._replay = self._replay or ReplayProvider(self.path)
        return self._replay


@pytest.fixture
def recorded(request: pytest.FixtureRequest) -> Recorded:
    """Replay a model and tools from `recordings/FILE/TEST.jsonl`; `pytest --record` records them again."""
    name = re.sub(r"[^\w-]+", "_", request.node.name).strip("_")
    path = request.path.parent / "recordings" / request.path.stem / f"{name}.jsonl"
    return Recorded(path, records=bool(request.config.getoption("--record")))
