from __future__ import annotations

from tools_core import Context
from tools_filesystem import ListRoots, Root, Workspace


def test_the_roots_and_their_modes_are_listed(root, tmp_path):
    result = ListRoots(Workspace(root, Root(str(tmp_path / "missing"), writable=False))).call()
    assert result.output == f"{root} (writable)\n{tmp_path}/missing (read-only) (does not exist)"
    assert result.metadata["roots"] == [
        {"path": str(root), "writable": True},
        {"path": f"{tmp_path}/missing", "writable": False},
    ]


def test_without_a_workspace_of_its_own_it_lists_that_of_the_context(context, root):
    assert ListRoots().call({}, context).output == f"{root} (writable)"


def test_a_workspace_can_be_read_only_as_a_whole(monkeypatch, root):
    monkeypatch.setenv("ASK_TOOLS_READ_ONLY", "1")
    assert ListRoots().call({}, Context(workspace=root)).output == f"{root} (read-only)"
