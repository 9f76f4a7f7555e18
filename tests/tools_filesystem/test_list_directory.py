from __future__ import annotations

import os
import socket
import sys

import pytest

from tools_filesystem import FileInfo, ListDirectory, ReadFile


def test_entries_are_sorted_and_typed(files, root):
    (root / "b.txt").write_text("12345")
    (root / "a").mkdir()
    (root / ".hidden").write_text("")
    (root / "link").symlink_to("b.txt")
    os.mkfifo(root / "pipe")
    assert files.list.call().output.splitlines() == [
        ".hidden (0 bytes)",
        "a/",
        "b.txt (5 bytes)",
        "link -> b.txt",
        "pipe (pipe)",
    ]


def test_omitted_entries_are_counted(files, root):
    for number in range(25):
        (root / f"{number:02}").write_text("")
    result = files.list.call(limit=10)
    assert result.output.splitlines()[9:] == [
        "09 (0 bytes)",
        "[the first 10 of 25 entries; continue with after='09']",
    ]
    following = {"path": ".", "depth": 1, "limit": 10, "after": "09"}
    assert dict(result.metadata) == {"total": 25, "left_out": 15, "next": following}


def test_following_the_hint_lists_every_name_once(files, root):
    names = sorted([f"{number}" for number in range(23)] + ["\udcff", r"\xff", "a\nb", "é"])
    for name in names:
        os.close(os.open(os.fsencode(root) + b"/" + os.fsencode(name), os.O_CREAT))
    count, arguments = 0, {"path": ".", "limit": 2}
    while arguments:
        result = files.list.call(arguments)
        arguments = result.metadata.get("next")
        count += len(result.output.splitlines()) - bool(arguments)
    assert count == len(names)


def test_depth_lists_subfolders_without_following_symlinks(files, root):
    (root / "a" / "b" / "c").mkdir(parents=True)
    (root / "a" / "b" / "file.txt").write_text("x")
    (root / "a" / "up").symlink_to("..")
    (root / "z").write_text("")
    (root / ".git" / "objects").mkdir(parents=True)
    assert files.list.call(depth=3).output.splitlines() == [
        ".git/ (not listed)",
        "a/",
        "  b/",
        "    c/",
        "    file.txt (1 bytes)",
        "  up -> ..",
        "z (0 bytes)",
    ]


def test_omitted_entries_of_subfolders_are_counted(files, root):
    for folder in ("a", "b"):
        (root / folder).mkdir()
        for number in range(5):
            (root / folder / f"{number}").write_text("")
    assert files.list.call(depth=2, limit=4).output.splitlines() == [
        "a/",
        "  0 (0 bytes)",
        "  1 (0 bytes)",
        "  [3 of 5 entries omitted; list this folder directly]",
        "b/ (not listed)",
    ]


def test_an_unreadable_folder_is_marked(files, root):
    if os.geteuid() == 0:
        pytest.skip("root lists everything")
    (root / "a").mkdir(mode=0)
    (root / "b").mkdir()
    assert files.list.call(depth=2).output.splitlines() == ["a/ (permission denied)", "b/"]


@pytest.mark.parametrize("special", ["pipe", "socket", "device"])
def test_no_tool_waits_for_a_special_file(root, special):
    place = root / "special.png"
    if special == "pipe":
        os.mkfifo(place)
    elif special == "device":
        try:
            os.mknod(place, 0o20666, os.makedev(1, 5))  # /dev/zero
        except PermissionError:
            pytest.skip("only root makes devices")
    else:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(place))
    workspace = str(root)
    assert ReadFile(workspace).call(path="special.png").error_type == "not_a_file"
    assert FileInfo(workspace).call(path="special.png").output["type"] == special
    assert ListDirectory(workspace).call(path="special.png").error_type == "not_a_directory"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /proc")
@pytest.mark.parametrize("path", ["/proc/self/environ", "/proc/kmsg", "/proc/self/mem", "/sys/kernel/uevent_helper"])
def test_pseudo_files_are_never_read(path):
    if not os.path.exists(path):
        pytest.skip("this kernel has no such file")
    assert ReadFile("/").call(path=path).error_type == "not_a_file"
    facts = FileInfo("/").call(path=path).output
    assert facts["type"] == "file"
    assert "media_type" not in facts


def test_an_empty_folder_is_a_fact(files):
    assert files.list.call().output == "'.' is empty."


def test_a_name_cannot_look_like_another_entry_and_any_name_can_be_sent(files, root):
    (root / "a\nb.txt (9 bytes)").write_text("")
    os.close(os.open(os.fsencode(root) + b"/\xff", os.O_CREAT))
    result = files.list.call()
    assert len(result.output.splitlines()) == 2
    result.to_json().encode()


@pytest.mark.parametrize("limit", [0, 10_001])
def test_a_limit_out_of_range_is_refused(files, limit):
    assert files.list.call(limit=limit).error_type == "validation_error"


def test_a_file_is_not_listed_and_a_miss_is_explained(files, root):
    (root / "file.txt").write_text("")
    assert files.list.call(path="file.txt").error_type == "not_a_directory"
    assert "did you mean 'file.txt'?" in files.list.call(path="file.tx").error
