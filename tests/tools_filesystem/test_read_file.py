from __future__ import annotations

import asyncio
import codecs
import json
import os
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tools_core import Context, File, Image
from tools_filesystem import ReadFile, Workspace, WriteFile


@pytest.fixture
def read(root):
    return ReadFile(root).call


def plain(read, **arguments):
    """The text alone."""
    result = read(**arguments, line_numbers=False)
    assert result.ok, result.error
    return result.output


def test_lines_are_numbered_unless_the_text_alone_is_asked_for(read, root):
    text = "one \n\ufefftwo\u2028\x0c\n\nthrée\r"
    (root / "file.txt").write_bytes(text.encode())
    result = read(path="file.txt")
    assert result.output == "1\tone \n2\t\ufefftwo\u2028\x0c\n3\t\n4\tthrée\r"
    assert result.metadata["total_lines"] == 4
    assert result.metadata["truncated"] is False
    assert result.metadata["final_newline"] is False
    assert plain(read, path="file.txt") == text


def test_crlf_line_endings_are_shown_as_lf_with_a_note(read, root):
    (root / "crlf.txt").write_bytes(b"one\r\ntwo\r\n")
    (root / "mixed.txt").write_bytes(b"one\r\ntwo\n")
    assert plain(read, path="crlf.txt") == "one\ntwo\n[line endings are CRLF, shown as LF]"
    assert read(path="crlf.txt").metadata["line_endings"] == "crlf"
    assert read(path="mixed.txt").metadata["line_endings"] == "mixed"


def test_offset_and_limit_choose_lines(read, root):
    (root / "file.txt").write_text("one\ntwo\nthree\n")
    first = read(path="file.txt", offset=1, limit=1)
    assert first.output == "1\tone\n[lines 1 to 1; continue with offset=2]"
    assert first.metadata["next"] == {"path": "file.txt", "offset": 2}
    assert read(path="file.txt", offset=3).output == "3\tthree\n"
    assert read(path="file.txt", offset=-2).output == "2\ttwo\n3\tthree\n"
    assert read(path="file.txt", offset=-9, limit=1).output.startswith("1\tone\n[")
    assert read(path="file.txt", limit=3).metadata["truncated"] is False
    assert read(path="file.txt", limit=0).error_type == "validation_error"


def test_following_the_hint_reads_every_line_once(read, root):
    lines = [f"line {number} {'x' * (number % 70)}\n" for number in range(7001)]
    (root / "big.txt").write_text("".join(lines))
    received, offset = [], 1
    while offset:
        result = read(path="big.txt", offset=offset, line_numbers=False)
        received += result.output.splitlines(keepends=True)[: result.metadata["lines"]]
        offset = result.metadata.get("next", {}).get("offset")
        assert ("continue with" in result.output) is bool(offset)
    assert received == lines


def test_one_call_shows_at_most_100_kb_and_2000_bytes_of_a_line(read, root):
    (root / "wide.txt").write_text(("x" * 1500 + "\n") * 200)
    result = read(path="wide.txt")
    assert len(result.output) < 100_500
    assert result.metadata["next"]["offset"] == 67
    (root / "long.txt").write_text("é" * 5000 + "\nshort")
    assert plain(read, path="long.txt") == "é" * 1000 + "[... 8001 more bytes of this line]\nshort"


def test_lines_far_inside_a_large_file_are_found(read, root):
    (root / "log.txt").write_text("".join(f"line {number}\n" for number in range(1, 200_001)))
    assert read(path="log.txt", offset=150_000, limit=1).output.startswith("150000\tline 150000\n")
    assert read(path="log.txt", offset=-1).output == "200000\tline 200000\n"


def test_the_ledger_knows_the_bytes_that_were_shown_and_no_others(root):
    workspace, file = Workspace(root), root / "file.txt"
    read, write = ReadFile(workspace).call, WriteFile(workspace).call
    file.write_bytes(b"\xef\xbb\xbfone\r\ntwo\nthree\n")
    read(path="file.txt", offset=3)
    assert "read only 6 of 18 bytes" in write(path="file.txt", content="").error
    file.write_text("ONE\ntwo\nthree\n")
    read(path="file.txt", offset=2)
    assert "read only 10 of 14 bytes" in write(path="file.txt", content="").error
    read(path="file.txt", limit=2)
    assert write(path="file.txt", content="").ok


@pytest.mark.parametrize("content", ["né".encode() * 9 + b"\xff", b"x" * 3000, b"a\n" * 9000 + b"\0"])
def test_altered_lines_do_not_count_as_read(root, content):
    workspace = Workspace(root)
    (root / "file.txt").write_bytes(content)
    assert ReadFile(workspace).call(path="file.txt", offset=-1).ok
    assert "have not read its current version" in WriteFile(workspace).call(path="file.txt", content="").error


@pytest.mark.parametrize(
    ("content", "offset", "words"),
    [
        pytest.param(b"", 1, "is empty (0 bytes)", id="empty"),
        pytest.param(b"one\ntwo", 3, "has 2 lines; offset 3 is past its end", id="past the end"),
        pytest.param(b"one\ntwo\n", 3, "has 2 lines; offset 3 is past its end", id="past the last newline"),
        pytest.param(b"\x1f\x8b\x08\0\0", 1, "is a binary file (application/octet-stream", id="binary by content"),
        pytest.param(bytes(range(1, 256)), 1, "binary file (application/octet-stream", id="binary without NUL"),
        pytest.param(b"\xef\xbb\xbf", 1, "is empty (3 bytes)", id="nothing but a mark"),
    ],
)
def test_reading_a_file_without_text_succeeds_with_a_description(read, root, content, offset, words):
    (root / "file.txt").write_bytes(content)
    result = read(path="file.txt", offset=offset)
    assert result.ok
    assert words in result.output


@pytest.mark.parametrize(
    ("start", "kind", "block"),
    [
        (b"\x89PNG\r\n\x1a\n", "image/png", Image),
        (b"\xff\xd8\xff", "image/jpeg", Image),
        (b"%PDF-1.7\n", "application/pdf", File),
    ],
)
def test_images_and_pdfs_are_content_blocks_regardless_of_their_names(read, root, start, kind, block):
    data = start + bytes(100)
    (root / "file.txt").write_bytes(data)
    result = read(path="file.txt")
    [content_block] = result.content
    assert isinstance(content_block, block)
    assert (content_block.data, content_block.mime_type) == (data, kind)
    assert result.metadata["media_type"] == kind
    os.truncate(root / "file.txt", (10 << 20) + 1)
    assert read(path="file.txt").error_type == "limit_exceeded"


TEXT = "one é\n\u0a0a\u0d0a two \U0001f600\nthree\n"


@pytest.mark.parametrize(
    ("mark", "codec", "name"),
    [
        (b"", "utf-8", "utf-8"),
        (codecs.BOM_UTF8, "utf-8", "utf-8-sig"),
        (codecs.BOM_UTF16_LE, "utf-16-le", "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be", "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le", "utf-32-le"),
    ],
)
def test_an_encoding_is_read_and_named(read, root, mark, codec, name):
    (root / "file.txt").write_bytes(mark + TEXT.encode(codec))
    assert plain(read, path="file.txt").startswith(TEXT)
    result = read(path="file.txt")
    assert result.metadata["encoding"] == name
    assert (name in result.output) is (name != "utf-8")
    assert result.metadata["total_lines"] == 3
    assert read(path="file.txt", offset=3).output.startswith("3\tthree\n")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    text=st.text("a \r\t\x0c]é€\U0001f600\u2028\u0a0a\n", min_size=1),
    codec=st.sampled_from(["utf-8", "utf-16", "utf-32"]),
)
def test_a_file_is_decoded_with_its_encoding(root, text, codec):
    (root / "file.txt").write_bytes(text.encode(codec))
    result = ReadFile(root).call(path="file.txt", line_numbers=False)
    note = f"[{result.metadata['note']}]" if "note" in result.metadata else ""
    body = result.output.removesuffix(note)
    expected = text.replace("\r\n", "\n")
    assert body == (expected if expected.endswith("\n") or not note else f"{expected}\n")


def test_a_non_utf8_file_is_read_as_cp1252_with_a_note(read, root):
    (root / "file.txt").write_bytes("“café” 10 €\n".encode("cp1252"))
    assert plain(read, path="file.txt") == "“café” 10 €\n[not UTF-8: read as cp1252, which is a guess]"
    (root / "late.txt").write_bytes(b"plain\n" * 50_000 + b"caf\xe9\n")
    assert read(path="late.txt", offset=-1).output.startswith("50001\tcafé\n")


def test_undecodable_bytes_are_replaced_by_visible_characters_with_a_note(read, root):
    (root / "broken.txt").write_bytes("näive\ncafé\n".encode() + b"\xff\xfe\n")
    assert plain(read, path="broken.txt").startswith(
        "näive\ncafé\n\ufffd\ufffd\n[bytes that are not utf-8 are shown as"
    )
    (root / "nul.txt").write_bytes(b"text\n" * 4000 + b"a\0b\n")
    assert read(path="nul.txt", offset=-1).output == "4001\ta\u2400b\n[NUL bytes are shown as \u2400]"


def test_a_file_without_end_is_bounded_by_the_time_of_the_call(read, root):
    (root / "sparse.txt").write_bytes(b"text\n" * 4000)
    os.truncate(root / "sparse.txt", 1 << 40)
    result = ReadFile(root).call({"path": "sparse.txt", "offset": -1}, Context(timeout=0.3))
    assert not result.ok
    assert read(path="sparse.txt", limit=5).ok


def test_a_miss_names_the_sibling_that_was_meant(read, root, tmp_path):
    (root / "src").mkdir()
    (root / "src" / "app.py").write_text("")
    (root / "README.md").write_text("")
    assert "did you mean 'src/app.py'?" in read(path="src/ap.py").error
    assert read(path="scr/app.py").error == "no 'scr/app.py', because the folder is missing: 'scr'; did you mean 'src'?"
    assert read(path="zzz").error == "no 'zzz'; list_directory shows what is in '.'"
    (tmp_path / "second").mkdir()
    message = ReadFile(Workspace(root, tmp_path / "second")).call(path="file.txt").error
    assert f"relative paths are below {root}" in message


def test_an_error_for_an_outside_path_does_not_reveal_similar_names(read):
    result = read(path="../outside/secre.txt")
    assert result.error_type == "denied"
    assert "secret" not in result.error


def test_the_workspace_comes_from_the_tool_then_the_context_then_the_environment(root, tmp_path, monkeypatch):
    places = {name: tmp_path / name for name in ("setting", "context", "variable", "current")}
    for name, place in places.items():
        place.mkdir()
        (place / "name.txt").write_text(name)
    monkeypatch.chdir(places["current"])
    assert ReadFile().call(path="name.txt").output == "1\tcurrent"
    monkeypatch.setenv("ASK_TOOLS_WORKSPACE", str(places["variable"]))
    assert ReadFile().call(path="name.txt").output == "1\tvariable"
    context = Context(workspace=places["context"])
    assert ReadFile().call({"path": "name.txt"}, context=context).output == "1\tcontext"
    assert ReadFile(str(places["setting"])).call({"path": "name.txt"}, context=context).output == "1\tsetting"


def test_a_missing_workspace_is_reported_as_unavailable(tmp_path):
    assert ReadFile(tmp_path / "missing").call(path="x").error_type == "unavailable"


def test_many_reads_at_once_each_get_their_own(root):
    tool = ReadFile(root)
    for number in range(20):
        (root / f"{number}.txt").write_text(f"{number}\n" * 500)
    requests = [{"path": f"{number}.txt", "offset": 7, "limit": 1} for number in range(20)] * 5
    with ThreadPoolExecutor(16) as pool:
        in_threads = [result.output for result in pool.map(tool.call, requests)]

    async def all_of_them():
        return [result.output for result in await asyncio.gather(*map(tool.acall, requests))]

    for outputs in (in_threads, asyncio.run(all_of_them())):
        assert [output[: output.index("[")] for output in outputs] == [f"7\t{n}\n" for n in range(20)] * 5


def test_no_descriptor_is_left_open(files, root):
    (root / "file.txt").write_text("text")
    files.read.call(path="file.txt")
    before = os.dup(0)
    os.close(before)
    for path in ("file.txt", "missing", "../out", "file.txt/x", "."):
        for _ in range(20):
            files.read.call(path=path)
            files.list.call(path=path)
            files.write.call(path=path, content="x")
    after = os.dup(0)
    os.close(after)
    assert after == before


def test_a_notebook_is_shown_as_cells_with_outputs(read, root):
    cells = [
        {"cell_type": "markdown", "source": ["# Title\n", "text"]},
        {
            "cell_type": "code", "execution_count": 3, "source": "1 / 0",
            "outputs": [
                {"output_type": "stream", "text": ["printed\n"]},
                {"output_type": "display_data", "data": {"text/plain": "<Figure>", "image/png": "aaaa"}},
                {"output_type": "error", "ename": "ZeroDivisionError", "evalue": "division by zero"},
            ],
        },
    ]  # fmt: skip
    (root / "a.ipynb").write_text(json.dumps({"cells": cells}))
    text = read(path="a.ipynb", line_numbers=False).output
    assert text.startswith("--- cell 1 (markdown) ---\n# Title\ntext\n--- cell 2 (code, run 3) ---\n1 / 0\n")
    assert "printed\n" in text
    assert "<Figure>\n[image/png]\n" in text
    assert "ZeroDivisionError: division by zero" in text
    page = read(path="a.ipynb", offset=2, limit=1)
    assert page.output.startswith("2\t# Title\n")
    assert "continue with offset=3" in page.output
    (root / "broken.ipynb").write_text('{"cells": 1}')
    assert read(path="broken.ipynb").output == '1\t{"cells": 1}'


def pdf(*texts):
    """A PDF with one line of text on each page."""
    pages = " ".join(f"{3 + 2 * number} 0 R" for number in range(len(texts)))
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", f"<< /Type /Pages /Kids [{pages}] /Count {len(texts)} >>"]
    font = "<< /Font << /F << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>"
    for number, text in enumerate(texts):
        stream = f"BT /F 12 Tf 50 700 Td ({text}) Tj ET"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Resources {font} /Contents {4 + 2 * number} 0 R >>"
        )
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    body = "".join(f"{number} 0 obj\n{text}\nendobj\n" for number, text in enumerate(objects, 1))
    return f"%PDF-1.4\n{body}trailer << /Root 1 0 R /Size {len(objects) + 1} >>\nstartxref\n0\n%%EOF\n".encode()


def test_pages_of_a_pdf_are_read_as_text(read, root):
    pytest.importorskip("pypdf")
    (root / "a.pdf").write_bytes(pdf("first", "second", "third"))
    assert read(path="a.pdf", pages="2-9").output == "--- page 2 of 3 ---\nsecond\n--- page 3 of 3 ---\nthird\n"
    assert "has 3 pages" in read(path="a.pdf", pages="4").error
    (root / "b.pdf").write_bytes(b"%PDF-1.4 nothing")
    assert "cannot be read" in read(path="b.pdf", pages="1").error


@pytest.mark.parametrize("pages", ["0", "5-3", "1,2", "x"])
def test_pages_must_be_a_page_or_a_range(read, root, pages):
    (root / "a.pdf").write_bytes(b"%PDF-1.4")
    assert read(path="a.pdf", pages=pages).error_type == "validation_error"
