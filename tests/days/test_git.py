"""Days with git: everything that works in the user's terminal works in `bash`, with the user's name on the commits."""

from __future__ import annotations

import os

import pytest

APP = {
    "app.py": "def greet(name):\n    return f'Hello {name}'\n\n\nif __name__ == '__main__':\n    print(greet('you'))\n",
    "README.md": "# App\n\nIt greets.\n\n## Install\n\nCopy `app.py`.\n",
    ".gitignore": "__pycache__/\n*.log\n",
}


def test_a_change_is_committed_on_a_branch_and_pushed(day, level):
    """Clone from a bare repository in the workspace, edit on a branch, commit, and push the branch."""
    day.write({f"seed/{name}": text for name, text in APP.items()})
    day.shell("git init -q --bare server.git && cd seed && git init -q && git add -A && git commit -qm 'Start'")
    day.shell("cd seed && git push -q ../server.git main && rm -rf ../seed")

    day.bash("git clone -q server.git app && cd app && git switch -qc polite")
    day.call("read_file", path="app/app.py")
    day.call("edit_file", path="app/app.py", old_string="f'Hello {name}'", new_string="f'Good morning, {name}'")
    assert "+    return f'Good morning, {name}'" in day.bash("git diff", workdir="app")
    assert day.bash("python3 app.py", workdir="app") == "Good morning, you\n"
    day.bash("git commit -qam 'Greet politely' && git push -q --set-upstream origin polite", workdir="app")

    log = day.shell("git -C server.git log --format='%an <%ae> %s' polite").splitlines()
    assert log == ["Ada Lovelace <ada@example.org> Greet politely", "Ada Lovelace <ada@example.org> Start"]
    assert day.shell("git -C app status --short --branch") == "## polite...origin/polite\n"


def test_a_merge_conflict_is_resolved_in_the_file(day):
    """Merge two branches that changed the same line, and resolve the conflict with edit_file."""
    day.repository(APP)
    day.bash("git switch -qc german && sed -i s/Hello/Hallo/ app.py && git commit -qam 'Speak German'")
    day.bash("git switch -q main && sed -i s/Hello/Bonjour/ app.py && git commit -qam 'Speak French'")
    assert "CONFLICT (content): Merge conflict in app.py" in day.bash("git merge german", exit_code=1)
    matches = day.call("grep", pattern="^(<<<<<<<|=======|>>>>>>>)").content
    assert "app.py" in matches and "german" in matches

    text = day.read("app.py")
    conflict = text[text.index("<<<<<<<") : text.index(">>>>>>> german\n") + len(">>>>>>> german\n")]
    day.call("read_file", path="app.py")
    day.call("edit_file", path="app.py", old_string=conflict, new_string="    return f'Hallo, bonjour {name}'\n")
    day.bash("git commit -qam 'Speak both'")
    parents = day.shell("git log -1 --format=%p:%s").strip()
    assert len(parents.partition(":")[0].split()) == 2 and parents.endswith(":Speak both")
    assert day.bash("python3 app.py") == "Hallo, bonjour you\n"


@pytest.mark.slow
def test_a_branch_is_rebased_and_its_history_cleaned(day):
    """Fix up an older commit, squash it without an editor, and rebase the branch on a main that has moved."""
    day.repository(APP)
    day.bash("git switch -qc feature && echo 'VERSION = 1' > version.py && git add . && git commit -qm 'Add a version'")
    day.bash("echo '# Usage' >> README.md && git commit -qam 'Document usage'")
    day.bash("echo 'VERSION = 2' > version.py && git commit -qa --fixup :/version")
    day.bash("GIT_SEQUENCE_EDITOR=true git rebase -q -i --autosquash main")
    day.bash("git switch -q main && sed -i s/greets/welcomes/ README.md && git commit -qam 'Reword'")
    day.bash("git rebase -q main feature && git commit -q --amend -m 'Document the usage'")
    subjects = day.shell("git log --format=%s feature").splitlines()
    assert subjects == ["Document the usage", "Add a version", "Reword", "Start the project"]
    assert day.shell("git show feature~1:version.py") == "VERSION = 2\n"

    day.bash("sed -i s/welcomes/serves/ README.md && git commit -qam 'Serve'")
    day.bash("git switch -q main && sed -i s/welcomes/helps/ README.md && git commit -qam 'Help'")
    assert "CONFLICT" in day.bash("git rebase feature", exit_code=1)
    day.bash("git checkout -q --theirs README.md && git add README.md && GIT_EDITOR=true git rebase --continue")
    assert "It helps." in day.read("README.md")


@pytest.mark.slow
def test_work_is_stashed_for_an_urgent_fix_in_a_second_worktree(day):
    """Stash unfinished work, repair a release in a second worktree, take the fix over and continue."""
    day.repository(APP)
    day.bash("git tag v1 && sed -i '1i import os' app.py && echo notes > notes.txt")
    day.bash("git stash push -q --include-untracked && git worktree add -q hotfix -b hotfix v1")
    day.call("read_file", path="hotfix/app.py")
    day.call("edit_file", path="hotfix/app.py", old_string="greet('you')", new_string="greet('world')")
    day.bash("git commit -qam 'Greet the world' && git tag v1.0.1", workdir="hotfix")
    day.bash("git cherry-pick v1.0.1 && git worktree remove hotfix && git branch -qD hotfix && git stash pop -q")
    assert day.shell("git worktree list").count("\n") == 1
    assert day.shell("git log -1 --format=%s") == "Greet the world\n"
    assert day.read("app.py").startswith("import os\n") and day.read("app.py").endswith("print(greet('world'))\n")
    day.uncommitted = [" M app.py", "?? notes.txt"]


@pytest.mark.slow
def test_a_repository_is_cloned_into_the_open_folder_and_cleaned(day, level):
    """Clone into the current, empty folder, build something, and remove everything that git does not know."""
    origin = day.home / "origin"
    origin.mkdir()
    day.shell("git init -q && echo 'out/' > .gitignore && echo 1 > main.c", cwd=origin)
    day.shell("git add -A && git commit -qm Start", cwd=origin)
    bundle = day.shell("git bundle create -q - --all | base64", cwd=origin)
    day.bash("b=$(mktemp) && base64 -d > $b && git clone -q $b . && git remote remove origin", stdin=bundle)
    assert day.shell("ls -A").split() == [".git", ".gitignore", "main.c"]
    day.bash("mkdir -p out empty/folder && touch out/main.o notes.txt && find . -type d -empty -delete")
    assert day.bash("ls -A").split() == [".git", ".gitignore", "main.c", "notes.txt", "out"]
    assert day.bash("git clean -fdx").splitlines() == ["Removing notes.txt", "Removing out/"]
    assert day.shell("ls -A").split() == [".git", ".gitignore", "main.c"]


@pytest.mark.slow
def test_a_repository_is_set_up_with_remotes_and_settings(day, level):
    """Start a repository, set options, add and rename remotes and branches, and track a branch of a colleague."""
    day.shell("git init -q --bare one.git && git clone -q one.git seed 2>&1 && cd seed && echo 1 > a && git add a")
    day.shell("cd seed && git commit -qm One && git push -q origin main main:colleague && rm -rf ../seed")
    day.bash("git init -q app && cd app && git config core.autocrlf input && git config pull.ff only")
    day.bash("git remote add upstream ../one.git && git fetch -q upstream", workdir="app")
    day.bash("git checkout -q --track upstream/colleague && git branch -m mine", workdir="app")
    day.bash("git remote rename upstream origin && git config alias.last 'log -1 --format=%s'", workdir="app")
    assert day.bash("git last && git pull -q && git push -q origin mine", workdir="app") == "One\n"
    assert day.shell("git -C app config branch.mine.merge") == "refs/heads/colleague\n"
    assert day.shell("git -C app config pull.ff") == "only\n"
    assert day.shell("git -C one.git branch --format='%(refname:short)'").split() == ["colleague", "main", "mine"]


@pytest.mark.slow
def test_a_regression_is_found_by_bisecting(day):
    """Find the commit that broke a program with git bisect, read its author with blame, and revert it."""
    day.repository({"total.py": "def total(prices):\n    return sum(prices)\n"})
    for number in range(12):
        change = "sed -i s/sum/max/ total.py" if number == 7 else f"echo '# {number}' >> total.py"
        day.shell(f"{change} && git commit -qam 'Change {number}'")
    day.bash("git bisect start HEAD HEAD~12")
    log = day.bash("git bisect run python3 -Bc 'from total import total; assert total([1, 2]) == 3'")
    assert "is the first bad commit" in log and "    Change 7" in log
    day.bash("git bisect reset && git revert --no-edit HEAD~4 && rm -rf __pycache__")
    assert "Ada Lovelace" in day.bash("git blame -L 2,2 total.py")
    assert day.python("from total import total; total([1, 2])") == "3"
    day.bash("rm -rf __pycache__")


@pytest.mark.slow
def test_the_hooks_of_the_project_check_a_commit(day):
    """Commit in a repository with a hook that refuses debug output; the hook cannot be changed."""
    day.repository(APP)
    hook = day.workspace / ".git" / "hooks" / "pre-commit"
    check = "if git diff --cached | grep -q '^+.*breakpoint()'; then echo 'remove breakpoint()'; exit 1; fi"
    hook.write_text(f"#!/bin/sh\n{check}\n")
    hook.chmod(0o755)
    day.bash("echo 'breakpoint()' >> app.py")
    assert day.bash("git commit -qam 'Debug'", exit_code=1) == "remove breakpoint()\n"
    day.bash("sed -i '$d' app.py && echo 'DEBUG = False' >> app.py && git commit -qam 'Switch debugging off'")
    assert day.shell("git log -1 --format=%s") == "Switch debugging off\n"
    assert day.attempt("write_file", path=".git/hooks/pre-commit", content="").error_type == "denied"


@pytest.mark.slow
def test_a_project_with_submodules_is_updated(day):
    """Clone a project with a submodule, commit in the submodule, and record its new commit in the project."""
    local = "git -c protocol.file.allow=always"  # git allows submodules from local folders only on request
    day.shell("git init -q lib && cd lib && echo 'ONE = 1' > lib.py && git add . && git commit -qm Lib")
    day.shell("git init -q origin && cd origin && git config receive.denyCurrentBranch ignore")
    day.shell(f"cd origin && {local} submodule --quiet add ../lib libs/lib && git commit -qm 'Use lib'")
    day.accepted |= {".gitmodules"}
    day.bash(f"{local} clone -q --recurse-submodules origin app")
    day.call("write_file", path="app/libs/lib/two.py", content="TWO = 2\n")
    commit = "git switch -qc two && git add . && git commit -qm 'Add two'"
    day.bash(f"{commit} && git push -q origin two", workdir="app/libs/lib")
    day.bash("git commit -qam 'Use two' && git push -q origin main", workdir="app")
    assert "Submodule libs/lib" in day.shell("git -C origin show --submodule=log")
    assert day.shell("git -C lib show two:two.py") == "TWO = 2\n"
    assert day.bash("git submodule status", workdir="app").split()[1:] == ["libs/lib", "(heads/two)"]


@pytest.mark.slow
def test_one_package_of_a_larger_repository_is_the_workspace(day, tmp_path):
    """Work in a folder of a monorepo: ignore rules from above hold, and a repository inside is separate."""
    top = day.workspace.parent
    (top / ".gitignore").write_text("*.generated\n")
    day.write({"src/main.py": "print('main')\n", "src/table.generated": "print\n"})
    day.shell("git init -q && git add -A && git commit -qm Monorepo", cwd=top)
    assert day.call("grep", pattern="print").content.count("main.py") == 1
    assert "table.generated" not in day.call("glob", pattern="**/*").content
    assert day.bash("python3 src/main.py") == "main\n"
    day.bash("git init -q vendor && cd vendor && echo 1 > a && git add a && git commit -qm Vendor")
    assert day.shell("git -C vendor log --format=%s%n%an") == "Vendor\nAda Lovelace\n"
    assert day.shell("git status --porcelain", cwd=top) == "?? project/vendor/\n"


@pytest.mark.slow
def test_a_series_of_patches_is_reviewed_and_applied(day):
    """Apply the patches of a colleague with git am, change one, and send the series on."""
    day.repository(APP)
    author = "--author='Bob <bob@example.org>'"
    day.shell(f"git switch -qc theirs && echo 'A = 1' >> app.py && git commit -qam 'Add A' {author}")
    day.shell(f"echo 'B = 2' >> app.py && git commit -qam 'Add B' {author} && git format-patch -q -o patches main")
    day.shell("git switch -q main")
    day.bash("git am -q patches/*.patch && sed -i 's/B = 2/B = 3/' app.py")
    day.bash("git commit -qa --amend --reset-author -m 'Add B, corrected'")
    assert day.shell("git log -2 --format='%an %s'") == "Ada Lovelace Add B, corrected\nBob Add A\n"
    day.bash("rm -r patches && out=$(mktemp -d) && git format-patch -q -o $out main~2 && grep '^+B = 3' $out/0002-*")
    stat = day.bash("git diff --stat main~2 && git shortlog -sn HEAD && git describe --always && git reflog | head -3")
    assert "app.py | 2 ++" in stat and "1\tBob" in stat
    day.call("apply_patch", patch=day.shell("git diff main main~1"))
    day.bash("git commit -qam 'Undo B' && git diff --exit-code main~2")


@pytest.mark.slow
def test_a_history_of_300_commits_is_compacted_and_searched(day):
    """Commit 300 times in a loop, compact and verify the repository, and search its history."""
    day.repository({"log.txt": "0\n"})
    day.bash('for n in $(seq 300); do echo $n >> log.txt; git commit -qam "Entry $n"; done', timeout=300)
    day.bash("git gc -q && git fsck --strict", timeout=300)
    assert day.bash("git log -G'^123' --format=%s -- log.txt") == "Entry 123\n"
    assert day.shell("git rev-list --count HEAD") == "301\n"


@pytest.mark.slow
def test_old_clones_and_folders_are_moved_and_deleted(day):
    """Clone two libraries to compare them, rename one, and delete the other with its worktree and its copy."""
    day.shell("git init -q origin && cd origin && echo 1 > a && git add a && git commit -qm Start")
    day.bash("git clone -q origin one && git clone -q origin two && git -C one worktree add -q ../three")
    day.bash("diff one/a two/a && mv two renamed && git -C renamed log --oneline")
    day.bash("cp -r one copy && rm -rf copy/.git && mv copy/a copy/b && rm -r copy")
    day.bash("git -C one worktree remove ../three")
    day.bash("rm -rf one")
    assert sorted(os.listdir(day.workspace)) == ["origin", "renamed"]


def test_a_later_process_deletes_clones_worktrees_and_packages(day):
    """Clone, add a worktree and a package one day, and delete all of it the next day, with other processes."""
    day.repository(APP)
    day.write({"package/.npmrc": "save-exact=true\n", "package/.vscode/settings.json": "{}\n"})
    for command in (
        "git clone -q . app && git -C app worktree add -q ../wt && git worktree add -q hotfix",
        "git -C app worktree remove ../wt && rm -rf app package && git worktree remove hotfix",
        "git clone -q . other",
    ):
        day.ask_tools("call", "--yes", "bash", f"command={command}")
    day.ask_tools("call", "--yes", "delete_path", "path=other", "recursive=true")
    assert sorted(os.listdir(day.workspace)) == [".git", ".gitignore", "README.md", "app.py"]
    assert day.shell("git worktree list").count("\n") == 1


@pytest.mark.slow
def test_a_cloned_project_cannot_add_hooks_or_settings(day, level):
    """Build a project that tries to add hooks, change git's settings and write to the home: refused or named."""
    if level in {"contained", "none"}:
        pytest.skip("this level prevents accidents, not attacks")
    (day.home / ".bashrc").write_text("alias ll='ls -l'\n")
    settings = [day.home / ".bashrc", day.home / ".gitconfig"]
    before = [path.read_text() for path in settings]
    day.repository({"a.txt": "1\n"})
    day.attempt("bash", command="echo 'touch ~/pwned' >> ~/.bashrc; git config --global alias.x '!touch ~/pwned'")
    day.attempt("bash", command="echo 'touch pwned' > .git/hooks/pre-commit; chmod 755 .git/hooks/pre-commit")
    day.attempt("bash", command="git config core.fsmonitor 'touch pwned'")
    assert [path.read_text() for path in settings] == before
    if level == "sandboxed":  # landlock has no read-only files in writable folders
        assert not (day.workspace / ".git/hooks/pre-commit").exists()
        assert "pwned" not in day.read(".git/config")
    created = day.call("bash", command="mkdir .vscode && echo '{}' > .vscode/tasks.json")
    day.accepted |= {".vscode"}
    day.uncommitted = ["?? .vscode/tasks.json"]
    assert ".vscode" in created.content
