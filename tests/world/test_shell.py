"""Commands at default settings: files outside, git, toolchains, hooks, output."""

from __future__ import annotations

import os
import subprocess
import sys
from os.path import exists

import pytest

from tools_agent import Agent, ScriptedProvider
from tools_core import ToolCall, ToolError
from tools_shell import Bash


@pytest.fixture(autouse=True)
def sandboxed(workspace):
    """Skips the test if this system has no bubblewrap."""
    try:
        Bash(workspace, sandbox="bubblewrap").diagnose()
    except ToolError as error:
        pytest.skip(f"this system has no bubblewrap: {error.message}")


@pytest.fixture
def content(day):
    """`content(tool, **arguments)`: what a model reads."""

    def content(tool, **arguments):
        result = day.attempt(tool, **arguments)
        return str(result.content if result.ok else result.error)

    return content


@pytest.fixture
def two_branches(day):
    """`two_branches(name)`: the user's repository has a file with another content on the branch `feat`."""

    def two_branches(name):
        day.repository({name: "old\n", "a": "1\n"})
        day.shell(f"git switch -qc feat && echo new > {name} && git commit -qam 2 && git switch -q main")

    return two_branches


def program(path, script):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


TRACKED = [".npmrc", ".gitattributes", ".vscode/settings.json", ".husky/pre-commit", ".claude/x.json", "pkg/.npmrc"]
AFTER = {
    "switch": "git switch -q feat && echo fix >> a && git commit -qam 'Fix a'",
    "merge": "git merge -q feat",
    "rebase": "git commit -q --allow-empty -m 3 && git rebase -q feat",
    "cherry-pick": "git cherry-pick feat",
    "reset": "git reset -q --hard feat",
    "restore": "git restore --source feat -SW . && git commit -qm 3",
    "stash": "git switch -q feat && echo x >> a && git stash -q && git stash pop -q && git commit -qam 3",
    "apply": "git diff main feat | git apply --index && git commit -qm 3",
    "pull": "git pull -q . feat",
}


@pytest.mark.parametrize("name", TRACKED)
def test_a_commit_after_a_switch_keeps_the_files_of_the_branch(day, two_branches, name):
    two_branches(name)
    day.accepted |= {name.split("/")[-1], name.split("/")[0]}
    day.bash(AFTER["switch"])
    assert day.shell(f"git show feat:{name}") == "new\n"
    assert day.shell("git status --short") == ""


@pytest.mark.parametrize("case", AFTER)
def test_git_changes_a_protected_file_wholly(day, two_branches, case):
    two_branches(".npmrc")
    day.accepted.add(".npmrc")
    warnings = day.call("bash", command=AFTER[case]).metadata["warnings"]
    assert (day.read(".npmrc"), day.shell("git status --short")) == ("new\n", "")
    assert warnings == ["changed .npmrc: programs may run it; review it before you open the folder"]


@pytest.mark.parametrize("how", ["an editor", "a switch"])
def test_the_users_own_changes_stay_while_a_job_runs(day, two_branches, how):
    two_branches("pkg/.npmrc")
    day.accepted.add(".npmrc")
    id = day.start("echo begun; read -r line", wait_for="begun", stdin=True)
    day.shell("echo mine > pkg/.npmrc" if how == "an editor" else "git switch -q feat")
    expected = day.read("pkg/.npmrc")
    day.call("job_input", id=id, end=True)
    day.call("job_output", id=id, until_end=True)
    assert day.read("pkg/.npmrc") == expected
    day.shell("git checkout -q .")


def test_a_job_cannot_write_the_configuration_that_the_user_s_git_reads(day):
    day.repository({"a": "1\n"})
    script = "echo begun; read -r line; printf '[core]\\n fsmonitor = touch pwned\\n' >> .git/config; read -r line"
    id = day.start(script, wait_for="begun", stdin=True)
    day.call("job_input", id=id, text="go\n")
    day.call("job_output", id=id, wait_for="Read-only file system")
    day.shell("git status")
    assert not (day.workspace / "pwned").exists()


LAYOUTS = {
    "a linked worktree": "git init -q ../repo && cd ../repo && git commit -q --allow-empty -m first && rmdir ../project"
    " && git worktree add -q ../project -b agent",
    "a submodule": "git init -q ../lib && git -C ../lib commit -q --allow-empty -m first && git init -q .. && cd .."
    " && rmdir project && git -c protocol.file.allow=always submodule --quiet add ./lib project",
    "a folder of a repository": "cd .. && git init -q && git commit -q --allow-empty -m first",
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_git_works_in_every_layout(day, monkeypatch, layout):
    day.shell(LAYOUTS[layout])
    monkeypatch.chdir(day.workspace)
    day.bash("git log --format=%s && echo 1 > f && git add f && git commit -qm second && git status")
    assert day.shell("git log -2 --format=%s") == "second\nfirst\n"
    assert day.shell("git show --stat --format= HEAD").count("|") == 1
    refused = day.attempt("bash", command="true; echo evil > $(git rev-parse --git-path hooks)/pre-commit")
    assert refused.output["exit_code"] == 1


WHOLE_TREE = {
    "switch": "git switch -q feat",
    "merge": "git merge -q feat",
    "rebase": "git commit -q --allow-empty -m 3 && git rebase -q feat",
    "reset": "git reset -q --hard feat",
}


@pytest.mark.parametrize("is_alone", [True, False])
@pytest.mark.parametrize("case", WHOLE_TREE)
def test_git_in_a_subfolder_changes_the_whole_tree_or_fails(day, case, is_alone):
    top = day.workspace.parent
    day.shell("git init -q && mkdir other && echo 1 > project/f && echo old > other/x && git add -A", cwd=top)
    day.shell("git commit -qm 1 && git switch -qc feat && echo new > other/x && echo 2 > project/f", cwd=top)
    day.shell("git commit -qam 2 && git switch -q main", cwd=top)
    script = WHOLE_TREE[case] if is_alone else f"{WHOLE_TREE[case]}; echo fix >> f && git commit -qam fix"
    result = day.attempt("bash", command=script)
    assert (result.output["exit_code"] == 0) is is_alone, result.content
    day.shell("git checkout -q project", cwd=top)
    assert day.shell("git status --short", cwd=top) == ""
    assert day.shell("git show feat:other/x", cwd=top) == "new\n"


def test_a_git_file_cannot_open_another_folder_of_the_user(day):
    secret = day.home / "private" / ".git"
    secret.parent.mkdir()
    day.shell(f"git init -q {secret.parent} && echo secret > {secret}/description")
    (day.workspace / ".git").write_text(f"gitdir: {secret}\n")
    assert "secret" not in day.bash(f"cat {secret}/description 2>&1", exit_code=1)
    (day.workspace / ".git").unlink()


@pytest.mark.parametrize("command", ["git commit", "git commit -v -a", "git tag -a v1", "git rebase -i HEAD~1"])
def test_git_without_an_editor_fails_at_once_and_says_why(day, content, command):
    day.repository({"a": "1\n"})
    day.shell("echo 2 > a; git commit -qam 2" + ("" if "rebase" in command else "; echo 3 > a; git add a"))
    output = content("bash", command=command, timeout=60)
    assert "there is no editor" in output
    assert "timed out" not in output
    day.shell("git rebase --abort 2> /dev/null; git reset -q --hard")


CONTINUES = {
    "a rebase": "git rebase -q main; echo z > a; git add a; git rebase --continue",
    "a merge": "git merge main; echo z > a; git add a; git merge --continue",
    "a revert": "git revert HEAD",
    "an amended commit": "git commit -q --amend",
}


@pytest.mark.parametrize("case", CONTINUES)
def test_git_keeps_a_message_that_it_proposes(day, case):
    day.repository({"a": "1\n"})
    day.shell("git switch -qc f; echo f > a; git commit -qam f; git switch -q main; echo m > a; git commit -qam m")
    day.shell("git switch -q f")
    day.bash(CONTINUES[case])
    assert day.shell("git status --short") == ""


def test_no_hook_of_a_command_stays_in_a_repository(day):
    hook = "printf '#!/bin/sh\\ntouch ran\\n' > $d/.git/hooks/$h; chmod +x $d/.git/hooks/$h"
    day.shell("git init -q --template= . && git commit -q --allow-empty -m 1")
    day.attempt("bash", command=f"d=. h=post-checkout; mkdir -p .git/hooks; {hook}")
    result = day.call("bash", command=f"git init -q sub; d=sub h=post-commit; mkdir -p sub/.git/hooks; {hook}")
    assert "removed the hooks of sub/.git" in result.content
    day.shell("git checkout -q -b other; cd sub; git commit -q --allow-empty -m 1")
    assert list(day.workspace.rglob("ran")) == []
    day.shell("rm -rf sub")


def test_a_refused_setting_does_not_end_the_script(day):
    day.repository({"a": "1\n"})
    output = day.bash("git config core.hooksPath .husky/_; sleep 0.2; echo to-the-end")
    assert "to-the-end" in output
    assert day.shell("git config core.hooksPath", exit_code=1) == ""


def test_later_commands_delete_files_of_earlier_ones(day):
    day.bash("echo 'repos: []' > .pre-commit-config.yaml; mkdir .husky; echo x > .husky/pre-commit")
    day.bash("rm -r .pre-commit-config.yaml .husky")
    assert os.listdir(day.workspace) == []


# Toolchains as their installers lay them out: their files, the folder on PATH, and the program that runs.
TOOLCHAINS = {
    "nvm": (".nvm/versions/node/v22/lib/npm/cli.js", ".nvm/versions/node/v22/bin/npm -> ../lib/npm/cli.js"),
    "rustup": (".rustup/toolchains/stable/bin/cargo", ".cargo/bin/cargo: "),
    "uv tool": (".local/share/uv/tools/ruff/bin/ruff", ".local/bin/ruff -> "),
    "pipx": (".local/share/pipx/venvs/x/bin/x", ".local/bin/x -> "),
    "pyenv": (".pyenv/versions/3.13/bin/python", ".pyenv/shims/python: "),
    "conda": ("miniconda3/lib/real", "miniconda3/bin/python: "),
    "sdkman": (".sdkman/candidates/java/21/bin/java", ".sdkman/candidates/java/current/bin/java -> "),
    "brew": (".linuxbrew/Cellar/jq/1.7/bin/jq", ".linuxbrew/bin/jq -> ../Cellar/jq/1.7/bin/jq"),
    "go": ("sdk/go1.23/pkg/tool", "sdk/go1.23/bin/go: "),
    "volta": (".volta/tools/image/node/22/bin/node", ".volta/bin/node: "),
    "mise": (".local/share/mise/installs/x/1/bin/x", ".local/share/mise/shims/x: "),
    "fnm": (".local/share/fnm/node-versions/v22/installation/bin/node", ".local/state/fnm_multishells/1/bin/node -> "),
    "a folder of its own": ("opt/maven/lib/mvn", "opt/maven/bin/mvn: "),
    "conda without its base": ("conda/bin/conda", "conda/condabin/conda: "),
}


@pytest.mark.parametrize("name", TOOLCHAINS)
def test_a_toolchain_in_the_home_runs(day, monkeypatch, name):
    real, launcher = TOOLCHAINS[name]
    program(day.home / real, "echo ran")
    words = launcher.split()
    path = day.home / words[0].rstrip(":")
    path.parent.mkdir(parents=True, exist_ok=True)
    if "->" in words:
        path.symlink_to(words[2] if len(words) > 2 else day.home / real)
    else:
        program(path, f"exec {day.home / real}")
    monkeypatch.setenv("PATH", f"{path.parent}:/usr/bin:/bin")
    assert day.bash(path.name) == "ran\n"
    assert "Read-only" in day.attempt("bash", command=f"echo x >> {path.parent}/new").content


@pytest.mark.parametrize("folder", [".cache/backup", ".m2", ".npm"])
def test_the_result_names_files_moved_into_a_cache(day, content, folder):
    (day.workspace / "only.txt").write_text("data")
    output = content("bash", command=f"mkdir -p ~/{folder} && mv only.txt ~/{folder}/")
    assert f"removed with this run: ~/{folder}" in output


LINKED = {
    "a link to a version": ("apps/x-1/bin/x", {"apps/x": "x-1", "bin/x": "../apps/x/bin/x"}),
    "two links": (
        ".config/yarn/global/node_modules/x/cli.js",
        {
            ".config/yarn/global/node_modules/.bin/x": "../x/cli.js",
            "bin/x": "../.config/yarn/global/node_modules/.bin/x",
        },
    ),
    "a profile": (
        ".local/state/nix/profiles/profile-1/bin/x",
        {".local/state/nix/profiles/profile": "profile-1", ".nix-profile": ".local/state/nix/profiles/profile"},
    ),
}


@pytest.mark.parametrize("case", LINKED)
def test_a_program_behind_several_links_runs(day, monkeypatch, case):
    real, links = LINKED[case]
    program(day.home / real, "echo ran")
    for name, target in links.items():
        (day.home / name).parent.mkdir(parents=True, exist_ok=True)
        (day.home / name).symlink_to(target)
    monkeypatch.setenv("PATH", f"{day.home}/bin:{day.home}/.nix-profile/bin:/usr/bin:/bin")
    assert day.bash("x") == "ran\n"


@pytest.mark.parametrize("name", [".tool-versions", ".config/mise/config.toml"])
def test_version_managers_read_the_versions_of_the_user(day, name):
    (day.home / name).parent.mkdir(parents=True, exist_ok=True)
    (day.home / name).write_text("nodejs 22\n")
    assert day.bash(f"cat ~/{name}") == "nodejs 22\n"


SECRETS = """
.ssh/id_ed25519 .aws/credentials .cargo/credentials.toml .cargo/credentials .m2/settings.xml .npmrc .pypirc .netrc
.gradle/gradle.properties .nvm/.npmrc .local/share/keyrings/login .config/gh/hosts.yml .local/share/uv/credentials/x
.docker/config.json .nvm/versions/node/v22/etc/npmrc notes.txt .fly/config.yml .foundry/keystores/key
.supabase/access-token app/.env app/config/master.key miniconda3/.condarc miniconda3/envs/x/pip.conf
.pyenv/versions/3.13/pip.conf miniconda3/envs/x/etc/conda/activate.d/env_vars.sh
"""
CONFIGURATIONS = {
    ".cargo/config.toml": '[registries.x]\ntoken = "CANARY"\n',
    ".config/mise/config.toml": '[env]\nAPI_KEY = "CANARY"\n',
    "app/.git/config": "[remote]\nurl = https://user:CANARY@example.org/x\n",
}


def test_no_secret_of_the_home_can_be_read(day, monkeypatch):
    names = SECRETS.split()
    for name in names:
        (day.home / name).parent.mkdir(parents=True, exist_ok=True)
        (day.home / name).write_text("CANARY")
    for name, text in CONFIGURATIONS.items():
        (day.home / name).parent.mkdir(parents=True, exist_ok=True)
        (day.home / name).write_text(text)
    for folder in (
        ".fly/bin",
        ".foundry/bin",
        ".supabase/bin",
        "app/bin",
        ".cargo/bin",
        ".local/bin",
        ".nvm/versions/node/v22/bin",
        "bin",
        ".m2/wrapper",
        ".local/share/uv/tools",
    ):
        (day.home / folder).mkdir(parents=True, exist_ok=True)
    (day.home / "bin" / "key").symlink_to(day.home / ".ssh" / "id_ed25519")
    folders = [
        str(day.home / folder)
        for folder in (
            *(".cargo/bin", ".local/bin", ".nvm/versions/node/v22/bin", "bin", "."),
            *(".fly/bin", ".foundry/bin", ".supabase/bin", "app/bin"),
        )
    ]
    monkeypatch.setenv("PATH", ":".join([*folders, "/usr/bin", "/bin"]))
    result = day.attempt("bash", command="cat " + " ".join(f"~/{name}" for name in names) + "; grep -rs CANARY ~; true")
    assert "CANARY" not in result.content


@pytest.fixture
def environment(day):
    """A virtual environment of the project, with a module."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", ".venv"], check=True)
    (site,) = (day.workspace / ".venv" / "lib").glob("python*/site-packages")
    (site / "of_the_project.py").write_text("NAME = 'project-module'\n")
    return day.workspace / ".venv"


def test_python_uses_the_virtual_environment_of_the_project(day, environment):
    assert day.python("import of_the_project; of_the_project.NAME") == "'project-module'"
    assert day.bash(".venv/bin/python -c 'import of_the_project'") == ""


@pytest.mark.parametrize("case", ["env", "of the repository", "venv", "conda"])
def test_python_uses_the_environment_that_its_user_expects(day, environment, monkeypatch, case):
    place = {"env": day.workspace / "env", "of the repository": day.workspace.parent / ".venv"}.get(
        case, day.home / "e"
    )
    environment.rename(place)
    if case == "of the repository":
        day.shell("git init -q", cwd=day.workspace.parent)
    if case == "conda":  # which has no pyvenv.cfg
        (place / "pyvenv.cfg").unlink()
        (place / "bin" / "python").unlink()
        (place / "conda-meta").mkdir()
        (place / "conda-meta" / "python-{}.{}.0-0.json".format(*sys.version_info)).write_text("{}")
        program(place / "bin" / "python", f'NAME=project-module exec {sys.executable} "$@"')
    if case in ("venv", "conda"):
        monkeypatch.setenv({"venv": "VIRTUAL_ENV", "conda": "CONDA_PREFIX"}[case], str(place))
    code = "import os; os.environ['NAME']" if case == "conda" else "import of_the_project; of_the_project.NAME"
    assert day.python(code) == "'project-module'"


EDITABLE = {
    "a path": ("x.pth", "{project}/src\n"),
    "an import hook": ("__editable___pkg_1_0_finder.py", "MAPPING: dict[str, str] = {{'pkg': '{project}/src/pkg'}}\n"),
    "a record": (
        "pkg-1.0.dist-info/direct_url.json",
        '{{"url": "file://{project}", "dir_info": {{"editable": true}}}}',
    ),
}


@pytest.mark.parametrize("case", EDITABLE)
def test_editable_packages_of_an_environment_on_path_are_readable(day, monkeypatch, case):
    project = day.home / "other project"
    (project / "src" / "pkg").mkdir(parents=True)
    (project / "src" / "pkg" / "__init__.py").write_text("NAME = 'editable'\n")
    site = day.home / "env" / "lib" / "python3.11" / "site-packages"
    name, text = EDITABLE[case]
    (site / name).parent.mkdir(parents=True)
    url = str(project).replace(" ", "%20") if case == "a record" else str(project)
    (site / name).write_text(text.format(project=url))
    program(day.home / "env" / "bin" / "tool", f"cat '{project}/src/pkg/__init__.py'")
    monkeypatch.setenv("PATH", f"{day.home}/env/bin:/usr/bin:/bin")
    assert day.bash("tool") == "NAME = 'editable'\n"


def test_pth_files_give_no_access_to_private_folders(day, environment):
    (day.home / "private").mkdir()
    (day.home / "private" / "x").write_text("secret")
    day.bash(f"echo {day.home}/private > .venv/lib/python*/site-packages/x.pth || echo {day.home}/private > y.pth")
    assert "secret" not in day.attempt("bash", command=f"cat {day.home}/private/x").content


def test_the_number_of_omitted_characters_is_right(day):
    agent = Agent(
        model=ScriptedProvider(ToolCall(None, "bash", {"command": "seq 1 200000"}), "done"),
        tools=[Bash()],
        workspace=day.workspace,
        approve="all",
    )
    agent.generate("go")
    (content,) = [message.content for message in agent.session.messages if message.role == "tool"]
    (line,) = [line for line in content.split("\n") if "omitted" in line]
    length = len(content.partition("\n[exit")[0]) - len(line) - 2
    assert abs(int(line.split()[1].replace(",", "")) - (1_288_895 - length)) < 5


def test_an_alias_of_a_session_works_in_the_next_call(day):
    day.bash("alias greet='echo hello-alias'", session="s")
    assert day.bash("greet", session="s") == "hello-alias\n"


def test_a_failure_without_a_network_is_explained_through_a_pipe(content):
    script = "python3 -c 'import socket; socket.create_connection((\"192.0.2.1\", 80), 3)' 2>&1 | tail -1"
    assert "this sandbox has no network" in content("bash", command=script)


@pytest.mark.parametrize(
    ("command", "is_explained"),
    [
        ("curl -s https://example.org | head -1", True),
        ("x=$(curl -fsSL 'https://example.org'); echo $x", True),
        ("if true; then wget -q http://example.org; fi", True),
        ("python3 -m venv v && v/bin/pip -q install --retries 0 nothing 2>&1 | tail -1", True),
        ("curl -s http://localhost:1/ http://127.0.0.1:1/ || true", False),
        ("echo see curl https://example.org", False),
        ("cat > README <<'END'\ncurl https://example.org\nEND", False),
    ],
)
def test_a_silent_failure_without_a_network_is_explained(content, command, is_explained):
    assert ("this sandbox has no network" in content("bash", command=command)) is is_explained


@pytest.mark.parametrize(
    ("command", "remark"),
    [
        ("ls -d ~/.gitconfig && echo x > ~/.bashrc", "only the workspace, /tmp and caches can be written"),
        ("echo .git/config && mkdir ~/new", "only the workspace, /tmp and caches can be written"),
        ("echo x > .git/hooks/pre-commit", "git's hooks and configuration are read-only"),
        ("git config core.editor vi; sh -c 'exit 1'", "git's hooks and configuration are read-only"),
    ],
)
def test_a_refusal_names_git_or_the_workspace(day, command, remark):
    day.repository({"a": "1\n"})
    assert remark in day.call("bash", command=command).content


SETTINGS = ("bash.bashrc", "inputrc", "terminfo", "magic", "maven/m2.conf", "manpath.config", "hostname", "host.conf")


def test_programs_of_the_system_find_their_settings_in_etc(day):
    found = day.bash(f"cd /etc && ls -d {' '.join(SETTINGS)} fstab shadow 2>/dev/null; true")
    assert sorted(found.split()) == sorted(name for name in SETTINGS if exists(f"/etc/{name}"))


@pytest.mark.skipif(not exists("/var/lib/dpkg/status"), reason="another package manager")
def test_the_installed_packages_of_the_system_are_known(day):
    assert "install ok installed" in day.bash("dpkg -s dpkg")


@pytest.mark.parametrize(
    ("name", "setting"), [(".config/git/ignore", ""), (".junk", "~/.junk"), (".config/git/other", "{home}/{name}")]
)
def test_git_reads_the_ignore_file_of_the_user(day, name, setting):
    file = day.home / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("*.swp\n")
    if setting:
        day.shell(f"git config --global core.excludesFile '{setting.format(home=day.home, name=name)}'")
    day.repository({"a": "1\n"})
    assert day.bash("touch b.swp c; git status --short").splitlines() == ["?? c"]
    file.write_text("c\n")
    assert day.bash("git status --short").splitlines() == ["?? b.swp"]
    day.uncommitted = ["?? b.swp"]


def test_an_archive_with_files_of_other_users_is_unpacked(day):
    day.bash(
        "mkdir a && echo 1 > a/b && chmod 755 a/b && tar --owner=1000 --group=1000 --mode=u+s -cf a.tar a && rm -r a"
    )
    day.bash("tar -xf a.tar && cat a/b && test -x a/b")
