"""`recorded`: models and tools of a test, recorded in files and replayed."""

from __future__ import annotations

import re
from collections import Counter
from glob import escape
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest

from tools_core import Registry
from tools_testing._recording import RecordingProvider, ReplayProvider

if TYPE_CHECKING:
    from pathlib import Path

    from tools_agent import Provider
    from tools_core import Tool

_NEW = ".new"


class Recorded:
    """The recordings of a test: `recorded("openai:gpt-5")` is a model, `recorded.tools([weather])` its tools.

    Each model has a file, named by its class, its test with the parameters, and the model:
    `recordings/test_agent/TestTime_test_noon.openai_gpt-5.jsonl`.
    """

    def __init__(self, request: pytest.FixtureRequest) -> None:
        name = _legal(request.node.nodeid.partition("::")[2])
        self.path = request.path.parent / "recordings" / request.path.stem / name
        self.records = bool(request.config.getoption("--record"))
        self._uses: Counter[str] = Counter()
        self._new: list[Path] = []

    def __call__(self, model: Provider | str) -> Any:
        """Return a provider: `model` with `--record`, else its recorded replies."""
        label = _legal(_label(model))
        self._uses[label] += 1
        number = f".{self._uses[label]}" if self._uses[label] > 1 else ""  # the same model again
        path = self.path.with_name(f"{self.path.name}.{label}{number}.jsonl")
        if not self.records:
            return ReplayProvider(self._existing(path))
        self._new.append(path)
        return RecordingProvider(model, f"{path}{_NEW}")

    def tools(self, tools: Any) -> list[Tool]:
        """Return the tools with `--record`, else tools that return the recorded results; also those of toolsets."""
        if self.records:
            return Registry(tools).all()
        paths = sorted(self.path.parent.glob(f"{escape(self.path.name)}.*.jsonl"))
        return ReplayProvider(*(paths or [self._existing(self.path.with_suffix(".jsonl"))])).tools(tools)

    def finish(self, *, passed: bool) -> None:
        """Replace the files of a test that has passed; a failed one leaves the earlier recordings."""
        for path in self._new:
            new = path.with_name(f"{path.name}{_NEW}")
            new.replace(path) if passed else new.unlink()

    def _existing(self, path: Path) -> Path:
        if not path.is_file():
            pytest.fail(f"{path} does not exist; record it: pytest --record", pytrace=False)
        return path


def _label(model: Provider | str) -> str:
    parts = [getattr(model, "name", ""), getattr(model, "model", "")]
    return model if isinstance(model, str) else ":".join(filter(None, parts)) or type(model).__name__.lower()


def _legal(name: str) -> str:
    """Return a name for a file; a digest keeps names apart that cannot be written, also where case does not count."""
    text = re.sub(r"[^\w-]+", "_", name).strip("_")[:100]
    return text if text == name.lower() else f"{text}-{sha256(name.encode()).hexdigest()[:8]}"
