from __future__ import annotations

import os

import pytest

from tools_core import Audio, File, Image
from tools_filesystem import ReadMediaFile

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 30


@pytest.fixture
def media(root):
    return ReadMediaFile(str(root))


@pytest.mark.parametrize(
    ("data", "name", "block", "kind"),
    [
        pytest.param(PNG, "a.png", Image, "image/png", id="picture"),
        pytest.param(PNG, "a.jpeg", Image, "image/png", id="the content decides, not the name"),
        pytest.param(b"\xff\xd8\xff\xe0\0", "noname", Image, "image/jpeg", id="without an ending"),
        pytest.param(b"GIF89a\1\1", "a.gif", Image, "image/gif", id="without a NUL"),
        pytest.param(b"RIFF\0\0\0\0WAVEfmt ", "a.wav", Audio, "audio/wav", id="sound"),
        pytest.param(b"\0\0\0\x20ftypM4A \0", "a", Audio, "audio/mp4", id="sound in a container"),
        pytest.param(b"%PDF-1.7\n1 0 obj", "a.pdf", File, "application/pdf", id="PDF"),
    ],
)
def test_pictures_sounds_and_pdfs_are_handed_over_as_what_they_are(media, root, data, name, block, kind):
    (root / name).write_bytes(data)
    result = media.call(path=name)
    assert result.output == block(data, kind, name=name)
    assert result.content == (result.output,)
    assert dict(result.metadata) == {"media_type": kind, "size": len(data)}


@pytest.mark.parametrize(
    ("data", "words"),
    [
        pytest.param(b"<svg></svg>", "is text, which read_file shows", id="text with the name of a picture"),
        pytest.param(b"PK\3\4\0\0", "is application/zip, which is neither", id="archive"),
        pytest.param(b"", "is text, which read_file shows", id="empty"),
    ],
)
def test_anything_else_is_refused_with_what_it_is(media, root, data, words):
    (root / "a.svg").write_bytes(data)
    result = media.call(path="a.svg")
    assert result.error_type == "validation_error"
    assert words in result.error


def test_what_is_too_large_is_not_read_and_the_limit_is_a_setting(root):
    (root / "a.png").write_bytes(PNG)
    os.truncate(root / "a.png", 1 << 40)
    result = ReadMediaFile(str(root)).call(path="a.png")
    assert result.error_type == "limit_exceeded"
    assert f"{10 << 20}" in result.error
    (root / "b.png").write_bytes(PNG)
    assert ReadMediaFile(str(root), max_bytes=len(PNG)).call(path="b.png").ok
    assert ReadMediaFile(str(root), max_bytes=len(PNG) - 1).call(path="b.png").error_type == "limit_exceeded"


def test_a_name_that_looks_the_same_is_shown_with_a_note(media, root):
    (root / "Bild 1\u202fPM.png").write_bytes(PNG)
    result = media.call(path="Bild 1 PM.png")
    assert result.content[0] == Image(PNG, name="Bild 1 PM.png")
    assert "differs in spaces" in result.content[1]
