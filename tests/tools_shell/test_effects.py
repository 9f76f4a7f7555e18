"""Effects of scripts: their commands, whether they only read, and their files; everything uncertain is unknown."""

from __future__ import annotations

import hashlib
import os
import re
import select
import shutil
import signal
import subprocess
from itertools import dropwhile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools_core import Context, ToolCall
from tools_runtime import Executor, Policy
from tools_shell import Bash, JobStart, Python

USUAL = {"destructive": True, "open_world": True}
READS = {"read_only": True, "destructive": False, "open_world": False}
CASES = [case for case in Path(__file__).with_name("hostile_scripts.txt").read_text("utf-8").split("\n") if case]


def commands(script, **arguments):
    result = Bash().effects({"command": script, **arguments}).commands
    return None if result is None else [list(words) for words in result]


def reads_only(script, root=None):
    tool = Bash(root, env={"PATH": os.defpath})
    return tool.effects({"command": script}).annotations.get("read_only") is True


# ------------------------------------------------------------------------------------------------------ commands


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("ls -l | grep 'a b'; git  status", [["ls", "-l"], ["grep", "a b"], ["git", "status"]]),
        ("ls\nrm x && mv a b || cat c & pwd", [["ls"], ["rm", "x"], ["mv", "a", "b"], ["cat", "c"], ["pwd"]]),
        ("ls *.py ~/x a~ b[1]", [["ls", None, None, "a~", None]]),
        ("CI=1 make", [["CI=1", "make"]]),
        ('ls $HOME ${HOME}/x a"$x"b "\\$x" "\\\\$x" \\$x', [["ls", None, None, None, "$x", None, "$x"]]),
        ("ls > out 2>&1 < in", [["ls"], [">", "out"], ["<", "in"]]),
        ("ls >>a 2>b &>c 12>d", [["ls", "12"], [">", "a"], [">", "b"], [">", "c"], [">", "d"]]),
        ("ls >/dev/null 2>/dev/null >&2", [["ls"]]),
        ("ls ';' r\\m \"a 'b' \\\"c\\\" \\. d$\"", [["ls", ";", "rm", "a 'b' \"c\" \\. d$"]]),
        ("# a comment\nls # rm x\nls a#b \\\n  c", [["ls"], ["ls", "a#b", "c"]]),
        ("'r'm \"\" '' x", [["rm", "", "", "x"]]),
        ("", []),
    ],
)  # fmt: skip
def test_the_commands_of_a_script_of_plain_words_are_listed(script, expected):
    assert commands(script) == expected


@pytest.mark.parametrize(
    "script",
    [
        "$x", "x=$y ls", "echo ${x:=y}", "echo ${x@P}", "echo ${!x}", "echo ${x[$(rm)]}",
        "echo $((x[$(rm)]))", "echo $1",
        "find $x", "echo $(rm x)", 'echo "$(rm x)"', "echo `rm x`", "echo $'x'", "l* x", "~/x", "ls {a,b}",
        "(ls)", "{ ls; }", "if a; then b; fi", "for x in a; do b; done", "while a; do b; done", "! ls", "[ -f x ]",
        "[[ -f x ]]", "time ls", "f() { ls; }", "case x in a) b;; esac", "cat <<E\n$(rm)\nE", "cat <<'E'\nE",
        "cat <<< x", "cat <(ls)", "ls >", "ls >;rm", "ls >& out", "ls 2>&-", "ls >| x", "ls <> x", "ls >&\u0663",
        "'>' x", "a[1]=x rm", "x=1", "PATH=.; ls", "eval ls", "exec ls", ". x", "source x", "alias ls=rm",
        "trap ls EXIT", "set -k", "unset x", "export A=1", "read x", "printf -v x y", "test -v 'a[$(rm)]'", "bash x",
        "/bin/sh -c ls", "env rm", "sudo rm x", "xargs rm", "timeout 5 rm", "nohup rm", "nice rm",
        "find . -exec rm {} +", "find . -ok rm", "find . *", "ls '", 'ls "', "ls \\", "ls\rrm", "ls\0rm", "ls\u00a0-l",
        "ls \u202etxt", "ls\u3000-l", "echo '\u4e2d\\'; rm x #'", "ls " * 3000, "ls \\ \nrm x\\", "\ud800",
    ],
)  # fmt: skip
def test_the_commands_of_any_other_script_are_unknown(script):
    effects = Bash().effects({"command": script})
    assert (effects.commands, effects.paths, effects.annotations) == (None, None, USUAL)


# The first one of each pair surely only reads; the second is like it, and may write, run or send something.
PAIRS = [
    ("ls *.py", "rm *.py"), ("cat $HOME/notes", "cat $(cat notes)"), ('head "$PWD/a"', 'tee "$PWD/a"'),
    ("wc -l *.py | sort -n", "wc -l *.py | sort *"), ("git status | cat", "git status | sh"),
    ("git log --oneline | head -5", "git log --output=a | head -5"), ("git diff HEAD && pwd", "git diff $x && pwd"),
    ("LC_ALL=C sort a", "PATH=. sort a"), ("LC_ALL=C ls; TZ=UTC date", "LD_PRELOAD=a ls"),
    ("CI=1 NO_COLOR=1 grep x a", "CI=1 GREP_OPTIONS=-f grep x a"), ("NODE_ENV=test cat a", "NODE_OPTIONS=-ra cat a"),
    ("echo $?", "echo ${x:=1}"), ("echo ${HOME}", "echo ${HOME@P}"), ("ls; ls src/*", "ls; src/*"),
    ("cat a 2>/dev/null", "cat a 2>b"), ("grep x a 2>&1 | tail", "grep x a >b | tail"), ("cat < a", "cat < $x"),
    ("cd src && ls", "cd src && make"), ("ls # $(rm a)", "ls $(rm a)"), ("ls '$(rm a)'", 'ls "$(rm a)"'),
    ("ls \\$x", "ls `x`"), ("cat 'a b' c", "cat <<E\n$(rm a)\nE"), ("find . -name '*.py'", "find . -name *.py"),
    ("find . -name '*.py' | wc -l", "find . -name '*.py' | xargs rm"), ("sed -n 1,5p a", "sed -n $x a"),
    ("uniq a", "uniq $x"), ("ls ~/x", "~/x"), ("git branch -a | cat", "git branch $x | cat"),
    ("du -sh * | sort -h", "du -sh * | sort -o a"), ("date +%s", "date $x"), ("ls && false || true", "ls && eval $x"),
]  # fmt: skip


@pytest.mark.parametrize(("certain", "uncertain"), PAIRS)
def test_a_command_with_unknown_words_is_not_read_only(certain, uncertain, tmp_path):
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    assert (reads_only(certain, tmp_path), reads_only(uncertain, tmp_path)) == (True, False)


@pytest.mark.parametrize(
    ("pattern", "script", "expected"),
    [
        ("npm test", "NODE_ENV=test npm test", "allow"),
        ("npm test", "NODE_ENV=production npm test", "ask"),
        ("npm test", "NODE_OPTIONS=--require=./a npm test", "ask"),
        ("npm test", "npm test | cat", "ask"),
        ("npm *", "npm test $x", "allow"),
        ("npm test", "npm $x", "ask"),
        ("rm *", "rm build/*", "allow"),
        ("rm build/*", "rm build/*", "ask"),
    ],
)
def test_a_rule_covers_the_certain_effects_of_a_command(pattern, script, expected):
    rule = {"decision": "allow", "tool": "bash", "commands": [pattern]}
    policy = Policy([rule], files=[])
    call = ToolCall(None, "bash", {"command": script})
    assert policy.evaluate(call, Bash(), Context()).outcome == expected


@pytest.mark.parametrize("arguments", [{}, {"command": 3}, {"command": "ls", "session": "s"}])
def test_the_commands_of_a_session_or_an_invalid_call_are_unknown(arguments):
    effects = Bash().effects(arguments)
    assert (effects.commands, effects.paths, effects.annotations) == (None, None, USUAL)


def test_the_commands_for_another_shell_are_unknown():
    effects = Bash(shell="/bin/zsh").effects({"command": "ls"})  # noqa: S604  (a setting of the tool)
    assert (effects.commands, effects.annotations) == (None, USUAL)


def test_the_effects_of_code_are_unknown():
    effects = Python().effects({"code": "import os"})
    assert (effects.commands, effects.paths) == (None, None)


@given(st.text(alphabet="ab ls;|&$(){}<>'\"`\\\n=-*~#[]!é\0", max_size=60))
def test_the_effects_of_any_text_never_raise(script):
    result = commands(script)
    assert result is None or all(words and all(isinstance(word, str | None) for word in words) for words in result)


# ------------------------------------------------------------------------------------------------------ reading


@pytest.mark.parametrize("tool", [Bash(), JobStart()], ids=["bash", "job_start"])
def test_the_annotations_of_a_call_depend_on_its_script(tool):
    assert tool.annotations == USUAL
    assert tool.effects({"command": "ls -l | wc -l"}).annotations == READS
    for command in ("ls; rm -rf x", "curl example.org", "ls > file", "ls '"):
        assert tool.effects({"command": command}).annotations == USUAL


@pytest.mark.parametrize(
    "script",
    [
        "ls -la; cat *.py a b | sort -rnk2 | uniq -c | head -20",
        "cd src && pwd; grep -rn 'def x' src 2>/dev/null | cut -d: -f1",
        "find . -type f -name '*.py' -not -path './.venv/*' -print | wc -l",
        "rg -n --glob='*.py' --pretty 'a|b' src; sed -n '1,20p' f; date +%F; diff a b",
        "git --version; du -sh .; /bin/ls; which git; echo 中文 < f",
        "",
    ],
)
def test_a_script_of_readers_only_reads(script):
    assert reads_only(script)


HOSTILE = [
    *("sed -n '1p;w x' f", "sed -i s/a/b/ f", "sed -n -i 1p f", "sed -n 1p -i f", "uniq a b", "uniq *", "sort -o x f"),
    *("sort -ro x f", "sort --outp=x f", "sort *", "find . -delete", "find . -fprint x", "date 0101", "date ''"),
    *("rg --pre cat x", "rg -z x", "awk '{ system(1) }'", "cat < /dev/tcp/a/1", "A=1 ls", "rm --versions"),
]


@pytest.mark.parametrize("script", [*CASES, *HOSTILE])
def test_a_hostile_script_is_never_said_to_only_read(script):
    assert not reads_only(script)


def test_a_program_outside_the_system_folders_does_not_only_read(tmp_path):
    (tmp_path / "grep").write_text("#!/bin/sh\nrm x")
    (tmp_path / "grep").chmod(0o755)
    bash = Bash(tmp_path, env={"PATH": f"{tmp_path}:{os.defpath}"})
    for script, is_reader in (("ls", True), ("grep x f", False), ("./grep x f", False)):
        assert bash.effects({"command": script}).annotations.get("read_only", False) == is_reader


@pytest.fixture
def repository(root):
    environment = {"PATH": os.environ["PATH"], "HOME": str(root)}
    for words in ("init -q", "config user.name me", "config user.email me@example.org", "add .", "commit -qm one"):
        (root / "file").write_text("x")
        subprocess.run(["git", *words.split()], cwd=root, env=environment, check=True)
    return root


@pytest.mark.parametrize(
    "script",
    [
        "git status; git --no-pager log --oneline -5 -- src; git diff --stat HEAD~1 && git show HEAD:file",
        "git branch -a; git log --format='%h %s'; git rev-parse --abbrev-ref HEAD; git ls-files | wc -l",
    ],
)
def test_git_only_reads_in_a_plain_repository(repository, script):
    assert reads_only(script, repository)


@pytest.mark.parametrize(
    "script",
    [
        "git diff --output=x", "git diff --outp=x", "git diff --ext-diff", "git -c core.pager=x log", "git commit -m x",
        "git branch x", "git log --format=%G?", "git log -O x", "git log *", "git", "cd .git && git status",
    ],
)  # fmt: skip
def test_git_with_other_options_does_not_only_read(repository, script):
    assert not reads_only(script, repository)


@pytest.mark.parametrize(
    "key",
    [
        "core.fsmonitor", "core.hookspath", "core.worktree", "include.path", "filter.x.clean", "diff.external",
        "diff.x.textconv", "remote.origin.promisor", "log.showSignature",
    ],
)  # fmt: skip
def test_git_does_not_only_read_if_its_configuration_may_run_programs(repository, key):
    subprocess.run(["git", "config", key, "x"], cwd=repository, check=True)
    assert not reads_only("git status", repository)


def test_git_does_not_only_read_with_submodules_hooks_or_another_directory(repository):
    inner = repository / "inner"
    subprocess.run(["git", "clone", "-q", repository, inner], check=True)
    subprocess.run(["git", "add", "inner"], cwd=repository, check=True, stderr=subprocess.DEVNULL)
    assert not reads_only("git status", repository)
    subprocess.run(["git", "rm", "-qf", "--cached", "inner"], cwd=repository, check=True)
    assert reads_only("git status", repository)
    assert Bash(repository).effects({"command": "git status", "workdir": "inner"}).annotations == USUAL
    (repository / ".git/hooks/post-index-change").touch()
    assert not reads_only("git status", repository)
    (repository / ".git/hooks/post-index-change").unlink()
    (repository / ".git").rename(repository / "moved")
    assert not reads_only("git status", repository)
    (repository / ".git").symlink_to("moved")
    assert not reads_only("git status", repository)


# ------------------------------------------------------------------------------------------------------ policies


def result_under(rules, tool, arguments):
    with Executor([tool], policy=Policy(rules, files=[], project=False)) as executor:
        return executor.call_tool(tool.name, arguments, Context(workspace=tool.effects({}).settings["root"]))


@pytest.mark.parametrize(
    "allow", [{"commands": ["* *"]}, {"tool": "bash", "read_only": True}, {"tool": "*"}], ids=["words", "reads", "all"]
)
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        (Bash, {"command": "cat .env"}),
        (Bash, {"command": "cat ./a/../.env"}),
        (Bash, {"command": "cat link"}),
        (Bash, {"command": "cat .e*"}),
        (Bash, {"command": "cat < .env"}),
        (Bash, {"command": "grep -rA 3 KEY"}),
        (Bash, {"command": "grep -f.env x"}),
        (Bash, {"command": "eval 'cat .env'"}),
        (Bash, {"command": "cp .env x"}),
        (Python, {"code": "print(open('.env').read())"}),
    ],
)
def test_a_denied_path_binds_commands_and_code(tmp_path, allow, tool, arguments):
    (tmp_path / ".env").write_text("canary")
    (tmp_path / "link").symlink_to(".env")
    rules = [{"decision": "deny", "paths": [".env"]}, {"decision": "allow", **allow}]
    result = result_under(rules, tool(tmp_path, sandbox="none"), arguments)
    assert result.error_type in ("denied", "approval_required")
    assert "canary" not in str(result)


def test_a_denied_path_does_not_stop_commands_that_read_other_files(tmp_path):
    (tmp_path / ".env").write_text("canary")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a").write_text("text\n")
    bash = Bash(tmp_path, sandbox="none")
    rules = [{"decision": "deny", "paths": [".env"]}, {"decision": "allow", "commands": ["* *"]}]
    assert result_under(rules, bash, {"command": "cat .env"}).error_type == "denied"
    for script in ("cat src/a", "grep -n .env src/a", "ls -la src", "head -1 < src/a | wc -l; echo .env"):
        assert result_under(rules, bash, {"command": script}).ok, script


@pytest.mark.parametrize("workdir", ["vendor/pkg", "link", "link/..", "vendor/pkg/../../vendor/pkg/"])
@pytest.mark.parametrize("command", ["./build.sh", "git status"])
def test_an_allowed_command_is_allowed_only_in_the_workspace_itself(tmp_path, command, workdir):
    (tmp_path / "vendor" / "pkg" / "inner").mkdir(parents=True)
    (tmp_path / "link").symlink_to("vendor/pkg/inner")
    rules = [{"decision": "allow", "commands": ["git status", "./build.sh"]}]
    bash = Bash(tmp_path, sandbox="none")
    assert result_under(rules, bash, {"command": command, "workdir": workdir}).error_type == "approval_required"
    assert result_under(rules, bash, {"command": command, "workdir": "./"}).ok


def test_a_rule_for_cd_allows_a_workdir(tmp_path):
    (tmp_path / "inner").mkdir()
    rules = [{"decision": "allow", "commands": ["cd inner", "pwd"]}]
    bash = Bash(tmp_path, sandbox="none")
    assert result_under(rules, bash, {"command": "pwd", "workdir": "inner"}).ok
    assert result_under(rules, bash, {"command": "cd inner && pwd"}).ok


def test_an_approval_depends_on_the_settings_of_the_tool(tmp_path):
    effects = Bash(tmp_path, shell="/bin/bash").effects({"command": "ls"})  # noqa: S604  (a setting of the tool)
    assert (effects.settings["root"], effects.settings["shell"]) == (str(tmp_path.resolve()), "/bin/bash")
    assert "level" in effects.settings["sandbox"]


def test_an_approval_depends_on_the_environment_without_showing_its_values(tmp_path):
    def settings(value):
        return Bash(tmp_path, env={"TOKEN": value}).effects({"command": "ls"}).settings

    assert settings("canary") == settings("canary") != settings("other")
    assert "canary" not in repr(settings("canary"))


# ------------------------------------------------------------------------------------------------------ bash itself

PIECES = """
rm a|touch b|ls|cat a|echo c|rm|git|grep x a|a|-n|x=1|x=rm|$x|"$x"|$(rm)|"$(rm)"|`rm`|<|> f|>> f|2>&1|2>|&> f|>&|>&-
<<<|2>&1x|'|"|\\|$'|#|# |~|*|[a]|!|-c|env |xargs |bash -c |eval |exec |command |=|==|+=|a=(|,|é|-exec rm {} \\;|find .
--|:|true |''|""|\\ |'a b'|"a b"|a#b|1>|{a,b}|{ |; }|( | )|if |; then |; fi|time |test |cd |sort -o b|uniq a b|$"a"
""".strip().replace("\n", "|").split("|")  # fmt: skip
PIECES += [";", "&", "&&", "||", "|", "|&", ";;", "\n", "\t", "\\\n", " \\\n", "<<E\n", "\nE\n", "<<'E'\n"]
FRAMES = ["{}", "{} ; {}", "{}\n{}", "{} | {}", "{} && {}", "echo {} # {}\n{}", "'{}' {}", 'echo "{}" {}', "{} & {}"]


@st.composite
def scripts(draw):
    """Scripts from pieces that are dangerous together, and harmless in an empty folder."""
    frame = draw(st.sampled_from(FRAMES))
    part = st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from(["", " "])), min_size=1, max_size=4)
    holes = [part.map(lambda pairs: "".join(piece + blank for piece, blank in pairs)) for _ in range(frame.count("{}"))]
    return frame.format(*(draw(hole) for hole in holes))


def run(script, folder, **environment):
    """Run a script with bash, and end all its processes."""
    environment = {"HOME": str(folder), "LC_ALL": "C.UTF-8", "PATH": os.defpath, **environment}
    nothing = subprocess.DEVNULL
    with subprocess.Popen(
        ["bash", "-c", "--", script], cwd=folder, env=environment, stdin=nothing, stdout=nothing, stderr=nothing,
        start_new_session=True,
    ) as process:  # fmt: skip
        poll = select.poll()
        exited = os.pidfd_open(process.pid)
        poll.register(exited, select.POLLIN)
        poll.poll(5000)
        os.killpg(process.pid, signal.SIGKILL)  # the leader is not reaped yet, so its number is still in use
        os.close(exited)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Programs that only record their arguments."""
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "bin").mkdir()
    for name in ("rm", "touch", "ls", "cat", "grep", "git", "find", "sort", "uniq"):
        program = folder / "bin" / name
        program.write_text('#!/bin/sh\nprintf "%s\\037" "${0##*/}" "$@" =END= >> "$LOG"\n')
        program.chmod(0o755)
    for name in ("env", "xargs", "bash"):
        (folder / "bin" / name).symlink_to(shutil.which(name))
    return folder


def fits(expected, actual):
    """Return whether a command may have received these words; None is any number of them."""
    if not expected:
        return not actual
    first, *rest = expected
    if first is not None:
        return actual[:1] == [first] and fits(rest, actual[1:])
    return any(fits(rest, actual[count:]) for count in range(len(actual) + 1))


def no_command_runs_unseen(script, recorded):
    listed = commands(script)
    if listed is None:
        return
    log, place = recorded / "log", recorded / "place"
    log.write_text("")
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    run(script, place, PATH=str(recorded / "bin"), LOG=str(log))
    plain = [list(dropwhile(lambda word: word and re.match(r"\w+=", word), words)) for words in listed]
    for call in log.read_text(errors="surrogateescape").split("=END=\x1f")[:-1]:
        words = call.split("\x1f")[:-1]
        assert any(fits(command, words) for command in plain), (script, call)


@pytest.mark.slow
@settings(max_examples=1000, deadline=None)
@given(script=scripts())
def test_no_command_runs_unseen(script, recorded):
    no_command_runs_unseen(script, recorded)


@pytest.mark.parametrize(
    "script", [case for case in CASES if "/" not in case and not case.startswith(("kill", "while"))]
)
def test_no_command_of_a_hostile_script_runs_unseen(script, recorded):
    no_command_runs_unseen(script, recorded)


def digest(folder):
    result = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        result.update(f"{path} {path.lstat().st_mode} {path.lstat().st_mtime_ns}".encode(errors="surrogateescape"))
        result.update(path.read_bytes() if path.is_file() else b"")
    return result.hexdigest()


READERS = [
    "ls",
    "cat a",
    "head -1 *",
    "find . -name '*'",
    "sort -u f",
    "uniq f",
    "sed -n 1p f",
    "wc -l *",
    "grep -r x .",
]
WRITERS = ["rm a", "> b", "sort -o b f", "sort *", "find . -delete", "find *", "uniq a b", "sed -n 'w b' f", "cp a b"]


@pytest.mark.slow
@settings(max_examples=500, deadline=None)
@given(parts=st.lists(st.one_of(st.sampled_from(READERS), st.sampled_from(WRITERS), scripts()), min_size=1, max_size=3))
def test_a_script_classified_as_read_only_changes_no_files(parts, tmp_path_factory):
    script = " | ".join(parts)
    if reads_only(script):
        folder = tmp_path_factory.mktemp("canary")
        for name in ("a", "b", "f", "-delete", "-i", "rm"):
            (folder / name).write_text(f"{name}\nx\n")
        before = digest(folder)
        run(script, folder)
        assert digest(folder) == before, script
