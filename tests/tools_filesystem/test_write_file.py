from __future__ import annotations

import os
import resource
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from tools_core import Context


@pytest.fixture(params=["without a name", "with a name"])
def temporary(request, monkeypatch):
    """Both ways to write aside: a file without a name, or with one where the system has no such thing."""
    if request.param == "with a name":
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)


def names(folder):
    return sorted(entry.name for entry in folder.rglob("*"))


def test_a_new_file_is_written_with_its_folders(files, root, temporary, resolver):
    result = files.write.call(path="a/b/héllo.txt", content="héllo\r\n")
    assert result.output == {"path": "a/b/héllo.txt", "bytes": 8, "created": True}
    assert (root / "a" / "b" / "héllo.txt").read_bytes() == "héllo\r\n".encode()
    assert names(root) == ["a", "b", "héllo.txt"]


def test_an_existing_file_is_replaced_only_with_overwrite(files, root, temporary):
    (root / "file.txt").write_text("old")
    refused = files.write.call(path="file.txt", content="new")
    assert refused.error_type == "conflict"
    assert "overwrite=true" in refused.error
    assert (root / "file.txt").read_text() == "old"
    assert files.write.call(path="file.txt", content="new", overwrite=True).output["created"] is False
    assert (root / "file.txt").read_text() == "new"
    assert names(root) == ["file.txt"]


@pytest.mark.parametrize(
    ("old", "new", "note"),
    [
        pytest.param("a\r\nb\r\n", "a\nc\n", "[its lines ended with CRLF, now they end with LF]", id="line endings"),
        pytest.param("a\r\nb\r\n", "a\r\nc\r\n", "", id="kept"),
        pytest.param(
            b"\xef\xbb\xbfa\r\n",
            "b\n",
            "[its encoding was utf-8-sig, now it is utf-8]\n[its lines ended with CRLF, now they end with LF]",
            id="both",
        ),
        pytest.param(b"\xff\xfea\0\n\0", "b\n", "[its encoding was utf-16-le, now it is utf-8]", id="encoding"),
    ],
)
def test_replacing_a_file_reports_changed_line_endings_and_encoding(files, root, old, new, note):
    (root / "file.txt").write_bytes(old if isinstance(old, bytes) else old.encode())
    result = files.write.call(path="file.txt", content=new, overwrite=True)
    assert result.content == "\n".join(filter(None, [f"Replaced 'file.txt' ({len(new)} bytes)", note]))


def test_new_files_get_the_default_mode_and_replaced_files_keep_their_mode(files, root, temporary):
    before = os.umask(0o027)
    try:
        files.write.call(path="new.txt", content="x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((root / "new.txt").stat().st_mode) == 0o640
    (root / "script").write_text("old")
    (root / "script").chmod(0o4751)
    files.write.call(path="script", content="new", overwrite=True)
    assert stat.S_IMODE((root / "script").stat().st_mode) == 0o751  # and never gains the set-id bit


def test_a_replaced_file_keeps_its_owner(files, root):
    if os.geteuid() != 0:
        pytest.skip("only root gives files away")
    (root / "file.txt").write_text("old")
    os.chown(root / "file.txt", 1234, 5678)
    files.write.call(path="file.txt", content="new", overwrite=True)
    status = (root / "file.txt").stat()
    assert (status.st_uid, status.st_gid) == (1234, 5678)


def test_a_link_inside_is_written_through_and_one_to_the_outside_is_refused(files, root, resolver):
    (root / "folder").mkdir()
    (root / "folder" / "file.txt").write_text("old")
    (root / "link").symlink_to("folder/file.txt")
    (root / "absolute").symlink_to(root / "folder" / "new.txt")
    (root / "out").symlink_to("../outside/secret.txt")
    (root / "out-new").symlink_to("../outside/new.txt")
    (root / "loop").symlink_to("loop")
    assert files.write.call(path="link", content="new", overwrite=True).ok
    assert (root / "link").is_symlink()
    assert (root / "folder" / "file.txt").read_text() == "new"
    assert files.write.call(path="absolute", content="made").ok
    assert (root / "folder" / "new.txt").read_text() == "made"
    for path in ("out", "out-new", "../outside/new.txt", "folder/../../outside/new.txt"):
        assert files.write.call(path=path, content="x", overwrite=True).error_type == "denied"
    assert files.write.call(path="loop", content="x", overwrite=True).error_type == "not_found"
    assert names(root.parent / "outside") == ["secret.txt"]


def test_a_hard_link_to_an_outside_file_is_never_written_through(files, root):
    os.link(root.parent / "outside" / "secret.txt", root / "hard")
    assert files.write.call(path="hard", content="x", overwrite=True).ok
    assert (root.parent / "outside" / "secret.txt").read_text() == "secret"


@pytest.mark.parametrize("path", ["folder", "folder/", "new/", ".", "..", "new/.", "/"])
def test_a_path_that_cannot_be_a_file_is_refused_without_creating_folders(files, root, path):
    (root / "folder").mkdir()
    assert files.write.call(path=path, content="x", overwrite=True).error_type in ("not_a_file", "denied")
    assert names(root) == ["folder"]


def test_a_trailing_slash_after_a_file_name_gets_a_precise_error(files, root):
    (root / "file").write_text("x")
    message = files.write.call(path="file/", content="y", overwrite=True).error
    assert "ends with a slash" in message
    assert "is a folder" not in message


@pytest.mark.parametrize("path", ["a/b/" + "x" * 256, "a/b/../../../x", "dangling/x"])
def test_a_failure_leaves_no_folders_behind(files, root, path):
    (root / "dangling").symlink_to("nowhere")
    assert not files.write.call(path=path, content="x").ok
    assert names(root) == ["dangling"]


def test_on_a_full_disk_the_old_content_stays_without_leftover_files(files, root, temporary):
    (root / "file.txt").write_text("old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        replaced = files.write.call(path="file.txt", content="x" * 200_000, overwrite=True)
        created = files.write.call(path="a/new.txt", content="x" * 200_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert replaced.error_type == created.error_type == "limit_exceeded"
    assert (root / "file.txt").read_text() == "old"
    assert names(root) == ["file.txt"]


def test_of_many_sessions_that_create_one_file_one_succeeds(files, root, temporary):
    def write(number):
        session = Context()
        return files.write.call({"path": "a/b/file", "content": str(number) * 9}, session)

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(write, range(40)))
    winners = [number for number, result in enumerate(results) if result.ok]
    assert len(winners) == 1
    assert {result.error_type for result in results if not result.ok} == {"conflict"}
    assert (root / "a" / "b" / "file").read_text() == str(winners[0]) * 9


WRITER = """
import os, sys
if sys.argv[2] == "named":
    del os.O_TMPFILE
from tools_filesystem import WriteFile
write = WriteFile(sys.argv[1])
while True:
    for letter in "ab":
        write.call(path="file.txt", content=letter * 300_000, overwrite=True)
        print(letter, flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("way", ["unnamed", "named"])
def test_a_writer_killed_at_any_moment_leaves_old_or_new(root, way):
    if not hasattr(os, "O_TMPFILE") and way == "unnamed":
        pytest.skip("this system has no files without a name")
    (root / "file.txt").write_text("b" * 300_000)
    for rounds in range(1, 16):
        with subprocess.Popen([sys.executable, "-c", WRITER, root, way], stdout=subprocess.PIPE) as writer:
            for _ in range(rounds):
                writer.stdout.readline()
            writer.kill()
        content = (root / "file.txt").read_text()
        assert content in ("a" * 300_000, "b" * 300_000)
