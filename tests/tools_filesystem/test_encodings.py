"""Text in the encodings that files have: shown, named, and what is not certain told."""

from __future__ import annotations

import codecs

import pytest

TEXT = "one é\n\u0a0a\u0d0a two \U0001f600\nthree\n"


@pytest.mark.parametrize(
    ("data", "name"),
    [
        pytest.param(TEXT.encode(), "utf-8", id="utf-8"),
        pytest.param(codecs.BOM_UTF8 + TEXT.encode(), "utf-8-sig", id="utf-8 with a mark"),
        pytest.param(codecs.BOM_UTF16_LE + TEXT.encode("utf-16-le"), "utf-16-le", id="utf-16-le"),
        pytest.param(codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"), "utf-16-be", id="utf-16-be"),
        pytest.param(codecs.BOM_UTF32_LE + TEXT.encode("utf-32-le"), "utf-32-le", id="utf-32-le"),
        pytest.param(codecs.BOM_UTF32_BE + TEXT.encode("utf-32-be"), "utf-32-be", id="utf-32-be"),
    ],
)
def test_an_encoding_is_read_and_named(files, root, data, name):
    (root / "file.txt").write_bytes(data)
    result = files.read.call(path="file.txt")
    assert result.output.startswith(TEXT)
    assert result.metadata["encoding"] == name
    assert (name in result.output) is (name != "utf-8")
    assert result.metadata["total_lines"] == 3
    assert files.read.call(path="file.txt", offset=3).output.startswith("three\n")
    assert files.read.call(path="file.txt", tail=2).output.startswith(TEXT[TEXT.index("\n") + 1 :])
    assert (root / "file.txt").read_bytes() == data


def test_what_is_not_utf8_is_read_as_cp1252_and_called_a_guess(files, root):
    (root / "file.txt").write_bytes("“café” 10 €\r\n".encode("cp1252"))
    result = files.read.call(path="file.txt")
    assert result.output.startswith("“café” 10 €\n[not UTF-8: read as cp1252, which is a guess")
    assert result.metadata["encoding"] == "cp1252"
    assert "undecodable" not in result.metadata


def test_legacy_text_far_behind_plain_ascii_is_noticed(files, root):
    (root / "file.txt").write_bytes(b"plain\n" * 50_000 + b"caf\xe9\n")
    assert files.read.call(path="file.txt", tail=1).output.startswith("café\n")
    assert files.read.call(path="file.txt").metadata["encoding"] == "utf-8"


def test_broken_bytes_in_utf8_are_shown_as_such_and_flagged(files, root):
    (root / "file.txt").write_bytes("näive\ncafé\n".encode() + b"\xff\xfe\n")
    result = files.read.call(path="file.txt")
    assert result.output.startswith("näive\ncafé\n\ufffd\ufffd\n[bytes that are not utf-8 are shown as \ufffd")
    assert result.metadata["undecodable"] is True
    result.to_json().encode()


def test_a_character_that_is_cut_off_where_the_sample_ends_breaks_nothing(files, root):
    (root / "file.txt").write_bytes(b"x" * (64 * 1024 - 1) + "é\n".encode())
    assert files.read.call(path="file.txt").metadata["encoding"] == "utf-8"
    assert files.read.call(path="file.txt", column=64 * 1024).output == "é\n"


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_half_of_one_character_and_half_of_the_next_are_no_newline(files, root, codec):
    text = "\ufeff\u0a05\u0100\u010a\u000b\nb\u0a0a\u0a00\u000a\u0a05\u0a0a"
    (root / "file.txt").write_bytes(text.encode(codec))
    assert [files.read.call(path="file.txt", offset=line, limit=1).output.split("\n")[0] for line in (1, 2, 3)] == (
        text[1:].split("\n")
    )
    assert files.read.call(path="file.txt", tail=1).output.startswith("\u0a05\u0a0a\n[")
    assert files.read.call(path="file.txt", offset=9).metadata["total_lines"] == 3


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be", "utf-32-le"])
def test_a_file_that_ends_inside_a_character_has_the_lines_it_has(files, root, codec):
    (root / "file.txt").write_bytes("\ufeffab\u0a05".encode(codec) + b"\0")
    assert files.read.call(path="file.txt", tail=1).output.startswith("ab\u0a05\ufffd")
    assert files.read.call(path="file.txt", offset=2).metadata["total_lines"] == 1


def test_nul_bytes_far_inside_a_text_are_made_visible(files, root):
    (root / "file.txt").write_bytes(b"text\n" * 4000 + b"a\0b\n")
    result = files.read.call(path="file.txt", tail=1)
    assert result.output == "a\u2400b\n[NUL bytes are shown as \u2400]"
