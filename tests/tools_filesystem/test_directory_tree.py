from __future__ import annotations

import json
import os

import pytest

from tools_filesystem import DirectoryTree


@pytest.fixture
def tree(root):
    return DirectoryTree(str(root))


def test_a_tree_is_nested_json_with_hidden_files_and_links_that_are_not_followed(tree, root):
    (root / "src" / "deep").mkdir(parents=True)
    (root / "src" / "deep" / "a.py").write_text("")
    (root / ".hidden").write_text("")
    (root / "loop").symlink_to(".")
    (root / "out").symlink_to("../outside")
    os.mkfifo(root / "pipe")
    result = tree.call()
    assert json.loads(result.content) == {
        "name": ".",
        "type": "directory",
        "children": [
            {"name": ".hidden", "type": "file"},
            {"name": "loop", "type": "link", "target": "."},
            {"name": "out", "type": "link", "target": "../outside"},
            {"name": "pipe", "type": "pipe"},
            {
                "name": "src",
                "type": "directory",
                "children": [
                    {"name": "deep", "type": "directory", "children": [{"name": "a.py", "type": "file"}]},
                ],
            },
        ],
    }


def test_what_is_too_deep_has_no_children_and_what_is_left_out_is_counted(tree, root):
    (root / "a" / "b").mkdir(parents=True)
    for number in range(10):
        (root / "a" / f"{number}").write_text("")
    assert tree.call(depth=1).output["children"] == [{"name": "a", "type": "directory"}]
    result = tree.call(limit=4)
    inner = result.output["children"][0]
    assert [child["name"] for child in inner["children"]] == ["0", "1", "2"]
    assert inner["left_out"] == 8
    assert dict(result.metadata) == {"total": 12, "left_out": 8}


def test_a_large_folder_does_not_hide_its_siblings(tree, root):
    for folder in ("a", "b"):
        (root / folder).mkdir()
        for number in range(20):
            (root / folder / f"{number:02}").write_text("")
    names = [child["name"] for child in tree.call(limit=10).output["children"]]
    assert names == ["a", "b"]
    assert tree.call(limit=10).output["children"][1]["problem"] == "not listed"


def test_any_name_can_be_sent(tree, root):
    with open(os.fsencode(root) + b"/\xff", "wb"):
        pass
    result = tree.call()
    result.to_json().encode()
    assert result.output["children"][0]["name"] == r"\xff"


def test_a_file_is_no_tree(tree, root):
    (root / "file.txt").write_text("")
    assert tree.call(path="file.txt").error_type == "not_a_directory"
