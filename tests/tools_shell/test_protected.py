"""Hooks, keys and configuration that runs commands: commands in a sandbox neither change nor create them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from fcntl import LOCK_EX, flock
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
    names = ("hooks", "config", "config.worktree", "commondir")
    return {name: content for name, content in everything(folder).items() if name.partition("/")[0] in names}


def everything(folder):
    """Return all names below a folder, with the content of files."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if "objects" not in path.parts and "logs" not in path.parts:
            is_file = path.is_file() and not path.is_symlink()
            found[str(path.relative_to(folder))] = path.read_bytes() if is_file else None
    return found


ATTACKS = {
    "write a hook": "echo evil > REPO/.git/hooks/pre-commit",
    "change a hook": "echo evil > REPO/.git/hooks/post-commit; chmod +x REPO/.git/hooks/post-commit",
    "remove the hooks": "rm -rf REPO/.git/hooks; mkdir REPO/.git/hooks; echo evil > REPO/.git/hooks/pre-commit",
    "move the hooks": "mv REPO/.git/hooks REPO/.git/old && mkdir REPO/.git/hooks",
    "link the hooks": "mkdir evil; ln -sfn ../../evil REPO/.git/hooks/x; ln -sfn ../../evil REPO/.git/hooks",
    "write the configuration": "echo evil >> REPO/.git/config",
    "replace the configuration": "echo evil > evil; mv -f evil REPO/.git/config",
    "use git": "git -C REPO config core.fsmonitor evil",
    "add a configuration": "echo evil > REPO/.git/config.worktree",
    "lead git elsewhere": "mkdir evil; echo ../evil > REPO/.git/commondir",
    "replace the repository": "mv REPO/.git old; mkdir -p REPO/.git/hooks; echo evil > REPO/.git/hooks/pre-commit",
    "replace its folder": "mv REPO old; mkdir -p REPO/.git/hooks; echo evil > REPO/.git/hooks/pre-commit",
    "write through a hard link": "ln REPO/.git/config linked; echo evil >> linked",
    "unmount": "umount REPO/.git/hooks; echo evil > REPO/.git/hooks/pre-commit",
}


@pytest.mark.parametrize("where", [".", "packages/deep/inner"])
@pytest.mark.parametrize("attack", ATTACKS)
def test_what_git_runs_is_not_changed(root, sandboxed, attack, where):
    repository = make_repository(root / where)
    before = control(repository / ".git")
    result = sandboxed(ATTACKS[attack].replace("REPO", where))
    assert result.metadata["not_isolated"] == [WORD] * (root / "old").exists()  # a copy, where it cannot be moved
    assert control(repository / ".git") == before


def test_git_works_in_a_guarded_repository(root, sandboxed):
    make_repository(root)
    git(root, "config", "user.name", "a")
    git(root, "config", "user.email", "a@b.c")
    script = """
    set -e
    echo two >> file; git commit -qam second; git checkout -qb topic; git status --porcelain
    echo new > new; git stash -qu; git stash pop -q; git clean -fdq; git tag x; git gc -q; git log --format=%s
    """
    result = sandboxed(script)
    assert result.output["output"].endswith("second\nfirst\n"), result
    assert result.output["exit_code"] == 0
    subprocess.run(["git", "fsck", "--strict"], cwd=root, check=True, capture_output=True)


def test_a_submodule_and_a_worktree_are_guarded_where_their_git_directory_is(root, sandboxed, tmp_path):
    library = make_repository(tmp_path / "library")
    make_repository(root / "main")
    git(root / "main", "submodule", "--quiet", "add", library, "lib")
    git(root / "main", "worktree", "add", "-q", root / "tree", "-b", "topic")
    before = everything(root)
    attacks = [
        "echo evil > main/.git/modules/lib/hooks/pre-commit",
        "echo evil >> main/.git/modules/lib/config",
        "echo ../../../../evil > main/.git/modules/lib/commondir",
        "echo evil > main/.git/hooks/pre-commit",
        "echo /evil > main/.git/worktrees/tree/commondir",
        "echo 'gitdir: /evil' > tree/.git",
        "rm -f tree/.git; mkdir tree/.git",
        "echo 'gitdir: /evil' > main/lib/.git",
    ]
    result = sandboxed("; ".join(attacks))
    assert result.metadata["not_isolated"] == []
    assert everything(root) == before
    after = sandboxed(
        "git -C main/lib status --porcelain; git -C tree status --porcelain; git -C main status --porcelain"
    )
    assert after.output["output"] == "A  .gitmodules\nA  lib\n"


def test_the_inside_of_a_bare_repository_is_guarded_whatever_it_is_called(root, sandboxed):
    git(root, "init", "-q", "--bare", "store/remote")
    before = control(root / "store" / "remote")
    sandboxed("echo evil > store/remote/hooks/pre-receive; echo evil >> store/remote/config; mv store/remote other")
    assert control(root / "store" / "remote") == before


@pytest.mark.parametrize(
    "name", [".npmrc", ".gitmodules", ".vscode/tasks.json", "a/b/.envrc", "a/b/.claude/settings.json"]
)
def test_a_protected_place_that_exists_is_not_changed(root, sandboxed, name):
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text("mine")
    top = name.partition("/")[0]
    result = sandboxed(f"echo evil > {name}; rm -rf {top}; mv {top} other; echo evil > {top}/more; mkdir {top}")
    assert result.metadata["not_isolated"] == []
    assert everything(root) == everything(root) | {name: b"mine"}
    assert os.listdir(root) == [top]


@pytest.mark.parametrize("name", [".hg/hgrc", ".vscode/tasks.json", ".claude/settings.json", ".husky/x"])
def test_a_protected_folder_that_does_not_exist_is_not_created(root, sandboxed, name):
    result = sandboxed(f"mkdir -p {os.path.dirname(name)}; echo evil > {name}; ln -s evil {name}; true")
    assert result.metadata["not_isolated"] == []
    assert os.listdir(root) == []


def test_git_init_works_is_reported_and_its_repository_guarded_from_then_on(root, sandboxed):
    result = sandboxed("git init -q . && git status --porcelain")
    assert (result.output["exit_code"], result.output["output"]) == (0, "")
    assert result.metadata["not_isolated"] == [WORD]
    before = everything(root)
    assert sandboxed("echo evil > .git/hooks/pre-commit; echo evil >> .git/config").metadata["not_isolated"] == []
    assert everything(root) == before


APPEARING = {
    "a file": "echo x > .npmrc",
    "a file further down": "mkdir -p a/b; echo x > a/b/policy.toml",
    "a folder further down": "mkdir -p old/.claude",
    "where the time of the folder is set back": "touch -r old time; mkdir old/.vscode; touch -r time old",
    "a folder that looks like a placeholder": "mkdir old/.idea; echo x > old/.idea/x; chmod 1500 old/.idea",
    "a repository further down": "mkdir -p a/.git/hooks; echo x > a/.git/hooks/pre-commit",
    "a file that names a repository": "echo 'gitdir: ../b' > old/.git",
    "a git directory of another name": "mkdir -p a/objects a/refs; echo 'ref: refs/heads/main' > a/HEAD",
    "that of the workspace itself": "mkdir objects refs; echo 'ref: refs/heads/main' > HEAD",
}


@pytest.mark.parametrize("script", APPEARING.values(), ids=APPEARING)
def test_a_protected_place_that_appears_is_reported_and_guarded_from_then_on(root, sandboxed, script):
    (root / "old").mkdir()
    os.utime(root / "old", (1, 1))
    assert sandboxed("true").metadata["not_isolated"] == []
    assert sandboxed(script).metadata["not_isolated"] == [WORD]
    assert sandboxed("true").metadata["not_isolated"] == [WORD] * ("gitdir" in script)  # which names nothing


def test_a_file_that_has_another_name_is_reported(root, sandboxed):
    hooks = make_repository(root) / ".git" / "hooks"
    for name, add in (
        ("config", lambda: os.link(root / ".git/config", root / "other")),
        ("hook", lambda: os.link(hooks / "post-commit", root / "other")),
        ("link", lambda: (hooks / "pre-push").symlink_to("../../file")),
    ):
        assert sandboxed("true").metadata["not_isolated"] == [], name
        add()
        assert sandboxed("true").metadata["not_isolated"] == [WORD], name
        (hooks / "pre-push").unlink(missing_ok=True)
        (root / "other").unlink(missing_ok=True)


def test_a_worktree_outside_of_the_workspace_is_guarded_at_its_git_directory(root, sandboxed, tmp_path):
    make_repository(root)
    git(root, "worktree", "add", "-q", tmp_path / "tree", "-b", "topic")
    before = everything(root)
    sandboxed("cd .git/worktrees/tree; echo /evil > commondir; echo evil > config.worktree")
    assert everything(root) == before


@pytest.mark.parametrize("link", [".git", ".git/hooks", ".claude"])
def test_a_protected_place_that_is_a_link_is_reported(root, sandboxed, link):
    make_repository(root)
    (root / link).parent.mkdir(exist_ok=True)
    if (root / link).exists():
        (root / link).rename(root / "target")
    else:
        (root / "target").mkdir()
    (root / link).symlink_to(root / "target")
    result = sandboxed("echo evil > target/hooks/evil")
    assert WORD in result.metadata["not_isolated"]
    assert not (root / "target/hooks/evil").exists()  # as in every git directory, whatever it is called


def test_the_workspace_is_guarded_in_a_larger_folder_that_is_writable(root, sandboxed):
    make_repository(root / "inner")
    (root / ".npmrc").write_text("mine")
    sandbox = Sandbox(level="bubblewrap", writable=(root.parent,))
    script = "mkdir .vscode ../.idea; echo evil > .npmrc; echo evil > inner/.git/hooks/evil; mv ../root ../other"
    result = Bash(root, sandbox=sandbox).call(command=script)
    assert result.metadata["not_isolated"] == []
    assert sorted(os.listdir(root)) == [".npmrc", "inner"]
    assert (root / ".npmrc").read_text() == "mine"
    assert not (root / "inner" / ".git" / "hooks" / "evil").exists()
    assert os.listdir(root.parent) == ["root"]


def test_a_search_for_repositories_that_stops_early_is_reported(root, sandboxed):
    for number in range(2100):
        (root / str(number)).mkdir()
    assert sandboxed("true").metadata["not_isolated"] == [WORD]


def test_a_developer_can_permit_some_or_all_names(root, sandboxed):
    sandbox = Sandbox(level="bubblewrap", protected=PROTECTED - {".vscode"})
    Bash(root, sandbox=sandbox).call({"command": "mkdir .vscode && echo x > .vscode/tasks.json; mkdir .claude"})
    assert os.listdir(root) == [".vscode"]
    free = Bash(root, sandbox=Sandbox(level="bubblewrap", protected=frozenset()))
    result = free.call(command="git init -q . && echo x > .git/hooks/pre-commit")
    assert result.output["exit_code"] == 0
    assert result.metadata["not_isolated"] == []


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
def test_the_source_of_a_loaded_tool_package_is_not_changed(root, sandboxed, plugin, attack):
    result = sandboxed(OVERWRITE[attack] + "; echo fine > plugin/src/beside")
    assert result.metadata["not_isolated"] == []
    assert everything(plugin.parent) == {"__init__.py": b""}


def test_a_repository_inside_of_the_source_of_a_loaded_tool_package_opens_nothing(root, sandboxed, plugin):
    make_repository(plugin.parent / "vendored")
    sandboxed(f"echo evil > {plugin.parent}/vendored/evil; echo evil > {plugin.parent}/evil")
    assert sorted(os.listdir(plugin.parent)) == ["__init__.py", "vendored"]
    assert sorted(os.listdir(plugin.parent / "vendored")) == [".git", "file"]


def test_a_tool_package_that_is_loaded_later_is_guarded_from_then_on(root, sandboxed, plugin):
    module = sys.modules.pop("tools_of_a_user")
    assert sandboxed(OVERWRITE["add a module"]).output["exit_code"] == 0
    sys.modules["tools_of_a_user"] = module
    assert sandboxed(OVERWRITE["append"]).output["exit_code"] == 1


def test_a_developer_can_open_the_source_of_a_tool_package(root, sandboxed, plugin):
    sandbox = Sandbox(level="bubblewrap", writable=(plugin.parent,))
    assert Bash(root, sandbox=sandbox).call(command=OVERWRITE["append"]).output["exit_code"] == 0


def test_a_level_that_cannot_keep_the_source_of_a_tool_package_says_so(root, level, plugin):
    result = Bash(root, sandbox=level).call(command=OVERWRITE["append"])
    assert (plugin.read_text() == "") is not bool({"own environment", "files"} & {*result.metadata["not_isolated"]})


def test_a_level_that_cannot_keep_protected_files_says_so(root, level):
    if level != "bubblewrap":
        assert WORD in Bash(root, sandbox=level).call(command="true").metadata["not_isolated"]
    free = Bash(root, sandbox=Sandbox(level=level, protected=frozenset()))
    assert WORD not in free.call(command="true").metadata["not_isolated"]


def test_a_refused_change_is_explained(root, sandboxed):
    make_repository(root)
    for script in ("git config a.b c", "echo x > .git/hooks/x", "echo x > /usr/x"):
        assert "[read-only in this sandbox: files outside the workspace" in sandboxed(script).content
    assert "read-only" not in sandboxed("true").content


def test_code_sessions_and_jobs_are_guarded_too(root, sandboxed):
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
    assert sorted(os.listdir(root)) == [".git", "file"]


def test_a_job_stays_guarded_when_another_command_ends_and_the_last_leaves_no_litter(root, sandboxed):
    context = Context(workspace=root)
    command = "read -r line; mkdir -p .vscode/x 2>/dev/null && echo x > .vscode/x/evil; echo done"
    started = JobStart(sandbox="bubblewrap").call({"command": command, "stdin": True}, context)
    assert started.metadata["not_isolated"] == []
    sandboxed("true")
    JobInput().call({"id": started.output["id"], "text": "go\n"}, context)
    read = JobOutput().call({"id": started.output["id"], "until_end": True}, context)
    assert read.output["status"] == "ended", read
    assert everything(root) == {}


def test_a_protected_file_that_a_job_creates_is_reported(root, sandboxed):
    context = Context(workspace=root)
    started = JobStart(sandbox="bubblewrap").call({"command": "read -r line; echo x > .envrc", "stdin": True}, context)
    assert started.metadata["not_isolated"] == []
    JobInput().call({"id": started.output["id"], "text": "go\n"}, context)
    read = JobOutput().call({"id": started.output["id"], "until_end": True}, context)
    assert read.metadata["not_isolated"] == [WORD]


HOST = """
import sys
from tools_shell import JobStart
assert JobStart(sys.argv[1], sandbox="bubblewrap").call(command="sleep 60").ok
print("running", flush=True)
sys.stdin.read()
"""


def test_a_host_that_is_killed_leaves_no_litter(root, sandboxed):
    with subprocess.Popen([sys.executable, "-c", HOST, root], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as host:
        host.stdout.readline()
        placeholder = os.open(root / ".vscode", os.O_RDONLY)
        host.send_signal(signal.SIGKILL)
        flock(placeholder, LOCK_EX)  # which the supervisor has until it has removed it
    os.close(placeholder)
    assert os.listdir(root) == []
