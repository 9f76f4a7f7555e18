from __future__ import annotations

import os

import pytest


def test_entries_are_sorted_and_say_what_they_are(files, root):
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


def test_what_is_left_out_is_counted(files, root):
    for number in range(25):
        (root / f"{number:02}").write_text("")
    result = files.list.call(limit=10)
    assert result.output.splitlines()[9:] == ["09 (0 bytes)", "[the first 10 of 25 entries; 15 are left out]"]
    assert dict(result.metadata) == {"total": 25, "left_out": 15}


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
    assert "did you mean 'file.txt'?" in files.list.call(path="file.tx").error_message
