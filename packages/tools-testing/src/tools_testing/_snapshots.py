"""`tool_snapshot`: the definitions of tools, recorded in files, which a test compares."""

from __future__ import annotations

import json
import re
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tools_testing._fixtures import one_tool

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pytest

    from tools_core import Tool

_FOLDER = "__tool_snapshots__"
_COMMAND = "pytest --tool-snapshot-update"
_MAX_LINES = 100  # of a difference


class Snapshots:
    """The snapshots of one run of pytest; with several workers, of all of them."""

    def __init__(self) -> None:
        self.compared: dict[str, str] = {}  # the definitions by the path of their file
        self.records: list[str] = []  # for the summary
        self.expected: set[str] = set()  # the tests with the fixture, and
        self.begun: set[str] = set()  # those that have begun
        self.is_partial = False

    def to_dict(self) -> dict[str, Any]:
        """Return what a worker tells the main process."""
        sets = {name: sorted(getattr(self, name)) for name in ("expected", "begun")}
        return {"compared": self.compared, "records": self.records, "is_partial": self.is_partial, **sets}

    def add(self, values: Mapping[str, Any]) -> None:
        """Add what a worker has told."""
        self.compared |= values["compared"]
        self.records += values["records"]
        self.is_partial |= values["is_partial"]
        self.expected |= set(values["expected"])
        self.begun |= set(values["begun"])

    def unused(self, arguments: Sequence[str], current: Path) -> list[Path]:
        """Return the files that no test has compared, in the folders whose tests have all run."""
        if self.is_partial or self.expected - self.begun:
            return []
        roots = [path for argument in arguments if (path := current / argument).is_dir()]
        folders = {path for name in self.compared for path in Path(name).parents if path.name == _FOLDER}
        complete = [folder for folder in folders if any(folder.is_relative_to(root) for root in roots)]
        return sorted(path for folder in complete for path in folder.rglob("*.json") if str(path) not in self.compared)


class ToolSnapshot:
    """The fixture `tool_snapshot`: call it with a tool to compare its definition with the recorded one."""

    def __init__(self, request: pytest.FixtureRequest, snapshots: Snapshots) -> None:
        self._request, self._snapshots = request, snapshots
        self._updates = bool(request.config.getoption("--tool-snapshot-update"))
        snapshots.begun.add(request.node.nodeid)

    def __call__(self, tool: Any) -> None:
        """Compare; AssertionError if the definition differs."""
        __tracebackhide__ = True
        single = one_tool(tool)
        path, text = self._path(single), _as_text(single)
        if self._snapshots.compared.setdefault(str(path), text) != text:
            raise AssertionError(f"two tools with different definitions are called `{single.name}`: {path}")
        before = path.read_text(encoding="utf-8") if path.is_file() else None
        if before == text:
            return
        if self._updates:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
            self._snapshots.records.append(f"{'recorded' if before is None else 'updated'}: {path}")
        elif before is None:
            raise AssertionError(f"`{single.name}` has no recorded definition: run {_COMMAND}")
        else:
            difference = "\n".join(_difference(before, text))
            raise AssertionError(
                f"the definition of `{single.name}` has changed:\n{difference}\nif this is intended: run {_COMMAND}"
            )

    def _path(self, tool: Tool) -> Path:
        """Return the file of a tool: in the folder of its package, or of the test file that defines it."""
        test = self._request.path
        is_local = tool.__module__ == self._request.module.__name__
        package = test.stem if is_local else tool.__module__.partition(".")[0]
        return test.parent / _FOLDER / _legal(package) / f"{_legal(tool.name)}.json"


def _legal(name: str) -> str:
    return re.sub(r"[^\w.-]", "_", name)


def _as_text(tool: Tool) -> str:
    return json.dumps(tool.definition, indent=2, ensure_ascii=False, sort_keys=True) + "\n"


def _difference(before: str, text: str) -> Iterator[str]:
    lines = [*unified_diff(before.splitlines(), text.splitlines(), "recorded", "now", lineterm="")]
    yield from lines[:_MAX_LINES]
    if len(lines) > _MAX_LINES:
        yield f"... {len(lines) - _MAX_LINES} more lines"
