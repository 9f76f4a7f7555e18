"""The effects and the limits of make_directory, move_path and delete_path."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from types import SimpleNamespace

import pytest

from tools_core import Context, ToolError
from tools_filesystem import (
    ApplyPatch,
    DeletePath,
    MakeDirectory,
    MovePath,
    ReadFile,
    Root,
    Workspace,
    WriteFile,
)


def tools(*roots, **options):
    workspace = Workspace(*roots, **options)
    classes = {"make": MakeDirectory, "move": MovePath, "delete": DeletePath}
    return SimpleNamespace(**{name: tool(workspace) for name, tool in classes.items()})


@pytest.fixture
def change(root):
    return tools(root)


@pytest.fixture
def tree(root):
    """A folder with everything that a folder may hold, apart from special files."""
    inner = root / "tree" / "inner"
    inner.mkdir(parents=True)
    (root / "tree" / "file").write_text("file")
    (inner / "script").write_text("script")
    (inner / "script").chmod(0o4750)
    (inner / "empty").mkdir(mode=0o700)
    (inner / "up").symlink_to("../file")
    (inner / "out").symlink_to(root.parent / "outside")
    (inner / "dangling").symlink_to("nowhere")
    os.utime(inner / "script", ns=(10**9, 2 * 10**9))
    os.utime(inner, ns=(10**9, 3 * 10**9))
    return root / "tree"


def listing(folder):
    """Return the mode, time and content of every entry of a tree, without following links."""
    entries = {}
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = os.path.join(place, name)
            state = os.lstat(path)
            content = os.readlink(path) if stat.S_ISLNK(state.st_mode) else None
            if stat.S_ISREG(state.st_mode):
                with open(path, "rb") as file:
                    content = file.read()
            entries[os.path.relpath(path, folder)] = (stat.filemode(state.st_mode), state.st_mtime_ns, content)
    return entries


def names(folder):
    return sorted(os.listdir(folder))


def test_make_directory_creates_missing_parents(change, root, resolver):
    result = change.make.call(path="a/b/c/")
    assert result.output == {"path": "a/b/c/", "created": True}
    assert result.content == "Created 'a/b/c/'"
    assert change.make.call(path="a/b/c").output["created"] is False
    assert change.make.call(path=".").output["created"] is False
    assert (root / "a" / "b" / "c").is_dir()


def test_make_directory_never_replaces_an_existing_path(change, root, resolver):
    (root / "file").write_text("x")
    (root / "dangling").symlink_to("nowhere")
    (root / "folder").mkdir()
    (root / "link").symlink_to("folder")
    for path in ("file", "dangling"):
        assert change.make.call(path=path).error_type == "conflict"
    assert change.make.call(path="file/below").error_type == "not_a_directory"
    assert change.make.call(path="link").output["created"] is False
    assert change.make.call(path="link/below").ok
    assert (root / "folder" / "below").is_dir()


def test_a_file_and_a_tree_are_moved_with_all_that_they_are(change, root, tree, resolver, renaming):
    before = listing(tree)
    inode = (tree / "file").stat().st_ino
    result = change.move.call(source="tree/", destination="new/place")
    assert result.output == {"source": "tree/", "destination": "new/place", "replaced": False}
    assert result.content == "Moved 'tree/' to 'new/place'"
    assert listing(root / "new" / "place") == before
    assert change.move.call(source="new/place/file", destination="renamed").ok
    assert (root / "renamed").stat().st_ino == inode
    assert names(root) == ["new", "renamed"]


def test_a_link_itself_is_moved_and_deleted(change, root, resolver, renaming):
    outside = root.parent / "outside"
    (root / "link").symlink_to(outside)
    assert change.move.call(source="link", destination="moved").ok
    assert names(root) == ["moved"]
    assert os.readlink(root / "moved") == str(outside)
    assert change.delete.call(path="moved", recursive=True).ok
    assert names(root) == []
    assert (outside / "secret.txt").read_text() == "secret"


def test_with_a_slash_behind_it_a_link_is_not_taken_for_its_folder(change, root, resolver):
    (root / "link").symlink_to(root.parent / "outside")
    (root / "inside").mkdir()
    (root / "in").symlink_to("inside")
    for path in ("link/", "link//", "in/"):
        assert change.delete.call(path=path, recursive=True).error_type == "not_a_directory"
        assert change.move.call(source=path, destination="x").error_type == "not_a_directory"
    assert names(root) == ["in", "inside", "link"]


def test_an_existing_file_is_replaced_only_on_request_and_a_folder_never(change, root, tree, resolver, renaming):
    (root / "a").write_text("a")
    (root / "b").write_text("b")
    (root / "link").symlink_to("b")
    refused = change.move.call(source="a", destination="b")
    assert refused.error_type == "conflict"
    assert "overwrite=true" in refused.error
    into = change.move.call(source="a", destination="tree", overwrite=True)
    assert into.error_type == "conflict"
    assert "'tree/a'" in into.error
    assert change.move.call(source="tree", destination="a", overwrite=True).error_type == "conflict"
    assert change.move.call(source="a", destination="a", overwrite=True).error_type == "conflict"
    assert (root / "b").read_text() == "b"
    assert change.move.call(source="a", destination="link", overwrite=True).output["replaced"] is True
    assert not (root / "link").is_symlink()
    assert (root / "b").read_text() == "b"
    assert change.move.call(source="link", destination="b", overwrite=True).ok
    assert (root / "b").read_text() == "a"
    assert names(root) == ["b", "tree"]


def test_a_file_cannot_take_the_name_of_a_missing_folder(change, root, tree, resolver):
    (root / "a").write_text("a")
    refused = change.move.call(source="a", destination="new/")
    assert refused.error_type == "conflict"
    assert "ends with a slash" in refused.error
    assert change.move.call(source="tree", destination="another/").ok
    assert names(root) == ["a", "another"]


def test_two_names_of_one_file_do_not_swallow_each_other(change, root, renaming):
    (root / "a").write_text("a")
    os.link(root / "a", root / "b")
    assert change.move.call(source="a", destination="b", overwrite=True).error_type == "conflict"
    assert names(root) == ["a", "b"]


def test_a_folder_does_not_go_into_itself(change, root, tree, resolver, renaming):
    before = listing(root)
    for goal in ("tree/x", "tree/inner/deep/er/x", "tree/inner/../y"):
        result = change.move.call(source="tree", destination=goal)
        assert result.error_type == "conflict"
        assert "itself" in result.error
        assert set(listing(root)) == set(before)


def test_deleting_a_tree_is_explicit(change, root, tree, resolver):
    refused = change.delete.call(path="tree")
    assert refused.error_type == "conflict"
    assert "2 entries" in refused.error
    assert "recursive=true" in refused.error
    assert names(root) == ["tree"]
    result = change.delete.call(path="tree", recursive=True)
    assert (result.output, result.content) == ({"path": "tree", "entries": 8}, "Deleted 'tree' (entries: 8)")
    (root / "file").write_text("x")
    (root / "empty").mkdir()
    for path in ("file", "empty"):
        assert change.delete.call(path=path).output == {"path": path, "entries": 1}
    assert names(root) == []
    assert (root.parent / "outside" / "secret.txt").read_text() == "secret"


@pytest.mark.parametrize("path", [".", "./", "/", "..", "tree/..", "tree/../..", "../root", "../outside", "out"])
def test_paths_outside_the_root_are_never_changed(change, root, tree, resolver, path):
    (root / "x").write_text("x")
    (root / "out").symlink_to("../outside")
    below = f"{path}/secret.txt" if path in ("../outside", "out") else path
    before = listing(root.parent)
    for result in (
        change.delete.call(path=below, recursive=True),
        change.move.call(source=below, destination="y"),
        change.move.call(source="x", destination=below, overwrite=True),
    ):
        assert result.error_type in ("denied", "conflict"), result
    assert listing(root.parent) == before


@pytest.mark.parametrize(
    "spelled", ["{root}", "{root}/.", "{root}-evil/file", "/etc/passwd", "{root}/../root-evil/file"]
)
def test_siblings_with_similar_names_are_never_changed(change, root, resolver, spelled):
    evil = root.with_name("root-evil")
    evil.mkdir()
    (evil / "file").write_text("evil")
    (root / "x").write_text("x")
    path = spelled.format(root=root)
    for result in (
        change.delete.call(path=path, recursive=True),
        change.move.call(source=path, destination="y"),
        change.move.call(source="x", destination=path, overwrite=True),
        change.make.call(path=path if path != str(root) and not path.endswith("/.") else "../x"),
    ):
        assert result.error_type == "denied", result
    assert (evil / "file").read_text() == "evil"
    assert names(root) == ["x"]


@pytest.mark.parametrize("path", ["missing", "missing/below", "file/below", "loop/below"])
def test_a_missing_source_creates_no_folders(change, root, resolver, path):
    (root / "file").write_text("x")
    (root / "loop").symlink_to("loop")
    before = names(root)
    for result in (
        change.delete.call(path=path),
        change.move.call(source=path, destination="new/folder/x"),
    ):
        assert result.error_type in ("not_found", "not_a_directory")
    assert names(root) == before


def test_a_failure_leaves_no_folders_behind(change, root, tree):
    for goal in ("new/deep/" + "x" * 256, "new/.git/x", "new/../../x"):
        assert not change.move.call(source="tree", destination=goal).ok
        assert not change.make.call(path=goal).ok
    assert names(root) == ["tree"]


PROTECTED = [
    ".git",
    ".git/hooks/x",
    ".GIT/config",
    "sub/.git",
    ".bashrc",
    "sub/.ssh/key",
    ".ask-tools-own",
    "g\u200c/.g\u200cit",
]


@pytest.mark.parametrize("path", PROTECTED)
@pytest.mark.parametrize("exists", [True, False])
def test_protected_sources_and_destinations_are_refused(change, root, path, exists):
    (root / "x").write_text("x")
    if exists:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("protected")
    before = listing(root)
    results = [
        change.make.call(path=path),
        change.move.call(source="x", destination=path, overwrite=True),
    ]
    if exists:
        results += [change.delete.call(path=path), change.move.call(source=path, destination="y")]
    kinds = {"denied", "answer_required"}  # the user may allow some
    assert {result.error_type for result in results} <= {*kinds, "conflict"}, results
    assert all(result.error_type in kinds for result in results[1:])
    assert listing(root) == before


def test_a_folder_with_a_protected_entry_can_be_deleted_but_not_moved(change, root):
    for hidden in ("a/b/.git", "bare/objects", "bare/refs", "bare/HEAD"):
        (root / hidden).mkdir(parents=True)
    for path, kind in (("a", "answer_required"), ("bare", "denied")):
        assert change.move.call(source=path, destination="x").error_type == kind
    assert change.delete.call(path="a/b/.git", recursive=True).error_type == "denied"
    assert names(root) == ["a", "bare"]
    for path in ("a", "bare"):
        assert change.delete.call(path=path, recursive=True).ok


def test_moves_cross_roots_unless_one_is_read_only(tmp_path):
    first, second, fixed = (tmp_path / name for name in ("first", "second", "fixed"))
    for folder in (first, second, fixed):
        folder.mkdir()
        (folder / "f").write_text(folder.name)
    change = tools(first, second, Root(str(fixed), writable=False))
    assert change.move.call(source="f", destination=f"{second}/g").ok
    assert change.move.call(source=f"{fixed}/f", destination="x").error_type == "denied"
    assert change.move.call(source=f"{second}/f", destination=f"{fixed}/x").error_type == "denied"
    assert change.delete.call(path=f"{fixed}/f").error_type == "denied"
    assert change.make.call(path=f"{fixed}/x").error_type == "denied"
    assert (names(first), names(second), names(fixed)) == ([], ["f", "g"], ["f"])
    assert (second / "g").read_text() == "first"


def test_a_root_below_another_root_is_not_moved_or_deleted(root):
    inner = root / "a" / "inner"
    inner.mkdir(parents=True)
    change = tools(root, inner)
    for path in ("a/inner", "a"):
        assert change.delete.call(path=path, recursive=True).error_type == "denied"
        assert change.move.call(source=path, destination="b").error_type == "denied"
    assert inner.is_dir()


@pytest.fixture
def elsewhere():
    """A root on another file system."""
    import tempfile

    memory = "/dev/shm"
    if not os.path.isdir(memory):
        pytest.skip("this system has no second file system at /dev/shm")
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        yield folder


def test_a_move_to_another_file_system_is_refused(root, tree, elsewhere):
    if os.stat(elsewhere).st_dev == os.stat(root).st_dev:
        pytest.skip("this system has no second file system at /dev/shm")
    before = listing(root)
    refused = tools(root, elsewhere).move.call(source="tree", destination=f"{elsewhere}/new/tree")
    assert refused.error_type == "conflict"
    assert "different file systems" in refused.error
    assert listing(root) == before
    assert names(elsewhere) == []


@pytest.mark.parametrize("kind", ["tmpfs", "bind"])
def test_mounts_in_the_workspace_are_never_changed(change, root, kind):
    if os.geteuid() != 0:
        pytest.skip("this user cannot mount a file system")
    place = root / "a folder" / "mount\\x"
    place.mkdir(parents=True)
    how = ["-t", "tmpfs", "none"] if kind == "tmpfs" else ["--bind", root.parent / "outside"]
    mounted = subprocess.run(["mount", *how, place], check=False, capture_output=True)
    if mounted.returncode:
        pytest.skip(f"this machine mounts nothing: {mounted.stderr.decode()}")
    try:
        (place / "kept").write_text("x")
        for path in ("a folder", f"a folder/{place.name}"):
            assert change.delete.call(path=path, recursive=True).error_type == "denied"
            assert change.move.call(source=path, destination="moved").error_type == "denied"
        assert (place / "kept").read_text() == "x"
        assert change.delete.call(path=f"a folder/{place.name}/kept").ok
    finally:
        subprocess.run(["umount", place], check=True)
    assert change.delete.call(path="a folder", recursive=True).ok


def test_trees_over_the_limit_are_refused_first(change, root):
    here = os.open(root, os.O_RDONLY)
    for _ in range(210):
        os.mkdir("d", dir_fd=here)
        inner = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)
    for result in (
        change.delete.call(path="d", recursive=True),
        change.move.call(source="d", destination="e"),
    ):
        assert result.error_type == "limit_exceeded"
    assert names(root) == ["d"]
    assert change.move.call(source="/".join("d" * 150), destination="lower").ok
    assert change.delete.call(path="d", recursive=True).ok
    assert change.delete.call(path="lower", recursive=True).output["entries"] == 61


def test_a_cancelled_call_returns_at_once(root, tree):
    context = Context(workspace=root)
    context.cancel()
    before = listing(root)
    assert not DeletePath().call({"path": "tree", "recursive": True}, context).ok
    assert not MovePath().call({"source": "tree", "destination": "x"}, context).ok
    assert listing(root) == before


def test_a_moved_file_counts_as_read_under_its_new_name(root):
    (root / "f").write_text("x")
    context = Context(workspace=root)
    assert ReadFile().call({"path": "f"}, context).ok
    assert MovePath().call({"source": "f", "destination": "g"}, context).ok
    assert WriteFile().call({"path": "g", "content": "y"}, context).ok
    assert DeletePath().call({"path": "g"}, context).ok


def test_of_many_moves_to_one_place_one_succeeds_and_no_content_is_lost(change, root, renaming):
    for number in range(20):
        (root / str(number)).write_text(str(number))
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda n: change.move.call(source=str(n), destination="goal"), range(20)))
    assert sum(result.ok for result in results) == 1
    assert {result.error_type for result in results if not result.ok} == {"conflict"}
    texts = {(root / name).read_text() for name in names(root)}
    assert texts == {str(number) for number in range(20)}


def test_a_locked_folder_is_not_changed(change, root, tree):
    from fcntl import LOCK_EX, flock

    before = listing(root)
    descriptor = os.open(tree, os.O_RDONLY)
    try:
        flock(descriptor, LOCK_EX)
        for tool, arguments in (
            (change.delete, {"path": "tree/file"}),
            (change.move, {"source": "tree/file", "destination": "x"}),
            (ApplyPatch(root), {"patch": "*** Begin Patch\n*** Delete File: tree/file\n*** End Patch"}),
        ):
            with pytest.raises(ToolError, match="another writer") as refused:
                tool.call(arguments, Context(workspace=root, timeout=0.1, enforced=False)).unwrap()
            assert refused.value.type == "unavailable"
    finally:
        os.close(descriptor)
    assert listing(root) == before


@pytest.mark.slow
def test_a_folder_swapped_for_a_symlink_leads_no_change_outside(change, root, resolver, swapping):
    outside = root.parent / "outside"
    (outside / "deep").mkdir()
    (outside / "deep" / "kept").write_text("kept")
    before = listing(outside)
    (root / "place").mkdir()
    done = {"deleted": 0, "moved": 0, "made": 0}
    with swapping():
        for number in range(400):
            (root / "x").write_text("x")
            done["made"] += change.make.call(path=f"place/deep/{number % 9}").ok
            done["moved"] += change.move.call(source="x", destination="place/secret.txt", overwrite=True).ok
            done["deleted"] += change.delete.call(path="place/deep", recursive=True).ok
    assert listing(outside) == before
    assert all(done.values()), done


CLIMB = """
import os, sys
os.chdir(sys.argv[1])
print("ready", flush=True)
while True:  # move the folder out of the root during its deletion, and put a link there
    try:
        os.rename("tree/inner", "../outside/inner")
        os.symlink("../../outside", "tree/inner")
        os.unlink("tree/inner")
        os.rename("../outside/inner", "tree/inner")
    except OSError:
        try:
            os.rename("../outside/inner", "inner-back")
        except OSError:
            pass
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="as the test above")
def test_deleting_a_tree_that_moves_meanwhile_deletes_no_outside_files(change, root):
    outside = root.parent / "outside"
    with subprocess.Popen([sys.executable, "-c", CLIMB, root], stdout=subprocess.PIPE) as climber:
        climber.stdout.readline()
        try:
            for _ in range(300):
                with suppress(OSError):  # the other process is at work on it, too
                    (root / "tree" / "inner").mkdir(parents=True, exist_ok=True)
                    for number in range(10):
                        (root / "tree" / "inner" / str(number)).touch()
                change.delete.call(path="tree", recursive=True)
                shutil.rmtree(root / "inner-back", ignore_errors=True)
        finally:
            climber.kill()
    assert (outside / "secret.txt").read_text() == "secret"


ONE_CALL = """
import os, sys
from tools_filesystem import MovePath
pid = os.fork()  # strace counts for each process: this one has loaded everything
if pid == 0:
    result = MovePath(sys.argv[1]).call(source="tree/file", destination="other", overwrite=True)
    os._exit(0 if result.ok else 3)
os._exit(0 if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0 else 7)
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
@pytest.mark.parametrize("call", ["renameat", "renameat2", "fsync"])
def test_a_killed_move_is_complete_or_absent(root, tree, call):
    (root / "other").write_text("other")
    for number in range(1, 40):
        copy = root.with_name(f"copy-{number}")
        shutil.copytree(root, copy, symlinks=True)
        command = ["strace", "-f", "-qq", "-o", os.devnull, "-e", f"inject={call}:signal=KILL:when={number}"]
        code = subprocess.run([*command, sys.executable, "-B", "-c", ONE_CALL, copy], check=False).returncode
        contents = {path.read_text() for path in (copy / "other", copy / "tree" / "file") if path.exists()}
        assert contents in ({"file"}, {"file", "other"})
        if code == 0:
            return
    pytest.fail("the call never survived")
