"""What `ask-tools doctor` is told of `grep` is what searches do."""

from __future__ import annotations

import shutil
import sys

import pytest

from tools_core import Context
from tools_filesystem import Grep


@pytest.mark.parametrize("engine", ["auto", "own"])
def test_the_engine_that_is_told_is_the_one_that_searches(tmp_path, engine):
    (tmp_path / "a.txt").write_text("one\n" * 2000)
    tool = Grep(tmp_path, engine=engine)
    told = tool.diagnose()
    found = tool.call({"pattern": "o+ne"}, Context())
    if found.ok:
        assert told["grep_engine"] == found.metadata["engine"]
    else:
        assert told["grep_engine"] == f"plain text alone: {found.error}"


@pytest.mark.skipif(sys.platform != "linux" or shutil.which("rg") is None, reason="ripgrep is not installed")
def test_where_ripgrep_is_and_that_it_is_missing_is_told(tmp_path, monkeypatch):
    assert Grep(tmp_path).diagnose()["programs"] == {"rg": shutil.which("rg")}
    monkeypatch.setenv("PATH", str(tmp_path))
    assert Grep(tmp_path).diagnose()["programs"] == {"rg": None}
