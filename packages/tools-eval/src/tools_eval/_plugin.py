"""The pytest plugin: the fixture `recorded`, and the option `--record`.

pytest imports this module in every run; so it imports pytest alone.
"""

from __future__ import annotations

import re
from glob import escape
from hashlib import sha256
from itertools import count
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
    """The recordings of a test: `recorded("openai:gpt-5")` is a model, `recorded.tools([weather])` its tools.

    Each model of a test has a file of its own: `test_x.jsonl`, `test_x.2.jsonl`.
    """

    def __init__(self, path: Path, *, records: bool) -> None:
        self.path, self.records = path, records
        self._numbers = count(1)

    def __call__(self, model: Provider | str) -> Any:
        """Return a provider: `model` with `--record`, else its recorded replies."""
        from tools_eval._record import RecordingProvider, ReplayProvider

        number = next(self._numbers)
        path = self.path if number == 1 else self.path.with_name(f"{self.path.stem}.{number}.jsonl")
        return RecordingProvider(model, path) if self.records else ReplayProvider(self._existing(path))

    def tools(self, tools: Iterable[Tool]) -> list[Tool]:
        """Return the tools with `--record`, else tools that return the recorded results."""
        from tools_eval._record import ReplayProvider

        if self.records:
            return list(tools)
        others = sorted(self.path.parent.glob(f"{escape(self.path.stem)}.[0-9]*.jsonl"))
        replayed: list[Tool] = ReplayProvider(self._existing(self.path), *others).tools(tools)
        return replayed

    def _existing(self, path: Path) -> Path:
        if not path.is_file():
            pytest.fail(f"{path} does not exist; record it: pytest --record", pytrace=False)
        return path


@pytest.fixture
def recorded(request: pytest.FixtureRequest) -> Recorded:
    """Replay a model and tools from `recordings/FILE/TEST.jsonl`; `pytest --record` records them again."""
    path = request.path.parent / "recordings" / request.path.stem / f"{_file_name(request.node.nodeid)}.jsonl"
    return Recorded(path, records=bool(request.config.getoption("--record")))


def _file_name(node: str) -> str:
    """Return the name of a test's file; a digest keeps tests apart whose names cannot be written, also without case."""
    name = node.partition("::")[2]
    text = re.sub(r"[^\w-]+", "_", name).strip("_")[:100]
    return text if text == name.lower() else f"{text}-{sha256(name.encode()).hexdigest()[:8]}"
