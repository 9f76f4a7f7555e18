"""Names that look alike, are misspelled, or are no text at all."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tools_filesystem import (
    DeletePath,
    EditFile,
    FileInfo,
    ListDirectory,
    MakeDirectory,
    MovePath,
    ReadFile,
    WriteFile,
)

ALIKE = [
    pytest.param("cafe\u0301.txt", "caf\u00e9.txt", id="composed for decomposed"),
    pytest.param("caf\u00e9.txt", "cafe\u0301.txt", id="decomposed for composed"),
    pytest.param("Bild 10.30\u202fPM.png", "Bild 10.30 PM.png", id="narrow no-break space"),
    pytest.param("a\u00a0b", "a b", id="no-break space"),
    pytest.param("it\u2019s", "it's", id="curly apostrophe"),
    pytest.param("\u2018a\u2019 \u201cb\u201d", "'a' \"b\"", id="curly quotes"),
    pytest.param("README.md", "readme.MD", id="case"),
    pytest.param("Mo\u0308e\u00a0\u2019s", "m\u00f6E 's", id="all at once"),
]


def escaped(name):
    return name.replace("\u00a0", "\\xc2\\xa0").replace("\u202f", "\\xe2\\x80\\xaf")


@pytest.mark.parametrize(("real", "spelling"), ALIKE)
@pytest.mark.parametrize("folder", ["", "folder/"])
def test_a_name_that_looks_the_same_is_read_with_a_note(files, root, real, spelling, folder):
    (root / "folder").mkdir()
    (root / folder / real).write_text("content")
    result = files.read.call(path=folder + spelling)
    assert result.output.startswith("1\tcontent\n[no ")
    assert result.metadata["repaired_path"] == folder + escaped(real)


@pytest.mark.parametrize(("real", "spelling"), ALIKE)
def test_a_similar_folder_name_is_repaired(files, root, real, spelling):
    (root / real).mkdir()
    (root / real / "file.txt").write_text("content")
    assert (
        files.read.call(path=f"{root}/{spelling}/FILE.txt").metadata["repaired_path"]
        == f"{root}/{escaped(real)}/file.txt"
    )
    assert files.list.call(path=spelling).output.startswith("file.txt (7 bytes)\n[no ")
    assert FileInfo(str(root)).call(path=f"{spelling}/file.txt").output["path"] == f"{escaped(real)}/file.txt"


def test_the_exact_name_is_never_repaired(files, root):
    for name in ("caf\u00e9", "cafe\u0301", "CAF\u00c9"):
        (root / name).write_text(name)
    for name in ("caf\u00e9", "cafe\u0301", "CAF\u00c9"):
        assert files.read.call(path=name).output == f"1\t{name}"


def test_two_similar_names_are_both_suggested(files, root):
    (root / "Readme").write_text("")
    (root / "README").write_text("")
    result = files.read.call(path="readme")
    assert result.error_type == "not_found"
    assert "'README'" in result.error and "'Readme'" in result.error


def test_the_accents_decide_before_the_case_does(files, root):
    (root / "cafe\u0301").write_text("lower")
    (root / "CAF\u00c9").write_text("upper")
    assert files.read.call(path="caf\u00e9").output.startswith("1\tlower")


def test_a_new_file_whose_name_differs_only_in_case_needs_overwrite(files, root):
    (root / "README.md").write_text("old")
    result = files.write.call(path="readme.md", content="new")
    assert result.error_type == "conflict"
    assert "'README.md'" in result.error
    assert os.listdir(root) == ["README.md"]
    assert files.write.call(path="readme.md", content="new", overwrite=True).ok
    assert (root / "README.md").read_text() == "old"


def test_a_dangling_symlink_is_not_repaired(files, root):
    (root / "a").symlink_to("missing")
    (root / "A").write_text("content")
    assert files.read.call(path="a").error_type == "not_found"


def test_repair_never_looks_outside(files, root):
    (root / "out").symlink_to(root.parent / "outside")
    for path in ("out/SECRET.txt", "OUT/secret.txt", "../OUTSIDE/secret.txt", f"{root.parent}/OUTSIDE/secret.txt"):
        result = files.read.call(path=path)
        assert not result.ok
        assert "secret" not in result.error.lower().partition("did you mean")[2]


def test_escaped_names_can_be_passed_back(files, root):
    name = b"caf\xe9\\ \n\x1b.txt"
    os.mkdir(os.fsencode(root) + b"/\xff")
    with open(os.fsencode(root) + b"/\xff/" + name, "wb") as file:
        file.write(b"content")
    assert files.list.call().output == r"\xff/"
    listed = files.list.call(path=r"\xff").output
    assert listed == r"caf\xe9\ \x0a\x1b.txt (7 bytes)"
    path = rf"\xff/{listed.rpartition(' (')[0]}"
    assert files.read.call(path=path).output == "1\tcontent"
    assert FileInfo(str(root)).call(path=path).output["size"] == 7


def test_writes_to_escaped_names_create_no_other_file(root):
    folder, name = (os.fsdecode(raw) for raw in (b"dir\xfe", b"bad\xff"))
    (root / folder).mkdir()
    (root / folder / name).write_text("old")
    (root / folder / "link\udcff").symlink_to("nowhere")
    path = "dir\\xfe/bad\\xff"
    assert EditFile(root).call(path=path, old_string="old", new_string="mid").ok
    assert WriteFile(root).call(path=path, content="new", overwrite=True).output["created"] is False
    assert WriteFile(root).call(path="dir\\xfe/new", content="x").output["created"] is True
    assert MovePath(root).call(source=path, destination="dir\\xfe/moved").ok
    assert MakeDirectory(root).call(path="dir\\xfe").output["created"] is False
    assert DeletePath(root).call(path="dir\\xfe/link\\xff").ok
    assert os.listdir(root) == [folder]
    left = {entry.name: entry.read_text() for entry in (root / folder).iterdir()}
    assert left == {"new": "x", "moved": "new"}
    assert DeletePath(root).call(path="dir\\xfe/", recursive=True).ok
    assert os.listdir(root) == []


def test_a_change_means_the_name_with_the_very_backslash_if_there_is_one(root):
    (root / "a\\x62").write_text("literal")
    (root / "ab").write_text("other")
    assert EditFile(root).call(path="a\\x62", old_string="literal", new_string="changed").ok
    assert DeletePath(root).call(path="a\\x62").ok
    assert (root / "ab").read_text() == "other"
    assert EditFile(root).call(path="a\\x62", old_string="other", new_string="meant").ok


@pytest.mark.parametrize("path", ["\\x2egit/config", "'.git'/config", "a/'\\x2e\\x2e'/x", "\\x2e\\x2e/outside/x"])
def test_no_spelling_of_a_name_changes_a_protected_place_or_the_outside(root, path):
    (root / ".git").mkdir()
    (root / "a").mkdir()
    WriteFile(root).call(path=path, content="x")
    MakeDirectory(root).call(path=path)
    assert os.listdir(root / ".git") == []
    assert os.listdir(root.parent / "outside") == ["secret.txt"]


def test_a_name_with_a_literal_backslash_means_itself(files, root):
    (root / r"\xff").write_text("literal")
    with open(os.fsencode(root) + b"/\xff", "wb") as file:
        file.write(b"bytes")
    assert files.read.call(path=r"\xff").output == "1\tliteral"


@pytest.mark.parametrize(
    "path",
    [
        r"a\x2f..\x2f..\x2foutside\x2fsecret.txt",
        r"\x2e\x2e/outside/secret.txt",
        r"a\x2fb.txt",
        r"a\x00b",
        r"a/b.txt\x00c",
    ],
)
def test_escapes_cannot_contain_slashes(files, root, path):
    (root / "a").mkdir()
    (root / "a" / "b.txt").write_text("text")
    assert files.read.call(path=path).error_type in ("not_found", "denied")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.binary(min_size=1, max_size=40).filter(lambda name: not {0, 47} & set(name) and name not in (b".", b".."))
)
def test_any_name_can_be_listed_sent_back_and_read(tmp_path_factory, name):
    root = tmp_path_factory.mktemp("any")
    with open(os.fsencode(root) + b"/" + name, "wb") as file:
        file.write(b"content")
    listed = ListDirectory(str(root)).call().output
    assert len(listed.split("\n")) == 1
    listed.encode()
    assert ReadFile(str(root)).call(path=listed.removesuffix(" (7 bytes)")).output.startswith("1\tcontent")
    with open(os.fsencode(root) + b"/\xff\xff last", "wb"):
        pass
    first = ListDirectory(str(root)).call(limit=1).metadata["next"]["after"]
    assert ListDirectory(str(root)).call(after=first, limit=1).metadata["total"] == 1


ASCII_LOCALE = """
import sys
from tools_filesystem import Glob, Grep, ListDirectory, ReadFile, WriteFile
assert sys.getfilesystemencoding() == "ascii"
root = sys.argv[1]
assert WriteFile(root).call(path="d\\u00e9j\\u00e0/vu.txt", content="\\u00fcber\\n").ok
assert ReadFile(root).call(path="d\\u00e9j\\u00e0/vu.txt").ok
assert Glob(root).call(pattern="d\\u00e9j\\u00e0/*").output == "d\\u00e9j\\u00e0/vu.txt"
assert Grep(root).call(pattern="\\u00fcber").output == "d\\u00e9j\\u00e0/vu.txt:1:\\u00fcber"
assert "d\\u00e9j\\u00e0/" in ListDirectory(root).call().output
"""


def test_names_are_utf8_even_if_the_locale_is_ascii(root):
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    subprocess.run([sys.executable, "-c", ASCII_LOCALE, root], check=True, env=environment)
    assert (root / "d\u00e9j\u00e0" / "vu.txt").read_text(encoding="utf-8") == "\u00fcber\n"
