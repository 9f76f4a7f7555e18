"""Patches over made-up files: what a diff says comes out, and nothing else ever does."""

from __future__ import annotations

import difflib
import os
import random
import shutil
import subprocess
from itertools import islice

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tools_core import ToolError
from tools_filesystem import ApplyPatch
from tools_filesystem._writing._patch._apply import apply_hunks
from tools_filesystem._writing._patch._parse import parse

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
    return written(draw, old, ending), written(draw, new, ending)


def written(draw, content, ending):
    text = ending.join(content) + (ending if draw(st.booleans()) else "")
    return text if content else ""


def pieces(text):
    """The lines with their line feeds, and with nothing else taken for one."""
    parts = text.split("\n")
    return [part + "\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def unified(old, new, context):
    """A diff as `diff -u` writes it, which difflib does not where a file lacks its last line feed."""
    out = ["--- f\n", "+++ f\n"]
    found = list(difflib.unified_diff(pieces(old), pieces(new), n=context))[2:]
    out += [line if line.endswith("\n") else f"{line}\n{NO_END}\n" for line in found]
    return "".join(out)


def enveloped(old, new, context):
    """The same as an envelope without line numbers."""
    body = [line for line in unified(old, new, context).split("\n")[2:] if line]
    body = ["@@" if line.startswith("@@") and line.endswith("@@") else line for line in body]
    return "\n".join(["*** Begin Patch", "*** Update File: f", *body, "*** End Patch", ""])


def applied(text, data):
    (section,) = parse(text)
    return apply_hunks(data.encode(), section.hunks, "f").data.decode()


@settings(max_examples=100)
@given(edits(), st.integers(0, 4))
@example(("a\r\nb", "a\r\nb\r\n"), 3)
@example(("", "a"), 0)
def test_a_unified_diff_turns_the_old_file_into_the_new_one(files, context):
    old, new = files
    if old != new:
        assert applied(unified(old, new, context), old) == new


@settings(max_examples=100)
@given(edits(), st.integers(0, 4))
def test_an_envelope_does_the_same_or_is_refused_as_ambiguous(files, context):
    old, new = files
    if old == new:
        return
    try:
        assert applied(enveloped(old, new, context), old) == new
    except ToolError as error:
        assert error.type == "conflict"
        assert "several places" in error.message or "does not say where" in error.message


@settings(max_examples=100)
@given(edits())
def test_an_envelope_that_shows_the_whole_file_is_never_refused(files):
    old, new = files
    if old != new and old:
        assert applied(enveloped(old, new, 99), old) == new


@settings(max_examples=100)
@given(edits(), st.integers(1, 3))
@example(("x\na", "x\na\nb\nc"), 0)
def test_a_patch_without_carriage_returns_changes_the_same_lines_of_a_file_with_them(files, context):
    old, new = (text.replace("\r", "") for text in files)
    if old != new and "\n" in old:
        got = applied(unified(old, new, context), old.replace("\n", "\r\n"))
        assert got == new.replace("\n", "\r\n")


def placements(hunks, keys, cursor=0):
    """All results there can be when every hunk takes the place of its old lines, in order."""
    if not hunks:
        yield keys[cursor:]
        return
    for hunk in filter(None, (hunks[0], hunks[0].without_last_blank())):
        old = [text.decode().rstrip() for text in hunk.old]
        for place in range(cursor, len(keys) - len(old) + 1):
            there = keys[place : place + len(old)]
            if [key.rstrip() for key in there] == old:
                kept = iter(there)
                made = [(line.text.decode(), line.kind) if line.kind == "+" else (next(kept), line.kind)
                        for line in hunk.lines]  # fmt: skip
                new = [text for text, kind in made if kind != "-"]
                for rest in placements(hunks[1:], keys, place + len(old)):
                    yield [*keys[cursor:place], *new, *rest]


def results(hunks, text):
    """The same as files, with a last line feed and without."""
    keys = [piece.removesuffix("\n") for piece in pieces(text)]
    found = ["\n".join(keys) for keys in islice(placements(hunks, keys), 5000)]
    return {*found, *(f"{text}\n" for text in found)}


@settings(max_examples=100)
@given(edits(), lines, st.integers(0, 3), st.booleans(), st.data())
def test_on_another_file_a_patch_is_refused_or_its_old_lines_were_there(files, other, context, numbered, data):
    old, new = (text.replace("\r", "") for text in files)
    if old == new:
        return
    if data.draw(st.booleans()):  # near to the file that it was made for
        other = old.split("\n")
        start = data.draw(st.integers(0, len(other)))
        other[start : start + data.draw(st.integers(0, 2))] = data.draw(st.lists(st.sampled_from(WORDS), max_size=2))
    text = unified(old, new, context) if numbered else enveloped(old, new, context)
    target = "\n".join(other)
    (section,) = parse(text)
    try:
        got = applied(text, target)
    except ToolError as error:
        assert error.type == "conflict"
    else:
        assert got in results(section.hunks, target)


@settings(max_examples=100)
@given(edits(), st.integers(0, 3))
def test_a_patch_that_is_applied_twice_is_refused_or_exact_both_times(files, context):
    old, new = (text.replace("\r", "") for text in files)
    if old == new:
        return
    text = unified(old, new, context)
    (section,) = parse(text)
    try:
        got = applied(text, new)
    except ToolError as error:
        assert error.type == "conflict"
    else:
        assert got in results(section.hunks, new)


MARKERS = [
    *("*** Begin Patch", "*** End Patch", "*** Add File: f", "*** Update File: f", "*** Delete File: f"),
    *("*** Move to: g", "*** End of File", "@@", "@@ a", "@@ -1 +1 @@", "@@ -1,2 +1,2 @@", "--- a/f", "+++ b/f"),
    *("diff --git a/f b/f", "rename from f", "rename to g", "new file mode 100644", "deleted file mode 100644"),
    *("--- /dev/null", "+++ /dev/null", "+a", "-a", " a", "", "a", NO_END, '--- "a/f', "\r", "***"),
]


@settings(max_examples=100)
@given(st.lists(st.sampled_from(MARKERS) | st.text(max_size=5), max_size=12), st.sampled_from(["\n", "\r\n"]))
def test_whatever_is_given_is_read_or_refused_by_its_line(parts, ending):
    try:
        sections = parse(ending.join(parts))
    except ToolError as error:
        assert error.type == "validation_error"
        return
    assert sections
    for section in sections:
        assert section.action == "delete" or section.path
        for hunk in section.hunks:
            assert hunk.old != hunk.new or hunk.old_ends != hunk.new_ends


@pytest.mark.parametrize("kind", ["+", "-", " "])
@given(word=st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=20))
def test_no_content_behind_a_prefix_is_taken_for_a_marker(kind, word):
    text = f"*** Begin Patch\n*** Update File: f\n@@\n-x\n+y\n{kind}{word}\n*** End Patch\n"
    (section,) = parse(text)
    assert section.hunks[0].lines[-1] == (kind, word.encode())


def some_file(chance):
    ending = chance.choice(["\n", "\n", "\r\n"])
    text = ending.join(chance.choices([*WORDS, "\t\u00e9"], k=chance.randint(0, 30)))
    return (text + ending * (chance.random() < 0.8)).encode()


def changed_tree(chance, files):
    """Another state of the tree: changed, deleted, moved and new files, and executable ones."""
    found = {}
    for name, (data, _) in files.items():
        fate = chance.choice(["edited", "edited", "deleted", "moved", "executable", "kept"])
        lines, start, ending = data.split(b"\n"), chance.randint(0, 5), b"\r" * (b"\r" in data)
        lines[start : start + chance.randint(0, 2)] = [b"new" + ending] * chance.randint(0, 2)
        if fate != "deleted":
            after = b"\n".join(lines) if fate == "edited" else data
            found[f"moved/{name}" if fate == "moved" else name] = (after, fate == "executable")
    return {**found, "brand new": (some_file(chance), False)}


def write_tree(folder, files):
    for entry in folder.iterdir():
        if entry.name != ".git":
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    for name, (data, executable) in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
        (folder / name).chmod(0o755 if executable else 0o644)


def read_tree(folder):
    files = [path for path in folder.rglob("*") if path.is_file() and ".git" not in path.relative_to(folder).parts]
    return {str(path.relative_to(folder)): (path.read_bytes(), bool(path.stat().st_mode & 0o100)) for path in files}


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_what_git_writes_turns_the_old_tree_into_the_new_one(root):
    settings = ["-c", "user.name=x", "-c", "user.email=x@x", "-c", "core.autocrlf=false", "-c", "diff.renames=true"]
    settings += ["-c", "core.fileMode=true", "-c", "commit.gpgsign=false"]
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}

    def git(*arguments):
        command = ["git", "-C", root, *settings, *arguments]
        return subprocess.run(command, check=True, capture_output=True, env=environment).stdout.decode()

    git("init", "-q")
    chance = random.Random(1)
    for case in range(40):
        old = {f"d{n % 2}/f {n}\u00e9" if n % 3 else f"f{n}": (some_file(chance), False) for n in range(6)}
        new = changed_tree(chance, old)
        write_tree(root, old)
        git("add", "-A")
        git("commit", "-qm", "old", "--allow-empty")
        write_tree(root, new)
        git("add", "-A")
        diff = git("diff", "--cached", f"-U{case % 4}")
        write_tree(root, old)
        result = ApplyPatch(root).call(patch=diff)
        assert result.ok, result
        assert read_tree(root) == new
