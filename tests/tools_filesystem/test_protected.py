"""Places that are run or trusted later are not written, by whatever name or way."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

import tools_core
import tools_filesystem
from tools_core import Context, ToolError
from tools_filesystem import (
    ApplyPatch,
    DeletePath,
    EditFile,
    Grep,
    ListDirectory,
    MakeDirectory,
    MovePath,
    ReadFile,
    Root,
    Workspace,
    WriteFile,
)

SPELLINGS = [".git/hooks/pre-commit", ".GIT/config", ".Git/x", "sub/.git/config", ".git", ".git./config", ".git /x"]
SPELLINGS += [".g\u200cit/config", "\uff0egit/config", ".bashrc", ".BASHRC", "deep/er/.npmrc", ".ssh/authorized_keys"]
SPELLINGS += ["GIT~1/config", "./x/../.git/config", ".gitmodules", ".husky/pre-push", ".vscode/tasks.json"]
SPELLINGS += [".githooks/pre-commit", ".cshrc", ".config/fish/config.fish"]
SPELLINGS += [".zed/tasks.json", ".yarnrc.yml", ".pnpmfile.cjs", ".pre-commit-config.yaml", "lefthook.yml"]
SPELLINGS += [".cargo/config.toml", "a/.Cargo/CONFIG.toml", ".vimrc", ".bash_aliases", ".config/git/config"]
SPELLINGS += [".config/autostart/x.desktop", "home/.config/systemd/user/x.service"]
SPELLINGS += [".claude/settings.json", ".mcp.json", ".gitattributes", ".ask-tools-own/x"]


def everything(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def denied(root, path, **options):
    before, touched = everything(root), root.stat().st_ctime_ns
    workspace = Workspace(root, **options)
    results = [
        WriteFile(workspace).call(path=path, content="x", overwrite=True),
        EditFile(workspace).call(path=path, old_string="a", new_string="b"),
    ]
    assert everything(root) == before
    assert root.stat().st_ctime_ns == touched  # nor was anything made and taken back
    return list(map(outcome, results))


def outcome(result):
    """The type of the error, where a question without an answer counts as denied."""
    return "denied" if result.error_type == "answer_required" else result.error_type


@pytest.mark.parametrize("path", SPELLINGS)
def test_a_missing_protected_file_is_refused(root, path, resolver):
    (root / "x").mkdir()
    write, edit = denied(root, path)
    assert write == "denied" or ".." in path  # what `..` comes after is never made
    assert edit in ("denied", "not_found")


@pytest.mark.parametrize("path", SPELLINGS)
def test_an_existing_protected_file_is_refused(root, path, resolver):
    (root / "x").mkdir()
    file = root / path
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("a")
    assert denied(root, path) == ["denied", "denied"]
    assert file.read_text() == "a"


@pytest.mark.parametrize("path", ["to-folder/config", "to-file", "to-new", "x/up/.git/config", "to-bashrc"])
def test_symlinks_to_protected_files_are_refused(root, path, resolver):
    (root / ".git").mkdir()
    (root / ".git" / "config").write_text("a")
    (root / "x").mkdir()
    (root / "to-folder").symlink_to(".git")
    (root / "to-file").symlink_to(root / ".git" / "config")
    (root / "to-new").symlink_to(".git/hooks/post-checkout")
    (root / "to-bashrc").symlink_to("x/../.bashrc")
    (root / "x" / "up").symlink_to("..")
    assert denied(root, path) == ["denied", "denied"]


@pytest.mark.parametrize("path", ["config", "real/config", "real/hooks/new", "settings.json"])
def test_the_target_of_a_protected_link_is_protected(root, path, resolver):
    (root / "real" / "hooks").mkdir(parents=True)
    (root / "settings.json").write_text("a")
    (root / "config").write_text("a")
    (root / "real" / "config").write_text("a")
    (root / ".git").symlink_to("real")
    (root / ".npmrc").symlink_to("config")
    (root / ".mcp.json").symlink_to(root / "settings.json")
    assert denied(root, path)[0] == "denied"


def test_version_control_is_denied_without_a_question(root):
    for path in ("a/.git/hooks/pre-commit", ".GIT/config", ".hg/hgrc", ".svn/x", "git~1/config"):
        result = WriteFile(Workspace(root)).call({"path": path, "content": "x"}, Context(on_ask=lambda _: "yes"))
        assert result.error_type == "denied"
        assert "Only the user can change it" in result.error
    assert os.listdir(root) == []


def test_changing_other_protected_files_asks_the_user(root):
    (root / ".vscode").mkdir()
    (root / ".vscode" / "tasks.json").write_text("a")
    (root / "x").write_text("a")
    patch = "*** Begin Patch\n*** Add File: .npmrc\n+a\n*** Update File: .vscode/tasks.json\n-a\n+b\n*** End Patch"
    calls = [
        (WriteFile, {"path": "a/.npmrc", "content": "x"}, "'a/.npmrc'"),
        (EditFile, {"path": ".vscode/tasks.json", "old_string": "a", "new_string": "b"}, "'.vscode'"),
        (ApplyPatch, {"patch": patch}, "'.npmrc'"),
        (MovePath, {"source": "x", "destination": ".envrc"}, "'.envrc'"),
        (MovePath, {"source": ".vscode", "destination": "tasks"}, "'.vscode'"),
        (DeletePath, {"path": ".vscode/tasks.json"}, "'.vscode'"),
        (MakeDirectory, {"path": ".husky"}, "'.husky'"),
    ]
    before = everything(root)
    for tool, arguments, place in calls:
        pending = tool(root).call(arguments)
        assert pending.error_type == "answer_required"
        assert f"Change {place}, which is protected?" in pending.error
        assert tool(root).call(arguments, Context(on_ask=lambda _: "no")).error_type == "denied"
        assert everything(root) == before
    result = ApplyPatch(root).call({"patch": patch}, Context(on_ask=lambda _: "yes"))
    assert len(result.metadata["warnings"]) == 2
    assert (root / ".npmrc").read_text() == "a\n"


@pytest.mark.parametrize("marks", [["HEAD", "objects/", "refs/"], ["HEAD", "commondir"]])
@pytest.mark.parametrize("prefix", ["", "store/", "a/b/"])
def test_a_git_directory_is_protected_under_any_name(root, marks, prefix, resolver):
    inside = root / prefix
    inside.mkdir(parents=True, exist_ok=True)
    for mark in marks:
        (inside / mark).mkdir() if mark.endswith("/") else (inside / mark).write_text("a")
    (inside / "config").write_text("a")
    assert denied(root, f"{prefix}config") == ["denied", "denied"]
    assert denied(root, f"{prefix}hooks/deep/post-checkout")[0] == "denied"
    assert denied(root, f"{prefix}HEAD") == ["denied", "denied"]


@pytest.mark.parametrize("last", ["HEAD", "objects", "refs", "objects/x", "refs/heads/x", "head"])
def test_no_repository_is_created_step_by_step(root, last):
    tool = WriteFile(Workspace(root))
    steps = {"config": "store/config", "head": "store/HEAD", "objects": "store/objects/x", "refs": "store/refs/x"}
    missing = last.partition("/")[0].lower()
    for name, path in steps.items():
        assert name == missing or tool.call(path=path, content="x").ok
    assert tool.call(path=f"store/{last}", content="x").error_type == "denied"
    assert tool.call(path="other/HEAD", content="x").ok


def test_a_folder_cannot_get_a_protected_name_below_it(root):
    (root / "x" / "git").mkdir(parents=True)
    assert outcome(MovePath(root).call(source="x", destination=".config")) == "denied"
    assert MovePath(root).call(source="x", destination="y").ok
    (root / "home" / ".config" / "git").mkdir(parents=True)
    assert outcome(MovePath(root).call(source="home", destination="other")) == "denied"


@pytest.mark.parametrize("folder", [".config/ask-tools", ".local/share/ask-tools", ".local/state/ask-tools"])
def test_settings_and_sessions_of_ask_tools_are_out_of_reach(root, monkeypatch, folder):
    for variable in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(root))
    file = f"{folder}/sessions.txt"
    workspace = Workspace(root, protected=())
    assert WriteFile(workspace).call(path=file, content="x").error_type == "denied"
    (root / folder).mkdir(parents=True)
    (root / file).write_text("needle")
    (root / "link").symlink_to(folder)
    patch = f"*** Begin Patch\n*** Update File: {file}\n-needle\n+x\n*** End Patch"
    results = [
        ReadFile(workspace).call(path=file),
        ReadFile(workspace).call(path="link/sessions.txt"),
        ListDirectory(workspace).call(path=folder),
        WriteFile(workspace).call(path=file, content="x", overwrite=True),
        EditFile(workspace).call(path=file, old_string="needle", new_string="x"),
        ApplyPatch(workspace).call(patch=patch),
        MovePath(workspace).call(source=folder.partition("/")[0], destination="moved"),
        DeletePath(workspace).call(path=folder, recursive=True),
        DeletePath(workspace).call(path=folder.partition("/")[0], recursive=True),
        Grep(workspace).call(pattern="needle", path=folder),
    ]
    assert [result.error_type for result in results] == ["denied"] * len(results)
    assert "needle" not in Grep(workspace).call(pattern="needle").content
    assert (root / file).read_text() == "needle"


def test_similar_names_are_not_protected(root):
    tool = WriteFile(Workspace(root))
    for path in (".github/workflows/x.yml", ".gitignore", "git/x", "my.git/x", "bashrc", "x.bashrc"):
        assert tool.call(path=path, content="x").ok


def test_protected_names_can_be_configured(root):
    free = WriteFile(Workspace(root, protected=()))
    assert free.call(path=".git/config", content="x").ok
    assert free.call(path=".ask-tools-own/x", content="x").error_type == "denied"
    other = WriteFile(Workspace(root, protected={"secrets"}))
    assert other.call(path=".git/config", content="y", overwrite=True).ok
    assert outcome(other.call(path="a/Secrets/x", content="x")) == "denied"


def test_names_are_protected_below_every_root(root, tmp_path):
    (tmp_path / ".husky").mkdir()
    tool = WriteFile(Workspace(root, Root(str(tmp_path / ".husky"))))
    assert tool.call(path=str(tmp_path / ".husky" / "x"), content="x").ok
    assert tool.call(path=str(tmp_path / ".husky" / ".git" / "x"), content="x").error_type == "denied"


def test_names_are_protected_below_symlinked_roots(root, tmp_path):
    (tmp_path / "way").symlink_to(root)
    assert WriteFile(Workspace(tmp_path / "way")).call(path=".git/x", content="x").error_type == "denied"
    top = WriteFile(Workspace("/"))
    assert top.call(path=f"{root}/.git/x", content="x").error_type == "denied"
    assert top.call(path=f"{root}/x", content="x").ok
    assert os.listdir(root) == ["x"]


@pytest.mark.skipif(sys.prefix == sys.base_prefix, reason="needs a virtual environment")
def test_the_environment_that_the_host_runs_from_is_protected():
    workspace = Workspace(Path(sys.prefix).parent)
    name = Path(sys.prefix).name
    result = WriteFile(workspace).call(path=f"{name}/ask-tools-test.pth", content="import os")
    assert result.error_type == "denied"
    assert "runs from it" in result.error
    assert DeletePath(workspace).call(path=name, recursive=True).error_type == "denied"


def test_the_standard_library_and_the_packages_of_the_user_are_protected(root):
    library = Path(os.__file__)
    edit = EditFile(library.parent).call(path=library.name, old_string="not a line of it", new_string="")
    assert edit.error_type == "denied"
    code = "import site, sys; from tools_filesystem import WriteFile; path = site.getusersitepackages() + '/new.pth'"
    code += "\nprint(WriteFile(sys.argv[1]).call(path=path, content='').error_type)"
    python = Path(sys.base_prefix, "bin", f"python3.{sys.version_info.minor}")  # environments have no such packages
    paths = os.pathsep.join(str(Path(package.__file__).parents[1]) for package in (tools_core, tools_filesystem))
    done = subprocess.run(
        [python, "-c", code, root], env={"HOME": str(root), "PYTHONPATH": paths}, capture_output=True, check=True
    )
    assert done.stdout == b"denied\n"


def test_the_source_of_a_tool_package_is_protected():
    source = Path(tools_filesystem.__file__).parent
    result = WriteFile(Workspace(source.parent)).call(path=f"{source.name}/new.py", content="")
    assert result.error_type == "denied"


@pytest.mark.parametrize("name", [".devcontainer/x", "ask-tools.lock", "sub/approvals.json", "policy.toml", "mcp.json"])
def test_files_that_control_which_programs_may_run_are_protected(root, name):
    assert outcome(WriteFile(root).call(path=name, content="")) == "denied"


def test_the_innermost_root_decides(root):
    (root / "data").mkdir()
    (root / "data" / "file").write_text("old")
    (root / "link").symlink_to("data")
    inner = Workspace(root, Root(str(root / "data"), writable=False))
    for path in ("data/new", "link/new", "data/deep/new", f"{root}/data/new", "./data/../data/new"):
        assert WriteFile(inner).call(path=path, content="").error_type == "denied", path
    patch = "*** Begin Patch\n*** Update File: data/file\n-old\n+new\n*** End Patch\n"
    assert ApplyPatch(inner).call(patch=patch).error_type == "denied"
    assert WriteFile(inner).call(path="new", content="").ok
    outer = Workspace(Root(str(root), writable=False), root / "data")
    assert WriteFile(outer).call(path="data/new", content="").ok
    assert WriteFile(outer).call(path="other", content="").error_type == "denied"


def test_a_path_of_too_many_new_folders_is_refused_without_creating_any(root):
    path = "/".join(["a"] * 800)
    assert WriteFile(root).call(path=path, content="").error_type == "limit_exceeded"
    patch = f"*** Begin Patch\n*** Add File: {path}\n+x\n*** End Patch\n"
    assert ApplyPatch(root).call(patch=patch).error_type == "limit_exceeded"
    assert os.listdir(root) == []


def test_a_message_does_not_repeat_a_path_of_any_length(root):
    assert len(ReadFile(root).call(path="a/" * 1900 + "x").error) < 1000
    assert len(ReadFile(root).call(path="/" + "a/" * 1900 + "x").error) < 1000


@pytest.mark.slow
def test_two_calls_at_once_do_not_make_a_repository_between_them(root):
    (root / "store").mkdir()
    waiting = Context()
    waiting.cancel()  # does not wait for the lock, which the same thread holds
    moment = calls = happened = 0

    def interfere(_, event, function):
        nonlocal calls, happened
        if event == "c_call" and getattr(function, "__module__", None) == "posix":
            calls += 1
            if calls == moment:
                sys.setprofile(None)
                with suppress(ToolError):
                    WriteFile(root).execute(path="store/commondir", content="../shared", context=waiting)
                    happened += 1

    while True:
        moment, calls = moment + 1, 0
        sys.setprofile(interfere)
        try:
            WriteFile(root).call(path="store/HEAD", content="ref: refs/heads/main")
        finally:
            sys.setprofile(None)
        assert len(os.listdir(root / "store")) == 1
        if calls < moment:
            break
        for name in os.listdir(root / "store"):
            (root / "store" / name).unlink()
    assert happened > 5


@pytest.mark.parametrize("marks", [("HEAD", "objects", "refs"), ("HEAD", "commondir")])
def test_the_inside_of_a_repository_is_deleted_but_not_moved(root, marks):
    (root / "a" / "store").mkdir(parents=True)
    for mark in marks:
        (root / "a" / "store" / mark).write_text("x")
    for path in ("a", "a/store"):
        assert MovePath(root).call(source=path, destination="b").error_type == "denied"
    assert os.listdir(root) == ["a"]
    assert DeletePath(root).call(path="a", recursive=True).ok


@pytest.mark.parametrize("way", ["patch", "move", "make"])
def test_no_tool_completes_a_repository_that_another_one_began(root, way):
    (root / "store").mkdir()
    (root / "store" / "HEAD").write_text("ref: refs/heads/main")
    (root / "plain").write_text("../shared")
    both = "*** Begin Patch\n*** Add File: new/HEAD\n+ref\n*** Add File: new/commondir\n+../shared\n*** End Patch"
    result = {
        "patch": lambda: ApplyPatch(root).call(patch=both),
        "move": lambda: MovePath(root).call(source="plain", destination="store/commondir"),
        "make": lambda: MakeDirectory(root).call(path="store/commondir"),
    }[way]()
    assert result.error_type == "denied"
    assert sorted(os.listdir(root)) == ["plain", "store"]
    assert os.listdir(root / "store") == ["HEAD"]
