"""The paths of a call, by the roots of the tool itself, with links followed, and nothing touched."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tools_core import Context
from tools_filesystem import (
    ApplyPatch,
    DeletePath,
    EditFile,
    Glob,
    Grep,
    MovePath,
    ReadFile,
    Root,
    Workspace,
    WriteFile,
)


@pytest.fixture
def root(tmp_path):
    place = tmp_path / "ws"
    (place / "src").mkdir(parents=True)
    (place / "src" / "a").write_text("x")
    return place


def paths(tool, root, **arguments):
    reported = tool.effects(arguments, Context(workspace=root)).paths
    return None if reported is None else [os.path.relpath(path, root) for path in reported]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("src/a", ["src/a"]),
        ("./src//a", ["src/a"]),
        ("src/../src/a", ["src/a"]),
        ("src/new", ["src/new"]),
        ("new/deep/file", ["new/deep/file"]),
        (".", ["."]),
        ("src/", ["src"]),
        ("in", ["in", "src/a"]),
        ("chain", ["chain", "in", "src/a"]),
        ("dangling", ["dangling", "src/gone"]),
        ("folder/a", ["src/a"]),
        ("folder/../src/a", ["src/a"]),
        ("src/A", ["src/a", "src/A"]),
        ("..", None),
        ("../x", None),
        ("/etc/passwd", None),
        ("out/passwd", None),
        ("outside", None),
        ("loop", None),
        ("gone/../../x", None),
        ("gone/../src/a", None),
        ("", None),
        ("a\0", None),
        ("\ud800", None),
        (3, None),
        (None, None),
    ],
)
def test_a_path_is_reported_by_its_real_name(root, path, expected):
    (root / "in").symlink_to("src/a")
    (root / "chain").symlink_to("in")
    (root / "dangling").symlink_to("src/gone")
    (root / "folder").symlink_to(root / "src")
    (root / "out").symlink_to("/etc")
    (root / "outside").symlink_to("/etc/passwd")
    (root / "loop").symlink_to("loop")
    for tool in (ReadFile(), WriteFile(), EditFile(), DeletePath()):
        assert paths(tool, root, path=path) == expected, tool


def test_effects_report_all_paths(root):
    assert paths(MovePath(), root, source="src/a", destination="b") == ["src/a", "b"]
    assert paths(MovePath(), root, source="src/a") is None
    assert paths(Grep(), root, pattern="x") == ["."]


def test_effects_report_the_files_of_a_patch(root):
    patch = (
        "*** Begin Patch\n*** Update File: src/a\n*** Move to: b/c\n@@\n-x\n+y\n*** Add File: d\n+z\n*** End Patch\n"
    )
    assert paths(ApplyPatch(), root, patch=patch) == ["src/a", "b/c", "d"]
    assert paths(ApplyPatch(), root, patch="--- a/src/a\n+++ b/src/a\n@@ -1 +1 @@\n-x\n+y\n") == ["src/a"]
    assert paths(ApplyPatch(), root, patch="nonsense") is None
    assert paths(ApplyPatch(), root) is None


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"pattern": "*.py"}, ["."]),
        ({"pattern": "src/**/*.py"}, ["src"]),
        ({"pattern": "*.py", "path": "src"}, ["src"]),
        ({"pattern": "../*"}, None),
        ({"pattern": "*/../../*"}, None),
        ({"pattern": "/etc/*"}, None),
        ({}, None),
    ],
)
def test_a_search_is_reported_by_its_start(root, arguments, expected):
    assert paths(Glob(), root, **arguments) == expected
    if "pattern" in arguments and expected is not None and "path" not in arguments:
        assert paths(Glob(), root, pattern=f"{root}/{arguments['pattern']}") == expected


def test_effects_use_the_workspace_of_the_tool(root, tmp_path):
    configured = tmp_path / "own"
    configured.mkdir()
    tool = ReadFile(Workspace(configured, Root(str(root), writable=False)))
    assert tool.effects({"path": "x"}, Context(workspace=root)).paths == (str(configured / "x"),)
    assert tool.effects({"path": str(root / "src/a")}).paths == (str(root / "src/a"),)


def test_effects_change_no_file(root):
    before = sorted(os.walk(root))
    for tool in (WriteFile(), DeletePath(), EditFile()):
        paths(tool, root, path="new/x")
    assert sorted(os.walk(root)) == before
    before = len(os.listdir("/proc/self/fd"))
    for path in ("src/a", "loop", "../x", "new/y", "src/A"):
        paths(ReadFile(), root, path=path)
    assert len(os.listdir("/proc/self/fd")) == before


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(["..", "src", ".", "a", "up", "", "new"]), max_size=7))
def test_effects_report_real_paths_inside_the_root(root, parts):
    if not (root / "up").is_symlink():
        (root / "up").symlink_to("..")
    reported = paths(ReadFile(), root, path="/".join(parts).lstrip("/") or ".")
    if reported is not None:
        real = os.path.realpath(root / ("/".join(parts).lstrip("/") or "."))
        assert os.path.relpath(real, root) in reported
        assert not any(path.startswith("..") for path in reported)
