"""Patches over generated files: each gives the result that its diff describes, or changes nothing."""

from __future__ import annotations

import difflib
import os
import random
import shutil
import subprocess
import tempfile
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tools_filesystem import ApplyPatch

# Few different lines, so that places are ambiguous, and such as look like parts of a patch.
WORDS = ["a", "b", "", " ", "  a", "-", "+", "--- a/f", "+++ b/f", "@@ -1 +1 @@", "***bold***", "*** End Patch", "\\ x"]
lines = st.lists(st.sampled_from(WORDS), max_size=10)
endings = st.sampled_from(["\n", "\r\n"])
NO_END = "\\ No newline at end of file"


@st.composite
def edits(draw):
    """A file before and after, so that most of it stays."""
    old = draw(lines)
    new = list(old)
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(new)))
        new[start : start + draw(st.integers(0, 2))] = draw(st.lists(st.sampled_from(WORDS), max_size=2))
    ending = draw(endings)
    return rendered(draw, old, ending), rendered(draw, new, ending)


def rendered(draw, content, ending):
    text = ending.join(content) + (ending if draw(st.booleans()) else "")
    return text if content else ""


def pieces(text):
    """The lines with their line feeds, and with nothing else taken for one."""
    parts = text.split("\n")
    return [part + "\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def unified(old, new, context):
    """Return a diff in the format of `diff -u`; that of difflib differs if a file lacks its last line feed."""
    out = ["--- f\n", "+++ f\n"]
    diff_lines = list(difflib.unified_diff(pieces(old), pieces(new), n=context))[2:]
    out += [line if line.endswith("\n") else f"{line}\n{NO_END}\n" for line in diff_lines]
    return "".join(out)


def enveloped(old, new, context):
    """The same as an envelope without line numbers."""
    body = [line for line in unified(old, new, context).split("\n")[2:] if line]
    body = ["@@" if line.startswith("@@") and line.endswith("@@") else line for line in body]
    return "\n".join(["*** Begin Patch", "*** Update File: f", *body, "*** End Patch", ""])


def applied(text, data):
    """The content of the file when the patch is applied; None if it is refused, and then nothing is changed."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "f")
        file.write_bytes(data.encode())
        result = ApplyPatch(folder).call(patch=text)
        got = file.read_bytes().decode()
    if result.ok:
        return got
    assert result.error_type == "conflict", result
    assert got == data
    return None


@pytest.mark.slow
@settings(max_examples=100)
@given(edits(), st.integers(0, 4))
@example(("a\r\nb", "a\r\nb\r\n"), 3)
@example(("", "a"), 0)
def test_a_unified_diff_turns_the_old_file_into_the_new_one(files, context):
    old, new = files
    if old != new:
        assert applied(unified(old, new, context), old) == new


@pytest.mark.slow
@settings(max_examples=100)
@given(edits(), st.integers(1, 4))
def test_an_envelope_does_the_same_or_is_refused_as_ambiguous(files, context):
    old, new = files
    if old != new:
        assert applied(enveloped(old, new, context), old) in (new, None)


@pytest.mark.slow
@settings(max_examples=100)
@given(edits())
def test_an_envelope_that_shows_the_whole_file_is_never_refused(files):
    old, new = files
    if old != new and old.strip("\r\n"):
        assert applied(enveloped(old, new, 99), old) == new


@pytest.mark.slow
@settings(max_examples=100)
@given(edits(), st.integers(1, 3))
@example(("x\na", "x\na\nb\nc"), 0)
@example(("same line\nsame line\n", "same line\nsame line\nsame line\n"), 1)
def test_a_patch_with_lf_endings_changes_the_same_lines_of_a_crlf_file(files, context):
    old, new = (text.replace("\r", "") for text in files)
    if old != new and "\n" in old:
        got = applied(unified(old, new, context), old.replace("\n", "\r\n"))
        assert got == new.replace("\n", "\r\n")


def hunks_of(diff):
    """The hunks of a made-up diff, as pairs of kind and text."""
    hunks = []
    for line in diff.split("\n")[2:-1]:
        if line.startswith("@@ "):
            hunks.append([])
        elif line != NO_END:
            hunks[-1].append((line[0], line[1:]))
    return hunks


def placements(hunks, keys, cursor=0):
    """All results there can be when every hunk takes the place of its old lines, in order."""
    if not hunks:
        yield keys[cursor:]
        return
    olds = [number for number, (kind, _) in enumerate(hunks[0]) if kind != "+"]
    shorter = [hunks[0][: olds[-1]] + hunks[0][olds[-1] + 1 :]] if olds and hunks[0][olds[-1]] == (" ", "") else []
    for hunk in (hunks[0], *shorter):
        old = [text.rstrip() for kind, text in hunk if kind != "+"]
        for place in range(cursor, len(keys) - len(old) + 1):
            there = keys[place : place + len(old)]
            if [key.rstrip() for key in there] == old:
                originals = iter(there)
                merged = [(text, kind) if kind == "+" else (next(originals), kind) for kind, text in hunk]
                new = [text for text, kind in merged if kind != "-"]
                for rest in placements(hunks[1:], keys, place + len(old)):
                    yield [*keys[cursor:place], *new, *rest]


def results(hunks, text):
    """The same as files, with a last line feed and without."""
    keys = [piece.removesuffix("\n") for piece in pieces(text)]
    texts = ["\n".join(keys) for keys in islice(placements(hunks, keys), 5000)]
    return {*texts, *(f"{text}\n" for text in texts)}


@settings(max_examples=100)
@given(edits(), lines, st.integers(0, 3), st.booleans(), st.data())
def test_on_another_file_a_patch_is_refused_or_its_old_lines_were_there(files, other, context, numbered, data):
    old, new = (text.replace("\r", "") for text in files)
    if old == new:
        return
    context = context if numbered else max(1, context)  # without context, an envelope adds at the end
    kind = data.draw(st.sampled_from(["another", "near to the file that it was made for", "applied already"]))
    if kind != "another":
        other = (new if kind == "applied already" else old).split("\n")
    if kind.startswith("near"):
        start = data.draw(st.integers(0, len(other)))
        other[start : start + data.draw(st.integers(0, 2))] = data.draw(st.lists(st.sampled_from(WORDS), max_size=2))
    text = unified(old, new, context) if numbered else enveloped(old, new, context)
    target = "\n".join(other)
    got = applied(text, target)
    assert got is None or got in results(hunks_of(unified(old, new, context)), target)


def test_an_empty_file_has_no_empty_line_to_remove():
    assert applied(enveloped("\n\n", "\n", 1), "") is None


MARKERS = [
    *("*** Begin Patch", "*** End Patch", "*** Add File: f", "*** Update File: f", "*** Delete File: f"),
    *("*** Move to: g", "*** End of File", "@@", "@@ a", "@@ -1 +1 @@", "@@ -1,2 +1,2 @@", "--- a/f", "+++ b/f"),
    *("diff --git a/f b/f", "rename from f", "rename to g", "new file mode 100644", "deleted file mode 100644"),
    *("--- /dev/null", "+++ /dev/null", "+a", "-a", " a", "", "a", NO_END, '--- "a/f', "\r", "***"),
]


@settings(max_examples=100)
@given(st.lists(st.sampled_from(MARKERS) | st.text(max_size=5), max_size=12), st.sampled_from(["\n", "\r\n"]))
def test_any_text_is_applied_as_a_patch_or_refused_with_a_reason(parts, ending):
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "f").write_bytes(b"a\n")
        result = ApplyPatch(folder).call(patch=ending.join(parts))
        assert result.ok or result.error_type in ("validation_error", "conflict", "not_found", "not_a_file", "denied")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["+", "-", " "])
@given(word=st.text(st.characters(exclude_characters="\n\r", exclude_categories=["Cs"]), max_size=20))
def test_no_content_behind_a_prefix_is_taken_for_a_marker(kind, word):
    text = f"*** Begin Patch\n*** Update File: f\n@@\n-x\n+y\n{kind}{word}\n*** End Patch\n"
    old, new = f"x\n{word}\n" if kind != "+" else "x\n", f"y\n{word}\n" if kind != "-" else "y\n"
    assert applied(text, old) == new


def some_file(chance):
    ending = chance.choice(["\n", "\n", "\r\n"])
    text = ending.join(["first", *chance.choices([*WORDS, "\t\u00e9"], k=chance.randint(0, 30))])
    return (text + ending * (chance.random() < 0.8)).encode() if chance.random() < 0.8 else b""


def changed_tree(chance, files):
    """Another state of the tree: changed, deleted, moved and new files."""
    tree = {}
    for name, data in files.items():
        fate = chance.choice(["edited", "edited", "deleted", "moved", "unchanged"])
        lines, start, ending = data.split(b"\n"), chance.randint(0, 5), b"\r" * (b"\r" in data)
        lines[start : start + chance.randint(0, 2)] = [b"new" + ending] * chance.randint(0, 2)
        if fate != "deleted":
            after = b"\n".join(lines) if fate == "edited" else data
            tree[f"moved/{name}" if fate == "moved" else name] = after
    return {**tree, "brand new": some_file(chance)}


def write_tree(folder, files):
    for entry in folder.iterdir():
        if entry.name != ".git":
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def read_tree(folder):
    files = [path for path in folder.rglob("*") if path.is_file() and ".git" not in path.relative_to(folder).parts]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_a_git_diff_turns_the_old_tree_into_the_new_tree(root):
    settings = ["-c", "user.name=x", "-c", "user.email=x@x", "-c", "core.autocrlf=false", "-c", "diff.renames=true"]
    settings += ["-c", "commit.gpgsign=false"]
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}

    def git(*arguments):
        command = ["git", "-C", root, *settings, *arguments]
        return subprocess.run(command, check=True, capture_output=True, env=environment).stdout.decode()

    git("init", "-q")
    chance = random.Random(1)
    for case in range(40):
        old = {f"d{n % 2}/f {n}\u00e9" if n % 3 else f"f{n}": some_file(chance) for n in range(6)}
        new = changed_tree(chance, old)
        write_tree(root, old)
        git("add", "-A")
        git("commit", "-qm", "old", "--allow-empty")
        write_tree(root, new)
        git("add", "-A")
        git("commit", "-qm", "new: - a\n\n- b", "--allow-empty")
        command = chance.choice(["diff HEAD~", "show", "format-patch -1 --stdout", "diff --no-prefix HEAD~"])
        diff = git(*command.split(), f"-U{case % 4}")
        write_tree(root, old)
        result = ApplyPatch(root).call(patch=diff)
        assert result.ok, result
        assert read_tree(root) == new
