"""Git in a sandbox: everyday work succeeds, and no command leaves configuration that makes git run programs."""

from __future__ import annotations

import os
import subprocess

import pytest

from tools_core import Context, ToolError
from tools_shell import Bash, JobOutput, JobStart, Python

ENVIRONMENT = {**os.environ, "GIT_CONFIG_NOSYSTEM": "1"}


@pytest.fixture
def home(tmp_path, monkeypatch):
    """The user's home, with git settings: an identity, a harmless one, and one that holds a secret."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("GIT_CONFIG_GLOBAL", raising=False)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    for setting in (
        ("user.name", "Ann"),
        ("user.email", "ann@example.com"),
        ("init.defaultBranch", "trunk"),
        ("core.editor", "evil"),
        ("url.https://token@example.com/.insteadOf", "https://example.com/"),
    ):
        git(folder, "config", "--global", *setting)
    return folder


@pytest.fixture
def bash(root, home, level):
    if level == "none":
        pytest.skip("it protects nothing")
    return Bash(root, sandbox=level)


def git(folder, *arguments):
    done = subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True, env=os.environ)
    return done.stdout


def make_repository(folder):
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q")
    (folder / "file").write_text("one\n")
    git(folder, "add", "file")
    git(folder, "commit", "-qm", "first")
    return folder


DAY = """
echo two >> file; git commit -qam second
git checkout -qb topic; echo three >> file; git commit -qam third
git checkout -q trunk; echo a > other; git add other; git commit -qm fourth
git checkout -q topic; git rebase -q trunk
echo x > new; git stash -qu; git stash pop -q; git clean -fdxq
git config section.key value; git remote add origin .; git branch -m renamed
git fetch -q; git checkout -q --track origin/trunk -b tracking
git worktree add -q tree -b other; git worktree remove tree
git clone -q . copy; rm -rf copy; git gc -q; git tag v1
git status --porcelain; git log --format='%s %an' renamed
"""


def test_everyday_work_succeeds_with_the_identity_of_the_user(root, bash):
    make_repository(root)
    for line in DAY.strip().splitlines():
        result = bash.call(command=line)
        assert result.output["exit_code"] == 0, result.content
        assert "warnings" not in result.metadata
    expected = [f"{subject} Ann" for subject in ("third", "fourth", "second", "first")]
    assert result.output["output"].splitlines()[-4:] == expected
    git(root, "fsck", "--strict")


def test_a_repository_can_be_cloned_into_the_workspace(root, bash, home):
    library = make_repository(root / "library")
    (root / "work").mkdir()
    os.rename(library, root / "work" / ".library")
    result = bash.call(command="cd work && git clone -q .library/.git copy && cd copy && git clone -q . ../again")
    assert result.output["exit_code"] == 0, result
    assert bash.call(command="rm -rf work/copy work/again; ls work").output["output"] == ""


def test_only_safe_settings_of_the_user_reach_a_sandbox(root, bash, level):
    if level == "contained":
        pytest.skip("it does not hide the home of the user")
    settings = bash.call(command="git config --global --list").output["output"].splitlines()
    assert settings == ["user.name=Ann", "user.email=ann@example.com", "init.defaultbranch=trunk"]


def test_an_identity_of_the_repository_wins(root, bash):
    git(make_repository(root), "config", "user.name", "Bob")
    assert bash.call(command="git commit -q --allow-empty -m x; git log -1 --format=%an").output["output"] == "Bob\n"


UNSAFE = [
    "core.fsmonitor evil",
    "core.hooksPath evil",
    "core.sshCommand evil",
    "core.worktree /",
    "alias.status !evil",
    "alias.st '-c core.pager=evil log'",
    "filter.x.clean evil",
    "diff.x.textconv evil",
    "merge.x.driver evil",
    "credential.helper evil",
    "include.path /etc/passwd",
    "includeIf.gitdir:/.path x",
    "pager.log evil",
    "gpg.program evil",
    "remote.origin.uploadpack evil",
    "remote.origin.url ext::evil",
    "branch.trunk.remote ext::evil",
    "submodule.x.update !evil",
    "url.evil.insteadOf https://",
    "sequence.editor evil",
    "rebase.instructionFormat x%nexec",
    "commit.template /etc/passwd",
]


@pytest.mark.parametrize("setting", UNSAFE)
def test_a_command_cannot_set_an_unsafe_key(root, bash, setting):
    config = make_repository(root) / ".git" / "config"
    before = config.read_bytes()
    result = bash.call(command=f"git config {setting}; echo went on")
    assert config.read_bytes() == before
    assert result.output["output"].endswith("went on\n")
    key = setting.split()[0]
    assert "could not write config file" in result.content or key.partition(".")[0].lower() in result.content.lower()


SAFE = ["user.name x", "core.autocrlf input", "pull.rebase true", "alias.co checkout", "core.fsmonitor false", "a.b c"]


@pytest.mark.parametrize("setting", SAFE)
def test_a_command_can_set_a_safe_key(root, bash, setting):
    make_repository(root)
    assert bash.call(command=f"git config {setting}").output["exit_code"] == 0
    name, _, value = setting.partition(" ")
    assert git(root, "config", "--local", name) == f"{value}\n"


ATTACKS = {
    "write": "printf '[core]\\n pager = evil\\n' >> .git/config",
    "replace": "printf '[core]\\n pager = evil\\n' > new; mv -f new .git/config",
    "link": "printf '[core]\\n pager = evil\\n' > new; ln -sf ../new .git/config",
    "a FIFO": "rm .git/config; mkfifo .git/config",
    "a folder": "rm .git/config; mkdir .git/config",
    "remove": "rm .git/config",
    "a hard link": "ln .git/config other; printf '[core]\\n pager = evil\\n' >> other",
    "no git syntax": "echo '[' >> .git/config",
    "another file": "git config extensions.worktreeConfig true; git config --worktree core.pager evil",
    "another repository": "mkdir evil; echo ../evil > .git/commondir",
    "a process in the background": "(sleep 0.3; git config core.pager evil) & sleep 1",
    "a separate session": "setsid sh -c 'git config core.pager evil' & sleep 1",
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_on_the_configuration_leaves_no_unsafe_key(root, bash, attack):
    make_repository(root)
    bash.call(command=ATTACKS[attack], timeout=50)
    assert git(root, "config", "--default", "", "core.pager").strip() == ""
    assert git(root, "log", "--format=%s") == "first\n"
    assert not (root / ".git" / "commondir").exists()


def test_unsafe_keys_that_the_user_has_set_stay(root, bash):
    make_repository(root)
    git(root, "config", "core.pager", "less")
    assert bash.call(command="git config section.key value").output["exit_code"] == 0
    assert git(root, "config", "core.pager") == "less\n"


def test_a_new_repository_loses_its_unsafe_keys(root, bash):
    script = "git init -q sub; git -C sub config core.fsmonitor evil; git -C sub config user.name x"
    result = bash.call(command=script)
    assert "[removed core.fsmonitor from sub/.git/config: git would run programs or read other files]" in result.content
    assert git(root / "sub", "config", "user.name") == "x\n"
    assert git(root / "sub", "config", "--default", "", "core.fsmonitor").strip() == ""


NESTED = {
    "a bare repository": "git init -q --bare x; git -C x config core.fsmonitor evil",
    "a file that names one": "git init -q --bare node_modules/x; git -C node_modules/x config core.fsmonitor evil;"
    " mkdir sub; echo gitdir: ../node_modules/x > sub/.git",
    "a link to a configuration": "git init -q x; git config -f y core.fsmonitor evil; ln -sf ../../y x/.git/config",
    "one that replaces another": "mv old/.git older; git init -q old; git -C old config core.fsmonitor evil",
}


@pytest.mark.parametrize("case", NESTED)
def test_no_new_repository_keeps_an_unsafe_key(root, bash, case):
    make_repository(root / "old")
    bash.call(command=NESTED[case])
    configs = [path for path in root.rglob("config") if path.is_file() and not path.is_symlink()]
    assert len(configs) > 1
    assert [path for path in configs if "fsmonitor" in path.read_text()] == []


def test_submodules_can_be_added(root, bash, home):
    make_repository(root / "library")
    make_repository(root / "main")
    script = "cd main && git -c protocol.file.allow=always submodule --quiet add ../library lib && git status --short"
    result = bash.call(command=script)
    assert result.output["output"].splitlines() == ["A  .gitmodules", "A  lib"]
    assert git(root / "main", "submodule", "status").split()[1] == "lib"


def test_configuration_is_restored_after_code_and_jobs(root, level, home):
    if level == "none":
        pytest.skip("it protects nothing")
    config = make_repository(root) / ".git" / "config"
    before, context = config.read_bytes(), Context(workspace=root)
    code = "open('.git/config', 'a').write('[core]\\n pager = evil\\n')"
    for arguments in ({}, {"session": "s"}):
        Python(sandbox=level).call({"code": code, **arguments}, context)
        assert config.read_bytes() == before
    started = JobStart(sandbox=level).call({"command": "printf '[core]\\n pager = evil\\n' >> .git/config"}, context)
    JobOutput().call({"id": started.output["id"], "until_end": True, "wait": 50}, context)
    assert config.read_bytes() == before


@pytest.fixture
def sandboxed(root, home):
    """Runs scripts in bubblewrap, in a repository of the user."""
    try:
        Bash(root, sandbox="bubblewrap").call({"command": "true"}).unwrap()
    except ToolError as error:
        pytest.skip(f"this system has no bubblewrap: {error.message}")
    make_repository(root)
    return lambda command: Bash(root, sandbox="bubblewrap").call(command=command)


CONFIGURES = {
    "a remote": "git remote add origin ../elsewhere",
    "after a commit": "git commit -q --allow-empty -m x && git config user.name Bob && git status --short",
    "a new name of a branch": "git branch -m renamed",
    "in another folder": "cd . && git -C . config pull.rebase true",
}


@pytest.mark.parametrize("case", CONFIGURES)
def test_a_script_of_git_commands_alone_can_change_the_configuration(sandboxed, case):
    assert sandboxed(CONFIGURES[case]).output["exit_code"] == 0


WITH_CODE = {
    "another program": "git config user.name Bob; touch x",
    "an alias": "git -c alias.x='!touch x' x; git config user.name Bob",
    "a program for a rebase": "git config user.name Bob && git rebase -x 'touch x' HEAD",
    "a file": "git diff --output=.git/config; git config user.name Bob",
    "a redirection": "git log > .git/config; git config user.name Bob",
    "a function": "git() { touch x; }; git config user.name Bob",
    "code in submodules": "git config user.name Bob && git submodule foreach true",
    "an expansion": "git config user.name $(whoami)",
}


@pytest.mark.parametrize("case", WITH_CODE)
def test_a_script_with_other_code_cannot_change_the_configuration(root, sandboxed, case):
    before = (root / ".git" / "config").read_bytes()
    sandboxed(WITH_CODE[case])
    assert (root / ".git" / "config").read_bytes() == before


def test_a_push_to_a_repository_with_a_hook_does_not_open_the_configuration(root, sandboxed):
    git(root, "init", "-q", "--bare", "up")
    hook = root / "up" / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\necho '[core]' >> ../.git/config\n")
    hook.chmod(0o755)
    git(root, "remote", "add", "origin", "up")
    before = (root / ".git" / "config").read_bytes()
    result = sandboxed("git push -u origin HEAD")
    assert "Read-only file system" in result.content or "could not write config file" in result.content
    assert (root / ".git" / "config").read_bytes() == before
