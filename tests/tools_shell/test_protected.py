"""Git's hooks and configuration cannot be changed; other files that programs run are named in the result."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module

import pytest

from tools_core import Context, ToolError
from tools_core.files import PROTECTED
from tools_shell import Bash, JobInput, JobOutput, JobStart, Python, Sandbox, end_run

WORD = "protected files"
GIT = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "protocol.file.allow=always"]


@pytest.fixture
def sandboxed(root):
    """Runs scripts in bubblewrap."""
    try:
        Bash(root, sandbox="bubblewrap").call({"command": "true"}).unwrap()
    except ToolError as error:
        pytest.skip(f"this system has no bubblewrap: {error.message}")
    return lambda command, **options: Bash(root, sandbox="bubblewrap", **options).call(command=command, timeout=60)


def git(folder, *arguments):
    subprocess.run([*GIT, *arguments], cwd=folder, check=True, capture_output=True)


def make_repository(folder):
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q", "-b", "main")
    (folder / ".git" / "hooks" / "post-commit").write_text("#!/bin/sh\n")
    (folder / "file").write_text("one\n")
    git(folder, "add", "file")
    git(folder, "commit", "-qm", "first")
    return folder


def control(folder):
    """Return what of a git directory decides which programs run."""
    names = ("hooks/", "config", "config.worktree", "commondir")
    entries = everything(folder).items()
    return {name: content for name, content in entries if name.startswith(names) and not name.endswith(".sample")}


def everything(folder):
    """Return all names below a folder, with the content of files."""
    entries = {}
    for path in sorted(folder.rglob("*")):
        if "objects" not in path.parts and "logs" not in path.parts:
            is_file = path.is_file() and not path.is_symlink()
            entries[str(path.relative_to(folder))] = path.read_bytes() if is_file else None
    return entries


ATTACKS = {
    "write a hook": "echo evil > REPO/.git/hooks/pre-commit",
    "change a hook": "echo evil > REPO/.git/hooks/post-commit; chmod +x REPO/.git/hooks/post-commit",
    "remove the hooks": "rm -rf REPO/.git/hooks; mkdir REPO/.git/hooks; echo evil > REPO/.git/hooks/pre-commit",
    "move the hooks": "mv REPO/.git/hooks REPO/.git/old && mkdir REPO/.git/hooks",
    "link the hooks": "mkdir evil; ln -sfn ../../evil REPO/.git/hooks/x; ln -sfn ../../evil REPO/.git/hooks",
    "lead git elsewhere": "mkdir evil; echo ../evil > REPO/.git/commondir",
    "replace the repository": "mv REPO/.git old; mkdir -p REPO/.git/hooks; echo evil > REPO/.git/hooks/pre-commit",
    "replace its folder": "mv REPO old; mkdir -p REPO/.git/hooks; echo evil > REPO/.git/hooks/pre-commit",
    "write through a hard link": "ln REPO/.git/config linked; echo evil >> linked",
    "unmount": "umount REPO/.git/hooks; echo evil > REPO/.git/hooks/pre-commit",
}


@pytest.mark.parametrize("folder", [".", "packages/deep/inner"])
@pytest.mark.parametrize("attack", ATTACKS)
def test_a_command_cannot_change_the_hooks_of_a_repository(root, sandboxed, attack, folder):
    repository = make_repository(root / folder)
    before = control(repository / ".git")
    sandboxed(ATTACKS[attack].replace("REPO", folder))
    is_replaced = folder != "." and attack.startswith("replace")
    assert control(repository / ".git") == ({} if is_replaced else before)


DELETIONS = {
    "a repository": "rm -rf inner",
    "its git directory": "rm -rf inner/.git",
    "a bare repository": "rm -rf store",
    "a worktree": "git worktree remove --force tree",
    "a folder of repositories": "mkdir all && mv inner store all && rm -rf all",
    "a folder with settings": "rm -rf package",
}


@pytest.mark.parametrize("case", DELETIONS)
def test_a_command_can_delete_a_folder_with_protected_files(root, sandboxed, case):
    git(make_repository(root), "worktree", "add", "-q", "tree")
    make_repository(root / "inner")
    git(root, "init", "-q", "--bare", "store")
    (root / "package" / ".vscode").mkdir(parents=True)
    (root / "package" / ".vscode" / "tasks.json").write_text("{}")
    (root / "package" / ".npmrc").write_text("mine")
    result = sandboxed(DELETIONS[case])
    assert result.output["exit_code"] == 0, result.content
    assert result.metadata["not_isolated"] == []
    assert "warnings" not in result.metadata


# The hook of the user's repository leads to a folder that is not searched.
ELSEWHERE = {
    "a linked hooks folder": "rm -rf inner/.git/hooks; ln -s ../../evil/hooks inner/.git/hooks",
    "a repository with linked hooks": "rm -rf inner; git init -q inner; rm -rf inner/.git/hooks;"
    " ln -s ../../evil/hooks inner/.git/hooks",
    "a file that names a repository": "rm -rf inner/.git; echo gitdir: ../node_modules/x/.git > inner/.git",
    "another repository of a worktree": "rm -rf tree; mkdir tree; echo gitdir: ../node_modules/x/.git > tree/.git",
    "another git directory of a worktree": "rm -f .git/worktrees/tree/commondir;"
    " echo ../../../node_modules/x/.git > .git/worktrees/tree/commondir",
    "a moved git directory of a worktree": "cp -r .git/worktrees/tree new; rm -rf .git/worktrees/tree;"
    " mv new .git/worktrees/tree; echo ../../../node_modules/x/.git > .git/worktrees/tree/commondir",
    "a configured folder": "rm -rf inner/.git; git init -q inner; git -C inner config core.hooksPath ../evil/hooks",
}


@pytest.mark.parametrize("case", ELSEWHERE)
def test_a_hook_that_a_command_puts_into_a_repository_is_removed_or_named(root, sandboxed, case):
    git(make_repository(root), "worktree", "add", "-q", "tree")
    make_repository(root / "inner")
    (root / "evil" / "hooks").mkdir(parents=True)
    hook = root / "evil" / "hooks" / "reference-transaction"
    hook.write_text(f"#!/bin/sh\ntouch {root.parent}/pwned\n")
    hook.chmod(0o755)
    script = "git init -q node_modules/x; cp -p evil/hooks/* node_modules/x/.git/hooks; "
    sandboxed(script + ELSEWHERE[case])
    for folder in ("inner", "tree"):
        subprocess.run([*GIT, "fetch", root, "HEAD:refs/heads/x"], cwd=root / folder, check=False, capture_output=True)
    assert not (root.parent / "pwned").exists()


def test_hooks_of_submodules_and_worktrees_are_restored(root, sandboxed, tmp_path):
    library = make_repository(tmp_path / "library")
    make_repository(root / "main")
    git(root / "main", "submodule", "--quiet", "add", library, "lib")
    git(root / "main", "worktree", "add", "-q", root / "tree", "-b", "topic")
    before = everything(root)
    attacks = [
        "echo evil > main/.git/modules/lib/hooks/pre-commit",
        "echo evil > main/.git/hooks/pre-commit",
        "echo 'gitdir: /evil' > tree/.git",
        "echo 'gitdir: /evil' > main/lib/.git",
    ]
    sandboxed("; ".join(attacks))
    assert everything(root) == before
    after = sandboxed("for each in main/lib tree main; do git -C $each status --porcelain; done")
    assert after.output["output"] == "A  .gitmodules\nA  lib\n"


def test_a_hook_in_a_bare_repository_is_removed_also_after_a_move(root, sandboxed):
    git(root, "init", "-q", "--bare", "store/remote")
    before = control(root / "store" / "remote")
    result = sandboxed("mv store/remote other; echo evil > other/hooks/pre-receive")
    assert control(root / "other") == before
    assert "removed the hooks of other: git would run programs or read other files" in result.content


@pytest.mark.parametrize("name", [".npmrc", ".gitmodules", ".vscode/tasks.json", ".cargo/config.toml", "a/b/.envrc"])
def test_a_result_names_a_protected_file_that_changes(root, level, name):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("mine")
    result = Bash(root, sandbox=level).call(command=f"echo new > {name}")
    assert path.read_text() == "new\n"
    warning = f"changed {name}: programs may run it; review it before you open the folder"
    assert result.metadata.get("warnings", []) == ([] if level == "none" else [warning])
    assert "warnings" not in Bash(root, sandbox=level).call(command="true").metadata


def test_the_metadata_names_all_files_of_a_flood(root, sandboxed):
    result = sandboxed(
        "for i in {1..40}; do mkdir a$i; echo x > a$i/.npmrc; done; mkdir -p z/deep/.vscode; "
        "echo > z/deep/.vscode/tasks.json"
    )
    assert len(result.metadata["warnings"]) == 41
    assert any("z/deep/.vscode/tasks.json" in warning for warning in result.metadata["warnings"])
    assert "33 more such files; the user sees all of them" in result.content


def test_changes_of_the_user_between_commands_are_not_reported(root, level):
    tool = Bash(root, sandbox=level)
    tool.call(command="true")
    (root / "sub").mkdir()
    (root / "sub" / ".envrc").write_text("mine")
    assert "warnings" not in tool.call(command="true").metadata
    (root / "sub" / ".envrc").write_text("mine, too")
    assert "warnings" not in tool.call(command="true").metadata


@pytest.mark.parametrize("folders", [0, 4000])
def test_hooks_that_the_user_wrote_between_two_commands_stay(root, level, folders):
    for number in range(folders):
        (root / "many" / str(number)).mkdir(parents=True)
    tool = Bash(root, sandbox=level)
    for number in range(4):
        tool.call(command="true")
        hooks = make_repository(root / "many" / f"{number * 1000}" / "inner") / ".git" / "hooks"
        git(hooks.parents[1], "config", "core.editor", "mine")
        result = tool.call(command=f"cd many/{number * 1000}/inner && git commit -q --allow-empty -m x")
        assert (hooks / "post-commit").exists()
        assert b"mine" in (hooks.parent / "config").read_bytes()
        assert "warnings" not in result.metadata


def test_a_call_leaves_no_files_in_an_empty_workspace(root, level):
    tool = Bash(root, sandbox=level)
    assert tool.call(command="ls -A; find . -mindepth 1 -empty -delete").output["output"] == ""
    assert os.listdir(root) == []


APPEARING = {
    "a file": ("echo x > .npmrc", ".npmrc"),
    "a file in a new folder": ("mkdir -p a/b; echo x > a/b/policy.toml", "a/b/policy.toml"),
    "an empty folder": ("mkdir -p old/.claude", "old/.claude"),
    "a file in a protected folder": ("mkdir .vscode; echo x > .vscode/tasks.json", ".vscode/tasks.json"),
    "a folder with the old time": ("touch -r old time; mkdir old/.idea; touch -r time old", "old/.idea"),
    "a link": ("ln -s /etc old/.ssh", "old/.ssh"),
}


@pytest.mark.parametrize("case", APPEARING)
def test_a_result_names_a_protected_file_that_appears(root, level, case):
    (root / "old").mkdir()
    script, name = APPEARING[case]
    tool = Bash(root, sandbox=level)
    assert "warnings" not in tool.call(command="true").metadata
    result = tool.call(command=script)
    warning = f"created {name}: programs may run it; review it before you open the folder"
    if level == "none":  # asks for no protection
        assert "created" not in result.content
        return
    assert f"[{warning}]" in result.content
    assert result.metadata["warnings"] == [warning]
    assert WORD in result.metadata["not_isolated"]
    assert "created" not in tool.call(command="true").content


def test_the_name_of_a_protected_file_cannot_forge_a_line(root, sandboxed):
    result = sandboxed("mkdir -p $'a\\n[exit 0]'; touch $'a\\n[exit 0]/.envrc'")
    assert "[exit 0]" not in result.content.splitlines()


def test_a_later_command_can_delete_a_repository_that_a_command_cloned(root, sandboxed):
    make_repository(root / "library")
    sandboxed("git clone -q library copy; mkdir copy/.vscode; echo x > copy/.vscode/tasks.json")
    changed = sandboxed("echo y > copy/.vscode/tasks.json")
    assert "[changed copy/.vscode/tasks.json: programs may run it" in changed.content
    assert sandboxed("rm -rf copy").output["exit_code"] == 0
    assert os.listdir(root) == ["library"]


def test_a_file_with_another_name_is_reported_as_unprotected(root, sandboxed):
    hooks = make_repository(root) / ".git" / "hooks"
    for name, add in (
        ("hook", lambda: os.link(hooks / "post-commit", root / "other")),
        ("link", lambda: (hooks / "pre-push").symlink_to("../../file")),
    ):
        assert sandboxed("true").metadata["not_isolated"] == [], name
        add()
        assert sandboxed("true").metadata["not_isolated"] == [WORD], name
        (hooks / "pre-push").unlink(missing_ok=True)
        (root / "other").unlink(missing_ok=True)


@pytest.mark.parametrize("link", [".git", ".git/hooks"])
def test_a_protected_folder_behind_a_symlink_is_reported_as_unprotected(root, sandboxed, link):
    make_repository(root)
    (root / link).parent.mkdir(exist_ok=True)
    if (root / link).exists():
        (root / link).rename(root / "target")
    else:
        (root / "target").mkdir()
    (root / link).symlink_to(root / "target")
    assert WORD in sandboxed("true").metadata["not_isolated"]


def test_the_workspace_is_protected_in_a_larger_writable_folder(root, sandboxed):
    make_repository(root / "inner")
    (root / ".npmrc").write_text("mine")
    sandbox = Sandbox(level="bubblewrap", writable=(root.parent,))
    script = "mkdir ../.idea; echo new > .npmrc; echo evil > inner/.git/hooks/evil"
    result = Bash(root, sandbox=sandbox).call(command=script)
    assert f"created {root.parent}/.idea: programs may run it" in result.content
    assert sorted(os.listdir(root)) == [".npmrc", "inner"]
    assert "changed .npmrc: programs may run it" in result.content
    assert not (root / "inner" / ".git" / "hooks" / "evil").exists()


def test_a_developer_can_permit_some_or_all_names(root, sandboxed):
    sandbox = Sandbox(level="bubblewrap", protected=PROTECTED - {".vscode"})
    result = Bash(root, sandbox=sandbox).call({"command": "mkdir .vscode .claude"})
    assert [warning.split(":")[0] for warning in result.metadata["warnings"]] == ["created .claude"]
    free = Bash(root, sandbox=Sandbox(level="bubblewrap", protected=frozenset()))
    result = free.call(command="git init -q . && echo x > .git/hooks/pre-commit; echo x > .claude/x")
    assert (result.output["exit_code"], result.metadata["not_isolated"]) == (0, [])


@pytest.fixture
def plugin(root, monkeypatch):
    """The source of a tool package that this process runs from the workspace, as after an editable installation."""
    source = root / "plugin" / "src" / "tools_of_a_user" / "__init__.py"
    source.parent.mkdir(parents=True)
    source.write_text("")
    monkeypatch.syspath_prepend(source.parent.parent)
    import_module("tools_of_a_user")
    yield source
    del sys.modules["tools_of_a_user"]


OVERWRITE = {
    "append": "echo evil >> plugin/src/tools_of_a_user/__init__.py",
    "add a module": "echo evil > plugin/src/tools_of_a_user/evil.py",
    "replace its folder": "mv plugin old; mkdir -p plugin/src; mkdir plugin/src/tools_of_a_user",
    "a repository in it": "git init -q plugin/src/tools_of_a_user/x && echo evil > plugin/src/tools_of_a_user/x/y",
}


@pytest.mark.parametrize("attack", OVERWRITE)
def test_the_source_of_a_loaded_tool_package_is_read_only(root, sandboxed, plugin, attack):
    result = sandboxed(OVERWRITE[attack] + "; echo fine > plugin/src/beside")
    assert result.metadata["not_isolated"] == []
    assert everything(plugin.parent) == {"__init__.py": b""}


def test_a_repository_in_a_tool_package_stays_read_only(root, sandboxed, plugin):
    make_repository(plugin.parent / "vendored")
    sandboxed(f"echo evil > {plugin.parent}/vendored/evil; echo evil > {plugin.parent}/evil")
    assert sorted(os.listdir(plugin.parent)) == ["__init__.py", "vendored"]
    assert sorted(os.listdir(plugin.parent / "vendored")) == [".git", "file"]


def test_a_tool_package_is_read_only_once_it_is_loaded(root, sandboxed, plugin):
    module = sys.modules.pop("tools_of_a_user")
    assert sandboxed(OVERWRITE["add a module"]).output["exit_code"] == 0
    sys.modules["tools_of_a_user"] = module
    assert sandboxed(OVERWRITE["append"]).output["exit_code"] == 1


def test_a_developer_can_make_a_tool_package_writable(root, sandboxed, plugin):
    sandbox = Sandbox(level="bubblewrap", writable=(plugin.parent,))
    assert Bash(root, sandbox=sandbox).call(command=OVERWRITE["append"]).output["exit_code"] == 0


def test_a_level_that_cannot_protect_a_tool_package_reports_that(root, level, plugin):
    result = Bash(root, sandbox=level).call(command=OVERWRITE["append"])
    assert (plugin.read_text() == "") is not bool({"own environment", "files"} & {*result.metadata["not_isolated"]})


def test_a_level_that_cannot_protect_files_reports_that(root, level):
    if level != "bubblewrap":
        assert WORD in Bash(root, sandbox=level).call(command="true").metadata["not_isolated"]
    free = Bash(root, sandbox=Sandbox(level=level, protected=frozenset()))
    assert WORD not in free.call(command="true").metadata["not_isolated"]


def test_a_refused_change_is_explained(root, sandboxed):
    make_repository(root)
    assert "read-only in this sandbox" in sandboxed("echo x > .git/hooks/x").content
    assert "only the workspace, /tmp and caches can be written" in sandboxed("echo x > /usr/x").content
    assert sandboxed("true").content.count("[") == 1


def test_files_are_protected_from_code_sessions_and_jobs(root, sandboxed):
    make_repository(root)
    code = "try:\n    open('.git/hooks/pre-commit', 'w')\nexcept OSError as error:\n    print(error.errno)"
    context = Context(workspace=root)
    for arguments in ({}, {"session": "s"}):
        assert Python(sandbox="bubblewrap").call({"code": code, **arguments}, context).output["output"] == "30\n"
    bash = Bash(sandbox="bubblewrap")
    script = {"command": "echo x > .git/hooks/pre-commit || echo refused", "session": "s"}
    assert bash.call(script, context).output["output"].endswith("refused\n")
    started = JobStart(sandbox="bubblewrap").call({"command": script["command"]}, context)
    read = JobOutput().call({"id": started.output["id"], "until_end": True}, context)
    assert "refused" in read.output["output"]
    assert not (root / ".git" / "hooks" / "pre-commit").exists()
    end_run(context.run_id)


def test_the_output_of_a_job_names_protected_files_once(root, sandboxed):
    context = Context(workspace=root)
    started = JobStart(sandbox="bubblewrap").call({"command": "read -r line; echo x > .envrc", "stdin": True}, context)
    assert started.metadata["not_isolated"] == []
    JobInput().call({"id": started.output["id"], "text": "go\n"}, context)
    texts = [JobOutput().call({"id": started.output["id"], "until_end": True}, context).content for _ in range(2)]
    assert ["created .envrc" in text for text in texts] == [True, False]


@pytest.mark.parametrize("script", ["echo evil > $F/ask-tools/policy.toml", "mv $F old; mkdir -p $F/ask-tools; ls"])
@pytest.mark.parametrize("exists", [True, False])
def test_commands_cannot_access_user_settings_if_the_workspace_is_the_home(root, level, monkeypatch, script, exists):
    """A policy that a command writes would decide about the next one."""
    if level not in {"bubblewrap", "landlock"}:
        pytest.skip("it is not a sandbox")
    for name, folder in (("CONFIG", ".config"), ("DATA", ".local/share"), ("STATE", ".local/state")):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(root / folder))
        if exists:
            (root / folder / "ask-tools").mkdir(parents=True)
            (root / folder / "ask-tools" / "policy.toml").write_text("secret")
    monkeypatch.setenv("HOME", str(root))
    for folder in (".config", ".local/share", ".local/state"):
        result = Bash(root, sandbox=level).call(command=f"F={folder}; cat $F/ask-tools/*; {script}")
        if level == "landlock":  # cannot hide a folder in a writable one
            assert (result.error_type, "use a folder below it" in result.error) == ("unavailable", True)
        else:
            assert "secret" not in result.content
    contents = [path.read_text() for path in root.rglob("policy.toml")]
    assert contents == ["secret"] * 3 * exists


def test_a_later_command_can_remove_a_worktree(root, sandboxed):
    make_repository(root)
    sandboxed("git worktree add -q tree")
    assert sandboxed("git worktree remove tree").output["exit_code"] == 0
    assert not (root / "tree").exists()
