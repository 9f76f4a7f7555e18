"""Paths: both resolvers over one corpus, compared with the files that the kernel opens."""

from __future__ import annotations

import itertools
import os
import socket
import subprocess
import sys

import pytest

from tools_filesystem import ApplyPatch, DeletePath, EditFile, ReadFile, WriteFile

# The meaning of each name: the corpus has all combinations.
NAMES = (
    *("", ".", "..", "...", "~", "$HOME", "a b", "é", "é", "file.txt", "FILE.TXT", "folder", "missing"),
    *("in-file", "in-folder", "in-absolute", "in-absolute-file", "in-up", "in-chain"),
    *("out-file", "out-folder", "out-absolute", "out-and-back", "out-sibling", "dangling", "dangling-out"),
    *("loop", "loop-a", "self-parent", "proc-link"),
)


@pytest.fixture
def tree(root, tmp_path):
    """A workspace with a link of every kind."""
    (tmp_path / "root-evil").mkdir()
    (tmp_path / "root-evil" / "file.txt").write_text("evil")
    inner = root / "folder" / "folder"
    inner.mkdir(parents=True)
    for place in (root, root / "folder", inner):
        (place / "file.txt").write_text(str(place))
        links = {
            "in-file": "file.txt",
            "in-folder": "./folder",
            "in-absolute": f"{root}/folder",
            "in-absolute-file": f"{root}//./folder/file.txt",
            "in-up": "../root/folder" if place == root else "../file.txt",
            "in-chain": "in-absolute/../in-file",
            "out-file": f"{os.path.relpath(tmp_path, place)}/outside/secret.txt",
            "out-folder": f"{os.path.relpath(tmp_path, place)}/outside",
            "out-absolute": f"{tmp_path}/outside",
            "out-and-back": f"{os.path.relpath(tmp_path, place)}/root",
            "out-sibling": f"{tmp_path}/root-evil",
            "dangling": "missing",
            "dangling-out": f"{tmp_path}/outside/new.txt",
            "loop": "loop",
            "loop-a": "folder/../loop-a",
            "self-parent": ".",
            "proc-link": "/proc/self/root",
        }
        for name, target in links.items():
            (place / name).symlink_to(target)
    return str(root)


def corpus(tree, tmp_path):
    for length in (1, 2, 3):
        for names in itertools.product(NAMES, repeat=length):
            yield "/".join(names)
    for names in itertools.product(NAMES, repeat=2):
        tail = "/".join(names)
        for head in (tree, "", f"{tmp_path}/root-evil", f"{tmp_path}/./root/", f"{tree}/../root"):
            yield f"{head}/{tail}"
        for head in ("in-folder/in-absolute/..", "folder//folder/.", "in-chain/../in-folder", "folder/../.."):
            yield f"{head}/{tail}"
        yield f"{tree}-evil/{tail}/"


def outcome(tool, path):
    """The content of the file that a path means, or the kind of error; nothing else may come out."""
    result = tool.call(path=path)
    assert result.output not in ("1\tevil", "1\tsecret"), path
    return result.output or result.error_type


def never_leaves(tree, path):
    """A separate oracle: each beginning of a relative path is inside, as the kernel sees it."""
    parts = path.split("/")
    for end in range(1, len(parts) + 1):
        real = os.path.realpath(os.path.join(tree, *parts[:end]))
        if real != tree and not real.startswith(f"{tree}/"):
            return False
    return True


@pytest.mark.slow
def test_paths_that_leave_the_root_are_refused_and_all_others_work(tree, resolver, tmp_path):
    tool, count, inside = ReadFile(tree), 0, 0
    for path in dict.fromkeys(corpus(tree, tmp_path)):
        if not path:
            continue
        count += 1
        got = outcome(tool, path)
        if path.startswith("/") or "out-" in path or "in-up" in path or not never_leaves(tree, path):
            continue
        real = os.path.join(tree, path)
        if os.path.isfile(real):
            with open(real, encoding="utf-8") as file:
                assert got == f"1\t{file.read()}", path
            inside += 1
        elif os.path.isdir(real):
            assert got == "not_a_file", path
        else:
            assert got in ("not_found", "not_a_directory") or got.startswith("1\t"), path  # the last in another case
    assert count > 25_000
    assert inside > 150


@pytest.mark.slow
def test_both_resolvers_give_the_same_file_or_the_same_error(tree, tmp_path, without_system_calls):
    tool, outcomes = ReadFile(tree), []
    paths = [path for path in dict.fromkeys(corpus(tree, tmp_path)) if path]
    for has_openat2 in (True, False):
        if not has_openat2:
            without_system_calls()
        outcomes.append([outcome(tool, path) for path in paths])
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        pytest.param("../outside/secret.txt", "denied", id="parent"),
        pytest.param("a/../../outside/secret.txt", "not_found", id="parent of a missing folder"),
        pytest.param("/etc/passwd", "denied", id="absolute"),
        pytest.param("~/secret", "not_found", id="tilde is a name"),
        pytest.param("$HOME", "not_found", id="variable is a name"),
        pytest.param("", "validation_error", id="empty"),
        pytest.param("a\0b", "validation_error", id="NUL"),
        pytest.param("x" * 256, "validation_error", id="over-long name"),
        pytest.param("x/" * 3000, "validation_error", id="over-long path"),
        pytest.param("file.txt/", "not_a_directory", id="slash behind a file"),
        pytest.param("file.txt/.", "not_a_directory", id="dot behind a file"),
        pytest.param("file.txt/..", "not_a_directory", id="parent of a file"),
    ],
)
def test_a_path_that_does_not_work_is_refused_by_a_stable_kind(files, root, resolver, path, kind):
    (root / "file.txt").write_text("text")
    for result in (files.read.call(path=path), files.list.call(path=path)):
        assert result.error_type == kind


def test_a_sibling_folder_with_the_root_as_name_prefix_is_refused(files, root, resolver):
    evil = root.with_name("root-evil")
    evil.mkdir()
    (evil / "file.txt").write_text("evil")
    assert files.read.call(path=f"{evil}/file.txt").error_type == "denied"


def test_an_absolute_path_under_the_root_works_however_the_root_is_spelled(root, tmp_path, resolver):
    (root / "file.txt").write_text("here")
    (tmp_path / "alias").symlink_to(root)
    for spelled in (root, tmp_path / "alias"):
        for path in (root / "file.txt", tmp_path / "alias" / "file.txt"):
            read = ReadFile(str(spelled))
            allowed = spelled.name == "alias" or "alias" not in path.parts
            assert read.call(path=str(path)).ok is allowed


def test_an_absolute_link_that_points_back_inside_works(files, root, resolver):
    (root / "file.txt").write_text("here")
    (root / "link").symlink_to(root / "file.txt")
    assert files.read.call(path="link").output == "1\there"


def test_as_many_links_are_followed_as_the_kernel_follows(files, root, resolver):
    (root / "0").write_text("x")
    for number in range(1, 42):
        (root / str(number)).symlink_to(str(number - 1))
    assert files.read.call(path="40").ok
    assert files.read.call(path="41").error_type == "not_found"


def test_a_chain_of_folders_longer_than_a_path_may_be_stays_inside(files, root, resolver):
    # realpath stops beyond PATH_MAX and then calls this path harmless; the kernel opens the secret.
    long = "d" * 247
    here = os.open(root, os.O_RDONLY)
    for _ in range(17):
        os.mkdir(long, dir_fd=here)
        inner = os.open(long, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.symlink(str(root.parent / "outside"), "out", dir_fd=here)
    os.close(here)
    for level in range(4):
        os.symlink("/".join([long] * 4), root / f"alias{level}")
    deep = "/".join([long] * 15)
    for path in (f"{deep}/{long}/{long}/out/secret.txt", f"alias0/{'/'.join([long] * 13)}/out/secret.txt"):
        assert not files.read.call(path=path).ok


@pytest.mark.parametrize("special", ["pipe", "socket", "device"])
def test_a_special_file_is_never_opened_for_data(files, root, resolver, special):
    place = root / "special"
    if special == "pipe":
        os.mkfifo(place)
    elif special == "socket":
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(place))
    else:
        try:
            os.mknod(place, 0o20666, os.makedev(1, 5))  # /dev/zero
        except PermissionError:
            pytest.skip("only root makes devices")
    assert files.read.call(path="special").error_type == "not_a_file"
    assert files.write.call(path="special", content="x", overwrite=True).error_type == "not_a_file"
    assert files.list.call(path=".").output == f"special ({special})"


@pytest.mark.slow
def test_swapping_a_folder_for_a_link_never_lets_a_call_escape(files, root, resolver, swapping):
    outside = root.parent / "outside"
    (root / "place").mkdir()
    (root / "place" / "secret.txt").write_text("inside")
    with swapping():
        read = {files.read.call(path="place/secret.txt").output for _ in range(20_000)}
        successes = {
            files.write.call(path=f"place/new{number % 9}.txt", content="x", overwrite=True).ok
            for number in range(2_000)
        }
    assert read == {"1\tinside", None}
    assert successes == {True, False}
    assert [entry.name for entry in outside.iterdir()] == ["secret.txt"]
    assert (outside / "secret.txt").read_text() == "secret"


ELSEWHERE = """
import os, pathlib, socket, subprocess  # what the system itself loads
for name in ("O_PATH", "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_TMPFILE", "fchown"):
    vars(os).pop(name, None)
from tools_filesystem import ListDirectory, ReadFile, WriteFile
for tool, more in ((ReadFile(), {}), (WriteFile(), {"content": ""}), (ListDirectory(), {})):
    print(tool.call({"path": "x", **more}).error_type)
"""


def test_on_an_unsupported_system_the_tools_import_and_refuse_every_call():
    done = subprocess.run([sys.executable, "-c", ELSEWHERE], capture_output=True, text=True, check=True)
    assert done.stdout == "unavailable\n" * 3


def test_an_error_never_repeats_a_long_path_in_full(root):
    path = "/".join(["d" * 200] * 18)
    (root / path).mkdir(parents=True)
    (root / path / "file").write_text("x\n")
    patch = f"--- {path}/a\n+++ {path}/b\n@@ -1 +1 @@\n-x\n+y\n"
    results = [
        WriteFile(root).call(path=f"{path}/file", content=""),
        EditFile(root).call(path=f"{path}/file", old_string="a", new_string="b"),
        ReadFile(root).call(path=f"{path}/fil"),
        DeletePath(root).call(path=path),
        ApplyPatch(root).call(patch=patch),
    ]
    for result in results:
        assert len(result.error) < 1300, result.error
        assert "d[...]d" in result.error
