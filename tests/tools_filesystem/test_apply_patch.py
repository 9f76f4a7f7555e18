"""The effects of patches, and the reasons to refuse them. A scenario is files before, a patch, and files after."""

from __future__ import annotations

import os
import stat

import pytest

from tools_core import Context
from tools_filesystem import ApplyPatch, EditFile, ReadFile, Root, Workspace, WriteFile

FIVE = b"one\ntwo\nthree\nfour\nfive\n"


@pytest.fixture
def patch(root):
    tool = ApplyPatch(root)
    return lambda text, **options: tool.call(patch=text, **options)


def envelope(*sections):
    return "\n".join(["*** Begin Patch", *sections, "*** End Patch"]) + "\n"


def fill(root, files):
    for name, data in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)


def contents(root):
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


SCENARIOS = {
    "a line is replaced": (
        {"f": FIVE},
        "*** Update File: f\n@@\n two\n-three\n+THREE\n four",
        {"f": b"one\ntwo\nTHREE\nfour\nfive\n"},
    ),
    "the first hunk needs no @@": ({"f": FIVE}, "*** Update File: f\n-one\n+ONE", {"f": FIVE.replace(b"one", b"ONE")}),
    "several hunks": (
        {"f": FIVE},
        "*** Update File: f\n@@\n-one\n+1\n@@\n-five\n+5\n+6",
        {"f": b"1\ntwo\nthree\nfour\n5\n6\n"},
    ),
    "all kinds of sections at once": (
        {"a": b"a\n", "b": b"b\n", "c": b"c\n", "d": b"d\n"},
        (
            "*** Add File: new/deep/e\n+e\n*** Delete File: a\n*** Update File: b\n-b\n+B\n"
            "*** Update File: c\n*** Move to: new/c\n-c\n+C\n*** Update File: d\n*** Move to: D"
        ),
        {"new/deep/e": b"e\n", "b": b"B\n", "new/c": b"C\n", "D": b"d\n"},
    ),
    "markers in any case, with blank lines between sections": (
        {"f": FIVE, "g": b""},
        "\n*** UPDATE FILE: f\n-one\n+1\n\n*** delete file: g\n\n",
        {"f": FIVE.replace(b"one", b"1")},
    ),
    "an added line keeps all but its first plus": ({}, "*** Add File: f\n++x\n+\n+ y", {"f": b"+x\n\n y\n"}),
    "an added file may be empty": ({}, "*** Add File: f", {"f": b""}),
    "an added file may lack its last line feed": (
        {},
        "*** Add File: f\n+x\n\\ No newline at end of file",
        {"f": b"x"},
    ),
    "a line that looks like a marker is content behind its prefix": (
        {"f": b"***bold***\n*** End Patch\n@@\n*** End of File\n--- x\n+++ y\n"},
        (
            "*** Update File: f\n ***bold***\n-*** End Patch\n+*** Begin Patch\n+*** Add File: g\n @@\n"
            " *** End of File\n --- x\n+*** Move to: z\n +++ y"
        ),
        {"f": b"***bold***\n*** Begin Patch\n*** Add File: g\n@@\n*** End of File\n--- x\n*** Move to: z\n+++ y\n"},
    ),
    "an empty line that stays needs no space": (
        {"f": b"a\n\nb\n\nc\n"},
        "*** Update File: f\n a\n\n-b\n+B\n\n c",
        {"f": b"a\n\nB\n\nc\n"},
    ),
    "an empty line around a hunk is no content": (
        {"f": b"a\nb\n"},
        "*** Update File: f\n@@\n\n-a\n+A\n\n@@\n-b\n+B\n\n",
        {"f": b"A\nB\n"},
    ),
    "a line of spaces is content": ({"f": b"a\n \nb\n"}, "*** Update File: f\n  \n-b\n+B", {"f": b"a\n \nB\n"}),
    "an anchor tells equal places apart": (
        {"f": b"def a():\n    x\ndef b():\n    x\n"},
        "*** Update File: f\n@@ def b():\n-    x\n+    y",
        {"f": b"def a():\n    x\ndef b():\n    y\n"},
    ),
    "several anchors, with their indentation or without": (
        {"f": b"class A:\n  def r():\n    x\nclass B:\n  def q():\n    x\n  def r():\n    x\n"},
        "*** Update File: f\n@@ class B:\n@@ def r():\n-    x\n+    y",
        {"f": b"class A:\n  def r():\n    x\nclass B:\n  def q():\n    x\n  def r():\n    y\n"},
    ),
    "an anchor may be the first line of the hunk, too": (
        {"f": b"a\nx\nb\nx\n"},
        "*** Update File: f\n@@ b\n b\n-x\n+y",
        {"f": b"a\nx\nb\ny\n"},
    ),
    "lines are added below an anchor": (
        {"f": FIVE},
        "*** Update File: f\n@@ two\n+2.5",
        {"f": FIVE.replace(b"two\n", b"two\n2.5\n")},
    ),
    "lines are added between context": (
        {"f": FIVE},
        "*** Update File: f\n two\n+2.5\n three",
        {"f": FIVE.replace(b"two\n", b"two\n2.5\n")},
    ),
    "lines are added to an empty file": ({"f": b""}, "*** Update File: f\n@@\n+x", {"f": b"x\n"}),
    "lines are added at the end": (
        {"f": FIVE},
        "*** Update File: f\n@@\n+six\n*** End of File",
        {"f": FIVE + b"six\n"},
    ),
    "the end of the file tells equal places apart": (
        {"f": b"x\nx\n"},
        "*** Update File: f\n@@\n-x\n+y\n*** End of File",
        {"f": b"x\ny\n"},
    ),
    "line numbers in the envelope": (
        {"f": b"x\nx\nx\n"},
        "*** Update File: f\n@@ -2,1 +2,1 @@\n-x\n+y",
        {"f": b"x\ny\nx\n"},
    ),
    "a whole line is matched and never a part of one": (
        {"f": b"foobar\nbar\n"},
        "*** Update File: f\n-bar\n+BAZ",
        {"f": b"foobar\nBAZ\n"},
    ),
    "CRLF stays, also in new lines": (
        {"f": b"a\r\nb\r\nc\r\n"},
        "*** Update File: f\n a\n-b\n+B\n+BB\n c",
        {"f": b"a\r\nB\r\nBB\r\nc\r\n"},
    ),
    "of mixed endings each line keeps its own": (
        {"f": b"a\r\nb\nc\r\nd\n"},
        "*** Update File: f\n a\n b\n c\n-d\n+D",
        {"f": b"a\r\nb\nc\r\nD\n"},
    ),
    "the ending of a new line is that of its place": (
        {"f": b"a\nb\nc\nd\ne\r\nf\r\n"},
        "*** Update File: f\n-e\n+E\n f",
        {"f": b"a\nb\nc\nd\nE\r\nf\r\n"},
    ),
    "lone carriage returns are content": (
        {"f": b"a\rb\nc\n"},
        "*** Update File: f\n-c\n+C",
        {"f": b"a\rb\nC\n"},
    ),
    "a file without a last line feed stays so": (
        {"f": b"a\nb", "g": b"a\nb", "h": b"a\r\nb", "i": b"a\nb"},
        "*** Update File: f\n-b\n+B\n*** Update File: g\n b\n+c\n*** Update File: h\n b\n+c\n*** Update File: i\n-b",
        {"f": b"a\nB", "g": b"a\nb\nc", "h": b"a\r\nb\r\nc", "i": b"a"},
    ),
    "marks and other encodings stay": (
        {
            "bom": b"\xef\xbb\xbfa\nb\n",
            "utf16": "a\r\nbé\r\n".encode("utf-16"),
            "latin": "a\nüb\né\n".encode("cp1252"),
            "broken": "é ü ö a\n".encode() + b"\xff\xfe\x80\nb\n",
        },
        (
            "*** Update File: bom\n-a\n+é\n*** Update File: utf16\n-bé\n+ü\n"
            "*** Update File: latin\n-üb\n+öb\n*** Update File: broken\n-b\n+é"
        ),
        {
            "bom": b"\xef\xbb\xbf\xc3\xa9\nb\n",
            "utf16": "a\r\nü\r\n".encode("utf-16"),
            "latin": "a\nöb\né\n".encode("cp1252"),
            "broken": "é ü ö a\n".encode() + b"\xff\xfe\x80\n\xc3\xa9\n",
        },
    ),
    "only line feeds end lines": (
        {"f": "a\u2028b\x0cc\x85d\ne\n".encode()},
        "*** Update File: f\n a\u2028b\x0cc\x85d\n-e\n+E",
        {"f": "a\u2028b\x0cc\x85d\nE\n".encode()},
    ),
    "the content is taken literally": (
        {"f": b"x\n"},
        "*** Update File: f\n-x\n+a\\0b \\\\ $1 \\g<0>",
        {"f": b"a\\0b \\\\ $1 \\g<0>\n"},
    ),
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_an_envelope(patch, root, name):
    before, text, after = SCENARIOS[name]
    fill(root, before)
    result = patch(envelope(text))
    assert result.ok, result
    assert contents(root) == after
    assert result.output["notes"] == []


UNIFIED = {
    "plain": ({"f": FIVE}, "--- f\n+++ f\n@@ -2,2 +2,2 @@\n two\n-three\n+3\n", {"f": FIVE.replace(b"three", b"3")}),
    "time stamps": (
        {"f": FIVE},
        "--- f\t2026-01-01 00:00:00 +0000\n+++ f\t2026-01-02\n@@ -1 +1 @@\n-one\n+1\n",
        {"f": FIVE.replace(b"one", b"1")},
    ),
    "git's prefixes and remarks": (
        {"d/f": FIVE},
        "diff --git a/d/f b/d/f\nindex 123..456 100644\n--- a/d/f\n+++ b/d/f\n@@ -1 +1 @@ def x():\n-one\n+1\n",
        {"d/f": FIVE.replace(b"one", b"1")},
    ),
    "a folder that is called a": (
        {"a/f": FIVE},
        "--- a/f\n+++ a/f\n@@ -1 +1 @@\n-one\n+1\n",
        {"a/f": FIVE.replace(b"one", b"1")},
    ),
    "new, deleted and renamed files": (
        {"gone": b"x\ny", "old": b"x\n", "pure": b"p\n"},
        (
            "diff --git a/new b/new\nnew file mode 100644\nindex 0..1\n--- /dev/null\n+++ b/new\n"
            "@@ -0,0 +1,2 @@\n+x\n+y\n"
            "diff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-x\n-y\n"
            "\\ No newline at end of file\n"
            "diff --git a/old b/d/new name\nsimilarity index 50%\nrename from old\nrename to d/new name\n"
            "--- a/old\n+++ b/d/new name\t\n@@ -1 +1 @@\n-x\n+X\n"
            "diff --git a/pure b/q\nsimilarity index 100%\nrename from pure\nrename to q\n"
        ),
        {"new": b"x\ny\n", "d/new name": b"X\n", "q": b"p\n"},
    ),
    "without git's headers": (
        {"gone": b"x\n"},
        "--- /dev/null\n+++ new\n@@ -0,0 +1 @@\n+x\n--- gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n",
        {"new": b"x\n"},
    ),
    "content that looks like headers": (
        {"f": b"-- a/f\n++ b/f\n@@ -1 +1 @@\ndiff --git a/f b/f\n"},
        "--- f\n+++ f\n@@ -1,4 +1,5 @@\n--- a/f\n++++ b/f\n+-- a/g\n ++ b/f\n @@ -1 +1 @@\n diff --git a/f b/f\n",
        {"f": b"+++ b/f\n-- a/g\n++ b/f\n@@ -1 +1 @@\ndiff --git a/f b/f\n"},
    ),
    "an empty line without its space": (
        {"f": b"a\n\nb\n"},
        "--- f\n+++ f\n@@ -1,3 +1,3 @@\n a\n\n-b\n+B\n",
        {"f": b"a\n\nB\n"},
    ),
    "empty lines without their space, in a hunk without counts": (
        {"f": b"a\n\n\nb\n\n\nc\n\n\n"},
        "--- f\n+++ f\n@@ @@\n\n\n-b\n+B\n\n\n c\n\n\n",
        {"f": b"a\n\n\nB\n\n\nc\n\n\n"},
    ),
    "no context, by line number": (
        {"f": FIVE},
        "--- f\n+++ f\n@@ -2,0 +3 @@\n+2.5\n@@ -5 +5,0 @@\n-five\n",
        {"f": b"one\ntwo\n2.5\nthree\nfour\n"},
    ),
    "the last line feed comes and goes": (
        {"f": b"a\nb", "g": b"a\nb\n", "h": b"a\nb"},
        (
            "--- f\n+++ f\n@@ -2 +2 @@\n-b\n\\ No newline at end of file\n+b\n"
            "--- g\n+++ g\n@@ -2 +2 @@\n-b\n+b\n\\ No newline at end of file\n"
            "--- h\n+++ h\n@@ -1,2 +1,2 @@\n-a\n+A\n b\n\\ No newline at end of file\n"
        ),
        {"f": b"a\nb\n", "g": b"a\nb", "h": b"A\nb"},
    ),
    "carriage returns in the patch are part of its lines": (
        {"f": b"a\nb\n", "g": b"a\r\nb\r\n", "h": b"a\r\nb"},
        (
            "--- f\n+++ f\n@@ -1 +1 @@\n-a\n+a\r\n--- g\n+++ g\n@@ -1 +1 @@\n-a\r\n+a\n"
            "--- h\n+++ h\n@@ -1,2 +1,3 @@\n a\r\n-b\n\\ No newline at end of file\n+b\r\n+c\r\n"
        ),
        {"f": b"a\r\nb\n", "g": b"a\nb\r\n", "h": b"a\r\nb\r\nc\r\n"},
    ),
    "a shifted hunk whose place is unique": (
        {"f": b"0\n0\n" + FIVE},
        "--- f\n+++ f\n@@ -2,2 +2,2 @@\n two\n-three\n+3\n@@ -5 +5 @@\n-five\n+5\n",
        {"f": b"0\n0\none\ntwo\n3\nfour\n5\n"},
    ),
    "empty files": (
        {"gone": b""},
        (
            "diff --git a/d/new b/d/new\nnew file mode 100644\nindex 0000000..e69de29\n"
            "diff --git a/gone b/gone\ndeleted file mode 100644\nindex e69de29..0000000\n"
        ),
        {"d/new": b""},
    ),
    "quoted names": (
        {"caf\u00e9": b"x\n", 'a"\\\t b': b"x\n"},
        (
            'diff --git "a/caf\\303\\251" "b/caf\\303\\251"\nindex 1..2 100644\n'
            '--- "a/caf\\303\\251"\n+++ "b/caf\\303\\251"\n'
            "@@ -1 +1 @@\n-x\n+y\n"
            'diff --git "a/a\\"\\\\\\t b" "b/caf\\303\\250"\nsimilarity index 100%\n'
            'rename from "a\\"\\\\\\t b"\nrename to "caf\\303\\250"\n'
            'diff --git "a/\\346\\227\\245" "b/\\346\\227\\245"\nnew file mode 100644\nindex 0000000..e69de29\n'
        ),
        {"caf\u00e9": b"y\n", "caf\u00e8": b"x\n", "\u65e5": b""},
    ),
    "other prefixes and none": (
        {"a/f": b"x\n", "g": b"x\n", "i/h": b"x\n"},
        (
            "diff --git a/f a/f\n--- a/f\n+++ a/f\n@@ -1 +1 @@\n-x\n+y\n"
            "diff --git i/g w/g\n--- i/g\n+++ w/g\n@@ -1 +1 @@\n-x\n+y\n"
            "diff --git i/i/h w/i/h\ndeleted file mode 100644\n--- i/i/h\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
            "diff --git c/n i/n\nnew file mode 100644\n--- /dev/null\n+++ i/n\n@@ -0,0 +1 @@\n+x\n"
        ),
        {"a/f": b"y\n", "g": b"y\n", "n": b"x\n"},
    ),
    "a backup or another folder as the old name": (
        {"f.c": b"x\n", "src/g": b"x\n"},
        (
            "--- f.c.orig\t2026-01-01\n+++ f.c\t2026-01-02\n@@ -1 +1 @@\n-x\n+y\n"
            "diff -ru p-1.0/src/g p-1.1/src/g\n--- p-1.0/src/g\n+++ p-1.1/src/g\n@@ -1 +1 @@\n-x\n+y\n"
        ),
        {"f.c": b"y\n", "src/g": b"y\n"},
    ),
    "mails": (
        {"f": b"-- \n", "g": b"x\n"},
        (
            "From 1234 Mon Sep 17 00:00:00 2001\nFrom: A <a@b>\nSubject: [PATCH] x\n\n- a\n\n"
            "---\n f | 2 +-\n 1 file changed\n\n"
            "diff --git a/f b/f\nindex 1..2 100644\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n--- \n+--\n-- \n2.39.5\n\n"
            "From 1235 Mon Sep 17 00:00:00 2001\nSubject: y\n\n---\n"
            "diff --git a/g b/g\n--- a/g\n+++ b/g\n@@ -1 +1 @@\n-x\n+y\n--\n2.39.5\n"
        ),
        {"f": b"--\n", "g": b"y\n"},
    ),
    "a mail without its first line": (
        {"f": b"x\n"},
        "From: A <a@b>\nSubject: x\n\n---\n f | 2 +-\n\ndiff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-x\n+y\n",
        {"f": b"y\n"},
    ),
    "commits": (
        {"f": b"x\n"},
        (
            "commit 123\nAuthor: A\n\n    Change f\n\n    -x\n\n"
            "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-x\n+y\n"
            "\ncommit 124\n\n    More\n\ndiff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-y\n+z\n"
        ),
        {"f": b"z\n"},
    ),
    "the line number decides between equal places": (
        {"f": b"x\nx\nx\n"},
        "--- f\n+++ f\n@@ -2 +2 @@\n-x\n+y\n",
        {"f": b"x\ny\nx\n"},
    ),
}


@pytest.mark.parametrize("name", UNIFIED)
def test_a_unified_diff(patch, root, name):
    before, text, after = UNIFIED[name]
    fill(root, before)
    result = patch(text)
    assert result.ok, result
    assert contents(root) == after
    assert result.output["notes"] == []


UNREADABLE = {
    "nothing": ("", "is empty"),
    "no patch": ("hello", "line 1 is not the start of a patch"),
    "another command": ("cd x && apply_patch <<'EOF'\n*** Begin Patch\n*** End Patch\nEOF", "not the start"),
    "no sections": (envelope(), "no section"),
    "no end": ("*** Begin Patch\n*** Update File: f\n-one\n+1\n", "patch line 4: the patch is truncated"),
    "text after the end": (envelope("*** Delete File: f") + "more\n", "line 4"),
    "an end inside the content": (envelope("*** Add File: g", "+x", "*** End Patch", "+y"), "line 5"),
    "an update without a hunk": (envelope("*** Update File: f"), "patch line 2: this update has no hunk"),
    "an empty hunk": (envelope("*** Update File: f", "@@", "@@"), "empty"),
    "a hunk that changes nothing": (envelope("*** Update File: f", "@@", " one"), "changes nothing"),
    "a hunk that restores what it removes": (envelope("*** Update File: f", "-one", "+one"), "changes nothing"),
    "a line without a prefix": (envelope("*** Update File: f", "@@", "one", "+1"), "patch line 4: 'one'"),
    "a bold line without a prefix": (envelope("*** Update File: f", " one", "***bold***"), "line 4"),
    "an unknown marker": (envelope("*** Rename File: f"), "line 2"),
    "a new line without a plus": (envelope("*** Add File: g", "+x", "y"), "patch line 4: in a new file"),
    "an empty new line without a plus": (envelope("*** Add File: g", "+x", "", "+y"), "line 4"),
    "no path": (envelope("*** Delete File:"), "no path after the colon"),
    "no path to move to": (envelope("*** Update File: f", "*** Move to:", "-one"), "no path after the colon"),
    "lines after a missing line feed": (
        envelope("*** Update File: f", "-five", "\\ No newline at end of file", "-six"),
        "no lines may follow",
    ),
    "a missing name": ("--- f\n@@ -1 +1 @@\n-one\n+1\n", "patch line 1: '--- f' is not part of a unified diff"),
    "two names": ("--- f\n+++ g\n@@ -1 +1 @@\n-one\n+1\n", "'rename from'"),
    "words before the diff": ("I changed f:\n--- f\n+++ f\n@@ -1 +1 @@\n-one\n+1\n", "line 1"),
    "a diff without hunks": ("--- f\n+++ f\n", "no hunk"),
    "a binary diff": ("diff --git a/f b/f\nGIT binary patch\n", "binary"),
    "a symlink": ("diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+f\n", "links"),
    "half of a copy": ("diff --git a/f b/g\ncopy from f\n", "a copy has both lines"),
    "fewer lines than announced": (
        "--- f\n+++ f\n@@ -1,9 +1,9 @@\n one\n-two\n+2\n",
        "9 old and 9 new lines, but has 2",
    ),
    "more lines than announced": ("--- f\n+++ f\n@@ -1 +1 @@\n-one\n+1\n two\n", "1 old and 1 new lines, but has 2"),
    "a hunk that ends in another file": (
        "--- f\n+++ f\n@@ -1,3 +1,3 @@\n-one\n+1\n--- g\n+++ g\n@@ -1 +1 @@\n-x\n+y\n",
        "3 old and 3 new",
    ),
    "an insertion with an old count": ("--- f\n+++ f\n@@ -2,3 +2,4 @@\n+x\n", "3 old and 4 new lines, but has 0 and 1"),
    "the same in an envelope": (envelope("*** Update File: f", "@@ -2,3 +2,4 @@", "+x"), "announces old lines"),
    "half of a hunk header": ("--- f\n+++ f\n@@ -1,3 +\n-one\n+1\n", "is not a hunk header"),
    "a merge": ("diff --git a/f b/f\n--- a/f\n+++ b/f\n@@@ -1 -1 +1 @@@\n--one\n++1\n", "combined diff"),
    "a new file that is old": (
        "diff --git a/f b/f\nnew file mode 100644\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-one\n+1\n",
        "contradict the mode",
    ),
    "two missing names": ("--- /dev/null\n+++ /dev/null\n@@ -0,0 +1 @@\n+x\n", "must be a file"),
    "context in a new file": ("--- /dev/null\n+++ g\n@@ -1 +1,2 @@\n x\n+y\n", "with only lines that begin with '+'"),
    "a rename without a new name": (
        "diff --git a/f b/f\nrename from f\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-one\n+1\n",
        "a rename has both lines",
    ),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_an_unreadable_patch_is_refused_with_its_invalid_line(patch, root, name):
    text, reason = UNREADABLE[name]
    fill(root, {"f": FIVE})
    result = patch(text)
    assert result.error_type == "validation_error"
    assert reason in result.error
    assert contents(root) == {"f": FIVE}


UNFIT = {
    "stale lines": (
        "*** Update File: f\n two\n-tree\n+3\n four",
        "Closest match: line 3 is 'three', but the patch has 'tree'",
    ),
    "white space": ("*** Update File: f\n-two\n+2\n  three\n-four", "differs only in white space"),
    "a part of a line": ("*** Update File: f\n-thre\n+3", "none of its old lines are"),
    "several places": ("*** Update File: g\n-x\n+y", "several places (lines 1, 2, 3)"),
    "several places below an anchor": ("*** Update File: h\n@@ def\n-x\n+y", "several places (lines 2, 4)"),
    "no such heading": ("*** Update File: g\n@@ six\n-x\n+1", "no line 'six'"),
    "overlapping hunks": ("*** Update File: f\n-one\n-two\n+1\n@@\n-two\n-three\n+2", "above"),
    "not at the end": ("*** Update File: f\n-two\n+2\n*** End of File", "at line 2, not at the end of the file"),
    "applied already": ("*** Update File: f\n-zwei\n+two", "its new lines are, at line 2"),
    "an addition at the end that is there": ("*** Update File: f\n three\n+four\n+five", "are already at line 3"),
    "an addition that is there": ("*** Update File: i\n })\n+\n+second({\n+})\n \n c({", "are already at line 2"),
    "an empty file": ("*** Update File: void\n-x\n+y", "none of its old lines are"),
    "a last line feed that is there": (
        "*** Update File: f\n-five\n\\ No newline at end of file\n+5",
        "at line 5, not at the end of the file",
    ),
    "an end in the middle": (
        "*** Update File: f\n-two\n+2\n\\ No newline at end of file",
        "are not at the end of the file",
    ),
    "letters that the encoding lacks": ("*** Update File: latin\n-a\n+日本", "cp1252, which has no '日'"),
}


@pytest.mark.parametrize("name", UNFIT)
def test_a_hunk_that_does_not_match_exactly_once_is_refused(patch, root, name):
    text, reason = UNFIT[name]
    before = {"f": FIVE, "g": b"x\nx\nx\n", "h": b"def\nx\ndef\nx\n", "void": b"", "latin": b"a\n\xe9t\xe9\n"}
    before["i"] = b"a({\n})\n\nsecond({\n})\n\nc({\n})\n"
    fill(root, before)
    other = "*** Delete File: void" if "void" not in text else "*** Delete File: h"
    result = patch(envelope("*** Add File: new/file", "+x", other, text))
    assert result.error_type == "conflict"
    assert reason in result.error, result.error
    assert "Nothing was changed" in result.error
    assert contents(root) == before
    assert not (root / "new").exists()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param("@@ -1 +1 @@\n-x\n+y\n", "several places", id="shifted and ambiguous"),
        pytest.param("@@ -9,0 +10 @@\n+y\n", "does not have its line number", id="after the end"),
        pytest.param("@@ -1 +1 @@\n-q\n+y\n", "in the file", id="stale"),
    ],
)
def test_a_unified_hunk_away_from_its_line_must_be_unique(patch, root, text, reason):
    fill(root, {"f": b"a\nx\nx\n"})
    result = patch(f"--- f\n+++ f\n{text}")
    assert result.error_type == "conflict"
    assert reason in result.error
    assert contents(root) == {"f": b"a\nx\nx\n"}


@pytest.mark.parametrize("lines", [["one"], ["four", "five"]])
def test_a_unified_diff_deletes_a_file_only_if_it_shows_every_line(patch, root, lines):
    fill(root, {"f": FIVE})
    head = "diff --git a/f b/f\ndeleted file mode 100644\n"
    removals = "".join(f"-{line}\n" for line in lines)
    result = patch(f"{head}--- a/f\n+++ /dev/null\n@@ -1,{len(lines)} +0,0 @@\n{removals}")
    assert result.error_type == "conflict"
    assert "does not show all of its lines" in result.error
    assert contents(root) == {"f": FIVE}


def test_an_offset_of_one_hunk_shifts_the_line_numbers_of_later_hunks(patch, root):
    fill(root, {"f": b"new\na\nx\nx\nx\n"})
    result = patch("--- f\n+++ f\n@@ -1 +1 @@\n-a\n+A\n@@ -4 +4 @@\n-x\n+y\n")
    assert result.ok
    assert contents(root) == {"f": b"new\nA\nx\nx\ny\n"}


@pytest.mark.parametrize(
    ("sections", "kind", "reason"),
    [
        pytest.param(["*** Add File: f", "+x"], "conflict", "exists", id="add what exists"),
        pytest.param(["*** Update File: g", "-x", "+y"], "not_found", "no 'g'", id="update what is missing"),
        pytest.param(["*** Delete File: g"], "not_found", "no 'g'", id="delete what is missing"),
        pytest.param(["*** Delete File: d"], "not_a_file", "folder", id="delete a folder"),
        pytest.param(["*** Update File: d", "-x"], "not_a_file", "folder", id="update a folder"),
        pytest.param(["*** Update File: pipe", "-x"], "not_a_file", "pipe", id="a pipe"),
        pytest.param(["*** Delete File: link"], "not_a_file", "delete_path", id="delete a link"),
        pytest.param(["*** Update File: link", "*** Move to: m"], "not_a_file", "move_path", id="move a link"),
        pytest.param(["*** Update File: f", "*** Move to: d/x"], "conflict", "exists", id="move onto a file"),
        pytest.param(["*** Update File: f", "*** Move to: f"], "conflict", "exists", id="move to itself"),
        pytest.param(["*** Delete File: f", "*** Delete File: ./d/../f"], "conflict", "deleted by", id="by .."),
        pytest.param(["*** Delete File: f", "*** Update File: link", "-x"], "conflict", "deleted by", id="by link"),
        pytest.param(["*** Add File: n", "*** Add File: n/m", "+x"], "conflict", "was created during", id="both"),
        pytest.param(["*** Add File: f/x", "+x"], "not_a_directory", "not a folder", id="below a file"),
        pytest.param(["*** Add File: ../x", "+x"], "denied", "outside", id="outside"),
        pytest.param(["*** Add File: out/x", "+x"], "denied", "outside", id="outside by a link"),
        pytest.param(["*** Update File: f", "*** Move to: ../x"], "denied", "outside", id="move outside"),
        pytest.param(["*** Update File: ../outside/secret.txt", "-secret"], "denied", "outside", id="update outside"),
        pytest.param(["*** Add File: /etc/x", "+x"], "denied", "outside", id="absolute"),
        pytest.param(["*** Add File: .git/hooks/x", "+x"], "denied", "protected", id="protected, not there yet"),
        pytest.param(["*** Add File: n/.GIT/config", "+x"], "denied", "protected", id="protected further down"),
        pytest.param(["*** Update File: f", "*** Move to: .bashrc"], "answer_required", "protected", id="move"),
        pytest.param(["*** Add File: .ask-tools-x", "+[]"], "denied", "reserved", id="the tools' own names"),
        pytest.param(["*** Add File: n/.ask-tools-x", "+[]"], "denied", "reserved", id="the same in a new folder"),
        pytest.param(["*** Add File: x/", "+x"], "not_a_file", "folder", id="slash at the end"),
        pytest.param(["*** Add File: dangling/x", "+x"], "not_found", "does not exist", id="below a dangling link"),
    ],
)  # fmt: skip
def test_one_impossible_section_leaves_all_files_unchanged(patch, root, resolver, sections, kind, reason):
    fill(root, {"f": b"one\n", "d/x": b"x\n", "first": b"1\n"})
    (root / "link").symlink_to("f")
    (root / "out").symlink_to("../outside")
    (root / "dangling").symlink_to("nowhere")
    os.mkfifo(root / "pipe")
    before = sorted(os.listdir(root))
    result = patch(envelope("*** Update File: first", "-1", "+2", "*** Add File: made/x", "+x", *sections))
    assert (result.error_type, result.ok) == (kind, False)
    assert reason in result.error, result.error
    assert (root / "first").read_bytes() == b"1\n"
    assert (root / "f").read_bytes() == b"one\n"
    assert sorted(os.listdir(root)) == before
    assert sorted(os.listdir(root.parent)) == ["outside", "root"]
    assert (root.parent / "outside" / "secret.txt").read_text() == "secret"


def test_a_patch_with_crlf_applies_to_files_with_either_ending(patch, root):
    fill(root, {"f": b"a\nb\n", "g": b"a\r\nb\r\n"})
    text = envelope("*** Update File: f", " a", "-b", "+B", "*** Update File: g", " a", "-b", "+B")
    assert patch(text.replace("\n", "\r\n")).ok
    assert contents(root) == {"f": b"a\nB\n", "g": b"a\r\nB\r\n"}


def test_the_result_shows_the_changed_lines_of_each_file(patch, root):
    fill(root, {"f": FIVE, "g": b"x\ny", "h": b"x\n"})
    text = envelope(
        *("*** Update File: f", " two", "-three", "+3", "+3.5", "@@", "-five", "+5", "*** Delete File: g"),
        *("*** Update File: h", "*** Move to: d/h", "*** Add File: i", "+x"),
    )
    diff = ["@@ -2,2 +2,3 @@", " two", "-three", "+3", "+3.5", "@@ -5,1 +6,1 @@", "-five", "+5"]
    result = patch(text)
    moved = "Updated h -> d/h (+0 -0)"
    assert result.content.splitlines() == ["Updated f (+3 -2)", *diff, "Deleted g (+0 -2)", moved, "Added i (+1 -0)"]
    assert result.output["results"] == [
        {"action": "update", "path": "f", "added": 3, "removed": 2, "diff": diff},
        {"action": "delete", "path": "g", "added": 0, "removed": 2, "diff": []},
        {"action": "update", "path": "h", "moved_to": "d/h", "added": 0, "removed": 0, "diff": []},
        {"action": "add", "path": "i", "added": 1, "removed": 0, "diff": []},
    ]


def test_several_sections_of_one_file_apply_in_order(patch, root):
    fill(root, {"f": FIVE, "g": b"old\n", "h": b"x\n"})
    text = envelope(
        *("*** Update File: f", "-one", "+1", "*** Update File: f", "-1", "-two", "+2"),
        *("*** Delete File: g", "*** Add File: g", "+new", "*** Add File: n", "+x", "*** Update File: n", "-x", "+y"),
        *("*** Update File: h", "*** Move to: i", "*** Update File: i", "-x", "+z"),
        *("*** Add File: gone", "+x", "*** Delete File: gone"),
    )
    assert patch(text).ok
    assert contents(root) == {"f": FIVE[4:].replace(b"two", b"2"), "g": b"new\n", "n": b"y\n", "i": b"z\n"}


def test_modes_and_owners_survive_a_patch_without_set_id_bits(patch, root):
    fill(root, {"f": b"a\n", "g": b"a\n"})
    (root / "f").chmod(0o4750)
    (root / "g").chmod(0o600)
    if os.geteuid() == 0:
        os.chown(root / "f", 1234, 5678)
    assert patch(envelope("*** Update File: f", "-a", "+b", "*** Update File: g", "*** Move to: G", "-a", "+b")).ok
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in root.iterdir()}
    assert modes == {"f": 0o750, "G": 0o600}
    if os.geteuid() == 0:
        assert ((root / "f").stat().st_uid, (root / "f").stat().st_gid) == (1234, 5678)


def test_a_git_diff_sets_the_executable_bit(patch, root):
    fill(root, {"f": b"x\n", "g": b"x\n"})
    (root / "f").chmod(0o640)
    (root / "g").chmod(0o755)
    new = "diff --git a/j b/j\nnew file mode 100755\n--- /dev/null\n+++ b/j\n@@ -0,0 +1 @@\n+x\n"
    on = "diff --git a/f b/f\nold mode 100644\nnew mode 100755\n"
    off = "diff --git a/g b/h\nold mode 100755\nnew mode 100644\nsimilarity index 100%\nrename from g\nrename to h\n"
    result = patch(new + on + off)
    assert "Updated f (+0 -0, executable)" in result.content
    assert {path.name: stat.S_IMODE(path.stat().st_mode) for path in root.iterdir()} == {
        "f": 0o750,
        "h": 0o644,
        "j": 0o755,
    }
    assert contents(root) == {"f": b"x\n", "h": b"x\n", "j": b"x\n"}


def test_a_file_with_a_non_utf8_name_is_patched_by_its_escaped_name(patch, root):
    name = os.fsdecode(b"bad\xff")
    fill(root, {name: b"b\n"})
    moved = patch(envelope("*** Update File: bad\\xff", "*** Move to: good", "-b", "+c"))
    assert moved.content.startswith("Updated bad\\xff -> good (+1 -1)")
    assert contents(root) == {"good": b"c\n"}


def test_patches_follow_symlinks_inside_and_detach_hard_links(patch, root, resolver):
    fill(root, {"d/f": b"a\n"})
    (root / "link").symlink_to(root / "d" / "f")
    os.link(root.parent / "outside" / "secret.txt", root / "hard")
    text = envelope("*** Update File: link", "-a", "+b", "*** Update File: hard", "-secret", "+open")
    assert patch(text).ok
    assert (root / "link").is_symlink()
    assert (root / "d" / "f").read_bytes() == b"b\n"
    assert (root / "hard").read_text() == "open"
    assert (root.parent / "outside" / "secret.txt").read_text() == "secret"


def test_a_patch_stays_in_one_root_and_out_of_read_only_ones(root, tmp_path):
    other, fixed = tmp_path / "other", tmp_path / "fixed"
    fill(root, {"f": b"a\n"})
    fill(other, {"f": b"a\n"})
    fill(fixed, {"f": b"a\n"})
    tool = ApplyPatch(Workspace(root, other, Root(str(fixed), writable=False)))
    change = ["-a", "+b"]
    assert tool.call(patch=envelope(f"*** Update File: {other}/f", *change)).ok
    across = tool.call(patch=envelope("*** Update File: f", *change, f"*** Delete File: {other}/f"))
    assert across.error_type == "validation_error"
    assert "one patch for each" in across.error
    moved = tool.call(patch=envelope("*** Update File: f", f"*** Move to: {other}/g"))
    assert moved.error_type == "validation_error"
    assert tool.call(patch=envelope(f"*** Delete File: {fixed}/f")).error_type == "denied"
    assert (root / "f").read_bytes() == b"a\n"
    assert sorted(os.listdir(tmp_path)) == ["fixed", "other", "outside", "root"]


def test_a_session_knows_a_patched_file_if_it_knew_all_of_it_before(root):
    fill(root, {"known": b"a\n", "unknown": b"a\n"})
    context = Context(workspace=root)
    assert ReadFile().call({"path": "known"}, context).ok
    sections = [line for name in ("known", "unknown") for line in (f"*** Update File: {name}", "-a", "+b")]
    assert ApplyPatch().call({"patch": envelope(*sections, "*** Add File: new", "+x")}, context).ok
    rewritten = {
        name: WriteFile().call({"path": name, "content": "c"}, context).ok for name in ("known", "unknown", "new")
    }
    assert rewritten == {"known": True, "unknown": False, "new": True}


@pytest.mark.parametrize("lacking", ["hard links", "renameat2", "both"])
def test_a_file_system_that_can_do_less_gets_the_same_patches(patch, root, monkeypatch, without_system_calls, lacking):
    def no_links(*_, **__):
        raise PermissionError(1, "Operation not permitted")

    if lacking != "renameat2":
        monkeypatch.setattr(os, "link", no_links)
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    if lacking != "hard links":
        without_system_calls()
    fill(root, {"f": b"a\n", "g": b"a\n", "h": b"a\n"})
    sections = ["*** Update File: f", "-a", "+b", "*** Delete File: g"]
    assert patch(envelope(*sections)).ok
    assert contents(root) == {"f": b"b\n", "h": b"a\n"}
    added = patch(envelope("*** Update File: f", "-b", "+c", "*** Update File: h", "*** Move to: d/h"))
    if lacking == "both":  # then nothing can be made without a chance to replace something
        assert added.error_type == "denied"
        assert contents(root) == {"f": b"b\n", "h": b"a\n"}
    else:
        assert contents(root) == {"f": b"c\n", "d/h": b"a\n"}


def test_a_full_disk_leaves_all_files_of_a_patch_unchanged(patch, root):
    import resource

    fill(root, {"f": FIVE, "g": b"a\n" * 100})
    before = contents(root)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, hard))
    try:
        big = ["+" + "x" * 1000] * 100
        result = patch(envelope("*** Update File: f", "-one", "+1", "*** Add File: d/new", *big, "*** Delete File: g"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert result.error_type == "limit_exceeded"
    assert contents(root) == before
    assert sorted(os.listdir(root)) == ["f", "g"]


def test_a_permission_error_leaves_all_files_of_a_patch_unchanged(root):
    if os.geteuid() == 0:
        pytest.skip("root is permitted everything")
    fill(root, {"f": b"a\n", "d/g": b"a\n"})
    (root / "d").chmod(0o500)
    result = ApplyPatch(root).call(patch=envelope("*** Update File: f", "-a", "+b", "*** Delete File: d/g"))
    (root / "d").chmod(0o700)
    assert result.error_type == "denied"
    assert contents(root) == {"f": b"a\n", "d/g": b"a\n"}


def test_too_much_is_refused_before_anything_is_read_or_written(patch, root):
    with (root / "big").open("wb") as big:
        big.truncate(1 << 40)
    assert patch(envelope("*** Update File: big", "-x")).error_type == "limit_exceeded"
    assert patch(envelope("*** Delete File: big")).error_type == "limit_exceeded"
    many = patch(envelope(*(f"*** Add File: {number}" for number in range(301))))
    assert many.error_type == "limit_exceeded"
    assert patch("x" * 5_000_001).error_type == "validation_error"
    assert os.listdir(root) == ["big"]


@pytest.mark.slow
def test_hunks_of_a_hostile_shape_take_no_long_time(patch, root):
    fill(root, {"f": b"a\n" * 1_000_000, "g": b"x\n"})
    long = [" a"] * 50_000
    ambiguous = patch(envelope("*** Update File: f", *long, "-b", "+c"))
    assert ambiguous.error_type == "conflict"
    anchored = patch(envelope("*** Update File: f", *["@@ a"] * 10_000, "-b", "+c"))
    assert anchored.error_type == "conflict"
    many = patch(envelope("*** Update File: f", *["@@", "-a", "+b"] * 5_000))
    assert many.error_type == "limit_exceeded"


def test_no_repository_is_built_by_the_files_of_one_patch(patch, root):
    sections = [f"*** Add File: fake/{name}\n+x" for name in ("objects/a", "refs/b", "hooks/pre-commit", "HEAD")]
    assert patch(envelope(*sections)).error_type == "denied"
    assert os.listdir(root) == []


def test_concurrent_edits_and_patches_lose_no_update(root):
    from concurrent.futures import ThreadPoolExecutor

    fill(root, {"f": b"".join(b"line %d\n" % number for number in range(40))})
    patcher, editor = ApplyPatch(root), EditFile(root)

    def change(number):
        while True:
            if number % 2:
                text = envelope("*** Update File: f", f"-line {number}", f"+done {number}")
                result = patcher.call(patch=text)
            else:
                result = editor.call(path="f", old_string=f"line {number}\n", new_string=f"done {number}\n")
            if result.ok:
                return
            assert result.error_type == "conflict", result

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(change, range(40)))
    assert (root / "f").read_text() == "".join(f"done {number}\n" for number in range(40))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("```diff\n--- f\n+++ f\n@@ -2 +2 @@\n-two\n+2\n```\n", id="a fence around it"),
        pytest.param("```\n*** Begin Patch\n*** Update File: f\n-two\n+2\n*** End Patch\n```", id="an envelope in one"),
        pytest.param("<<'EOF'\n" + envelope("*** Update File: f", "-two", "+2") + "EOF\n", id="a here-document"),
        pytest.param("apply_patch <<EOF\n" + envelope("*** Update File: f", "-two", "+2") + "EOF", id="its command"),
        pytest.param("  *** Begin Patch\n  *** Update File: f\n-two\n+2\n *** End Patch ", id="padded markers"),
        pytest.param("--- f\n+++ f\n@@ @@\n-two\n+2\n", id="a header without numbers"),
        pytest.param(envelope("*** Update File: f", "@@ six", "-two", "+2"), id="a heading that is not there"),
        pytest.param(envelope("*** Update File: f", "-two  ", "+2", " three "), id="blanks at ends of lines"),
        pytest.param(
            envelope("*** Update File: f", "@@", "-two", "+2", " three", " four", " five", " "), id="an empty end"
        ),
    ],
)
def test_common_mistakes_of_models_are_accepted_if_the_place_is_certain(patch, root, text):
    fill(root, {"f": FIVE})
    assert patch(text).ok
    assert contents(root) == {"f": FIVE.replace(b"two", b"2")}


ENDS = {
    "lines added below the empty last line": (b"a\nb\n", [" a", " b", " ", "+", "+c", "+"], b"a\nb\n\n\nc\n"),
    "the same, without blanks": (b"a\nb\n", [" a", " b", "", "+", "+c", "+"], b"a\nb\n\n\nc\n"),
    "the same, without a final line feed": (b"a\nb", [" a", " b", " ", "+", "+c", "+"], b"a\nb\n\n\nc"),
    "an empty last line is removed": (b"a\nb\n\n", [" b", "-", " "], b"a\nb\n"),
    "the same, shown without the end": (b"a\nb\n\n", [" b", "-"], b"a\nb\n"),
    "a changed last line": (b"a\nb\n", [" a", "-b", "+c", " "], b"a\nc\n"),
    "only additions": (b"a\nb\n", ["+c", "+d"], b"a\nb\nc\nd\n"),
    "only additions, without a final line feed": (b"a\nb", ["@@", "+c"], b"a\nb\nc"),
    "additions before other hunks": (b"a\nb\n", ["@@", "+c", "@@", "-a", "+A"], b"A\nb\nc\n"),
    "an empty line inside is not the end": (b"a\n\nb\n", [" a", "-"], b"a\nb\n"),
}


@pytest.mark.parametrize("name", ENDS)
def test_the_end_of_a_file_is_patched_exactly(patch, root, name):
    before, lines, after = ENDS[name]
    fill(root, {"f": before})
    assert patch(envelope("*** Update File: f", *lines)).ok
    assert contents(root) == {"f": after}


def test_quotes_and_dashes_may_differ_in_lines_that_stay(patch, root):
    fill(root, {"f": "\u201cone\u201d \u2013 it\u2019s\ntwo\n".encode()})
    result = patch(envelope("*** Update File: f", ' "one" - it\'s', "-two", "+2"))
    assert "quotes, dashes or accents differ" in result.output["notes"][0]
    assert contents(root) == {"f": "\u201cone\u201d \u2013 it\u2019s\n2\n".encode()}


def test_the_end_of_a_block_is_not_chosen_by_its_heading(patch, root):
    before = {"f": b"func main() {\n\trun()\n}\n`)\n}\n"}
    fill(root, before)
    result = patch(envelope("*** Update File: f", "@@ func main() {", " }", "+", "+func next() {}"))
    assert "several places (lines 3, 5)" in result.error
    assert contents(root) == before


def test_a_missing_heading_is_noted(patch, root):
    fill(root, {"f": FIVE})
    notes = patch(envelope("*** Update File: f", "@@ six", "-two", "+2")).output["notes"]
    assert "the heading 'six' is not in the file" in notes[0]


BLOCKS = b"def a():\n    x\n    y\n\n\ndef b():\n    x\n    y\n\n\ndef c():\n    x\n    y\n"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param(["@@ def b():", "     x", "-    y", "+    z"], "aZc", id="the block of a heading"),
        pytest.param(["@@ def b", "     x", "-    y", "+    z"], "aZc", id="the beginning of a heading"),
        pytest.param(["@@ def b():", "-    y", "+    z", "@@", "-    y", "+    z"], "aZZ", id="hunks in order"),
        pytest.param(["@@", "-    y", "+    z"] * 3, "ZZZ", id="as many places as hunks"),
        pytest.param(["@@", "-    y", "+    z"] * 2, None, id="fewer hunks than places"),
        pytest.param(["@@", "     y", " ", " ", "-def b():", "+def B():"], "aBc", id="unique by its context"),
        pytest.param(["@@ def c():", "-    y", "+    z", "@@ def a():", "-    y", "+    z"], None, id="another order"),
        pytest.param(["@@ def q():", "-    y", "+    z"], None, id="no such heading"),
    ],
)
def test_hunks_of_a_file_are_placed_in_one_way_or_refused(patch, root, lines, expected):
    fill(root, {"f": BLOCKS})
    result = patch(envelope("*** Update File: f", *lines))
    assert result.ok is (expected is not None)
    parts = contents(root)["f"].split(b"\n\n\n")
    marks = ["Z" if b"z" in part else "B" if b"B" in part else chr(part[4]) for part in parts]
    assert "".join(marks) == (expected or "abc")
