from __future__ import annotations

import os
import time
from datetime import datetime

import pytest

from tools_filesystem import FileInfo


@pytest.fixture
def info(root):
    return FileInfo(str(root))


def test_a_file_is_described(info, root):
    file = root / "file.txt"
    file.write_text("content")
    file.chmod(0o640)
    os.utime(file, (0, 1_700_000_000.5))
    facts = info.call(path="file.txt").output
    assert facts | {"owner": "", "group": ""} == {
        "path": "file.txt",
        "type": "file",
        "size": 7,
        "modified": "2023-11-14T22:13:20+00:00",
        "mode": "0640",
        "permissions": "-rw-r-----",
        "owner": "",
        "group": "",
        "media_type": "text/plain",
    }
    assert isinstance(facts["group"], str)


@pytest.mark.parametrize(
    ("path", "type_"),
    [(".", "directory"), ("folder", "directory"), ("folder/", "directory"), ("folder/..", "directory")],
)
def test_a_folder_is_described(info, root, path, type_):
    (root / "folder").mkdir()
    assert info.call(path=path).output["type"] == type_


@pytest.mark.parametrize("target", ["file.txt", ".", "missing", "link", "../outside/secret.txt", "../outside/missing"])
def test_a_link_is_described_itself_and_never_followed_outside(info, root, resolver, target):
    (root / "file.txt").write_text("content")
    (root / "link").symlink_to(target)
    facts = info.call(path="link").output
    assert (facts["type"], facts["target"]) == ("link", target)
    assert facts["size"] == len(target)
    assert "media_type" not in facts


def test_file_info_refuses_paths_outside(info, root, resolver):
    (root / "out").symlink_to("../outside")
    for path in ("../outside/secret.txt", "out/secret.txt", "out/", "out/.", "out/..", "..", "/etc/passwd"):
        assert info.call(path=path).error_type == "denied", path


def test_the_time_is_in_iso_format(info, root):
    (root / "file.txt").write_text("")
    assert abs(datetime.fromisoformat(info.call(path="file.txt").output["modified"]).timestamp() - time.time()) < 3600


def test_a_miss_is_explained(info, root):
    (root / "file.txt").write_text("")
    assert "did you mean 'file.txt'?" in info.call(path="fil.txt").error
