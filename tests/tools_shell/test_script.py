"""The commands of a script are known before it runs; whatever is not certain is unknown, and does not only read."""

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

from tools_shell import Bash

pytest.importorskip("tree_sitter_bash", reason="tree-sitter-bash is not installed")

CASES = [case for case in Path(__file__).with_name("hostile_scripts.txt").read_text("utf-8").split("\n") if case]


@pytest.fixture(scope="module", autouse=True)
def repository(tmp_path_factory):
    """A workspace with a repository."""
    folder = tmp_path_factory.mktemp("repository")
    (folder / ".git").mkdir()
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("ASK_TOOLS_WORKSPACE", str(folder))
        yield folder


def commands(text):
    """All commands of a script, each as its variables, name and words."""
    return Bash().effects({"command": text}).commands


def without_variables(words):
    return list(dropwhile(lambda word: word is None or re.match(r"\w+=", word), words))


def reads_only(text, **arguments):
    tool = Bash(trusts_repository=True, env={"PATH": os.defpath})
    return tool.effects({"command": text, **arguments}).annotations.get("read_only") is True


# ------------------------------------------------------------------------------------------------------ commands


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ls; rm -rf ~", ["ls", "rm"]),
        ("ls && rm x || touch y & cat z", ["ls", "rm", "touch", "cat"]),
        ("ls | grep x |& wc -l", ["ls", "grep", "wc"]),
        ("echo $(rm x) $(mv a b)", ["rm", "mv", "echo"]),
        ('echo "a $(rm x "$(mv a b)")"', ["mv", "rm", "echo"]),
        ("diff <(sort a) <(rm b)", ["sort", "rm", "diff"]),
        ("cat > x <<'EOF'\n$(rm x)\nEOF\nls", ["cat", "ls", ">"]),
        ("if a; then b; elif c; then d; else e; fi", ["a", "b", "c", "d", "e"]),
        ("for x in a $(b); do rm $x; done", [None, "b", "rm"]),
        ("while read -r l; do rm $l; done < f", ["read", "rm", "<"]),
        ("{ ls; rm x; }; (cd y && mv a b)", ["ls", "rm", "cd", "mv"]),
        ("! ls", ["ls"]),
        ("[ -f x ] && [[ -d y && -e z ]]", ["[", "[["]),
        ("x=1; y=$(rm z)", ["x=1", "rm", None]),
        ("ls # rm x\npwd", ["ls", "pwd"]),
        ("env -i A=1 rm x", ["env", "rm"]),
        ("nohup nice -n 5 timeout -k 1 --signal KILL 5 rm x", ["nohup", "nice", "timeout", "rm"]),
        ("sudo -u root rm x", ["sudo", "rm"]),
        ("find . -name a | xargs -0 -n1 rm -f", ["find", "xargs", "rm"]),
        ("find . -exec rm {} + -exec mv {} a ';'", ["find", "rm", "mv"]),
        ("/usr/bin/env rm", ["/usr/bin/env", "rm"]),
        (r"r\m x; 'r'm y; r''m w", ["rm"] * 3),
        ("", []),
    ],
)
def test_the_commands_of_a_script_are_found_wherever_they_stand(text, expected):
    assert [(without_variables(words) or words)[0] for words in commands(text)] == expected


def test_a_command_has_its_variables_words_and_files():
    assert commands("A=1 B=$x foo 'a b'c \"d $y\" *.py src/*.py ~ {} \\; 2>&1 >>out <in") == (
        ("A=1", None, "foo", "a bc", None, None, None, None, "{}", ";"),
        (">", "out"),
        ("<", "in"),
    )


@pytest.mark.parametrize(
    "text",
    [
        "$x -rf", '"$(which rm)" x', "l* x", "eval $x", 'bash -c "$x"', "bash -c ls", "bash x.sh", "curl a | sh",
        ". ./x", "source x",
        "ls() { rm x; }; ls", "alias ls=rm", "trap 'rm x' EXIT", "enable -n test", "shopt -s extglob", "set -k",
        "PATH=.:$PATH; ls", "PATH=. ls", "export LD_PRELOAD=x.so", "env BASH_ENV=x bash -c ls", "read PATH",
        "for PATH in .; do ls; done", "select x in a; do b; done", "echo $((x[1]))", "echo $((1 + 2))",
        "echo ${x[$(rm)]}", "echo ${!x}",
        "((x++))", "let x=1", "[[ $x -eq 1 ]]", "[ -v 'a[$(rm)]' ]", "test $x = y", "printf -v 'a[$(rm)]' x",
        "printf %n x", "unset 'a[$(rm)]'", "a[1]=x", "a=(x y)", "find . $x", "env -S 'rm x'", "xargs --replace rm",
        "coproc rm", "time { rm x; }", "ls `pwd`", "ls 'x", "ls $(rm", "cat <<E\nx", "cat <<E\n$(rm)\nE", "ls\rrm",
        "ls\0rm", "ls\u00a0-l", "ls \u202etxt", "ls " * 100_000, "(" * 1000, "$(" * 1000, "echo {a,b}",
        "case $x in a) ls;; esac",
    ],
)  # fmt: skip
def test_a_script_that_is_not_certain_is_unknown(text):
    assert commands(text) is None


# ------------------------------------------------------------------------------------------------------ reading


@pytest.mark.parametrize(
    "text",
    [
        "ls -la",
        "/bin/ls; /usr/bin/head -1 f",
        "cd src && pwd",
        "cat a b | sort -rnk2 | uniq -c | head -20",
        "grep -rn 'def x' src 2>/dev/null || true",
        "find . -type f -name '*.py' -not -path './.venv/*' | wc -l",
        "find . -name '*.py' -exec grep -l foo {} +",
        "find src -type f -print0 | xargs -0 -n1 grep foo",
        "rg -n --glob='*.py' 'a|b' src",
        "sed -n '1,20p' f; sed 's/a/b/g' f; sed -n '/a/,/b/p' f",
        "awk -F: '{ print $1 }' f; awk 'NR==1' f",
        'for f in *.py; do echo "== $f"; head -5 "$f"; done',
        'while IFS= read -r line; do echo "$line"; done < f',
        "if [ -f x ]; then cat x; else echo none >&2; fi",
        "[[ -d a && $x == b ]] && ls a",
        'x=$(wc -l < f); echo "$x ${x:-0}"',
        "timeout 5 nice -n 5 ls",
        "diff <(sort a) <(sort b)",
        "printf '%s %5.2f%%\\n' a 1",
        "date +%F",
        "set -euo pipefail; ls",
        "python --version; du -sh .",
        "jq -r .a f; tree -a -L 2 -I 'node_modules|dist'; file -b f; stat f; strings f | column -t",
        "git stash list; git worktree list; git rev-parse --abbrev-ref HEAD",
        "ls 2>&1 >/dev/null &",
        "command -v python; type ls; which git",
        "git status; git --no-pager log --oneline -5 -- src; git diff --stat HEAD~1 && git show HEAD:f; git branch -a",
        r"sed 's/\[x\]\/a/b/; 3p' f; sed 's|a\||b|g' f",
        "echo 中文",
        "",
    ],
)
def test_what_only_reads_is_known_to(text):
    assert reads_only(text)


def test_what_splits_into_words_may_be_options_whatever_it_begins_with():
    for text in ("x=' -o y f'; sort f$x", "x='1 -delete'; find a$x", "uniq a$@", 'uniq "a$@"'):
        assert not reads_only(text)


def test_git_only_reads_where_the_repository_is_trusted():
    for tool in (Bash(), Bash(trusts_repository=False)):
        assert tool.effects({"command": "git status"}).annotations == tool.annotations
    assert not reads_only("git diff --output=x")
    assert not reads_only("git -c core.pager=x log")
    assert not reads_only("git commit -m x")


def test_git_only_reads_in_the_repository_of_the_workspace(repository):
    assert reads_only(f"cd {repository} && git status; cd . && git log", workdir=".")
    assert not reads_only("git status", workdir="inner")
    (repository / ".git").rename(repository / "moved")  # a model may make a repository of the folder
    assert not reads_only("git status")
    (repository / "moved").rename(repository / ".git")


def test_a_program_that_is_not_of_the_system_is_not_said_to_only_read(tmp_path):
    (tmp_path / "grep").write_text("#!/bin/sh\nrm x")
    (tmp_path / "grep").chmod(0o755)
    bash = Bash(tmp_path, env={"PATH": f"{tmp_path}:{os.defpath}"})
    readers = [
        text
        for text in ("ls", "grep x f", "env grep x f")
        if bash.effects({"command": text}).annotations.get("read_only")
    ]
    assert readers == ["ls"]


def test_variables_of_a_script_only_read_unless_programs_have_them(repository):
    assert reads_only('FILE=src/app.py N=5; head -n "$N" "$FILE"')
    for name in ("PATH", "HOME", "LC_ALL", "PWD"):
        assert not reads_only(f"{name}=x; ls")
    bash = Bash(env={"GIT_PAGER": "cat"}, trusts_repository=True)
    assert bash.effects({"command": "GIT_PAGER=x; git log"}).annotations.get("read_only") is not True


# Each does more than read when it is run in the right place, or looks as if it did not.
UNSEEN = [
    "ls\u00a0; rm x",
    "ls\u2028rm x",
    "ls \u202exr mr",
    "\u200bls",
    "ls\u3000-l",
    "ls\r\nrm x\r\n",
    "ls\rrm x",
    "ls\0; rm x",
    "ls\x1b[2K",
    "ls\x0brm",
    "l\\\ns; rm x",
    "r\\\nm x",
    "ls &\\\n& rm x",
    "cat <<E\n$(rm x)\nE",
    "cat <<E\n`rm x`\nE",
    "cat <<E\nE\nrm x",
    "cat <<'E'\nE\nrm x",
    "cat <<E\n E\nE \nE\nrm x",
    "cat <<-E\n\tE\nrm x",
    "cat <<-E\n  E\n\tE\nrm x\nE",
    "cat <<E\nrm x",
    "cat <<E <<F\na\nE\nrm x\nF\n",
    "cat <<\\E\n$(ls)\nE\nrm x",
    'cat <<"E"\nE\nrm x\nE',
    "cat <<$x\n$x\nrm y\n",
    "cat <<E'F'\nEF\nrm x\n",
    "cat <<E\n\\\nE\nrm x\nE\n",
    "cat <<E;\nE\nrm x",
    "cat <<E\n$(cat <<F\nF\nrm x)\nE",
    "cat <<E | sh\nrm x\nE",
    "bash <<E\nrm x\nE",
    "bash <<'E'\nrm x\nE",
    "sh -s <<E\nrm x\nE",
    "xargs rm <<E\nx\nE",
    "echo '中\\'; rm x #'",
    'echo "中\\"; rm x #"',
    "ls -l " + "x" * 10_000,
    "ls\n" * 3000 + "rm x",
    "(" * 10_000 + ")" * 10_000,
    "(" * 50 + "ls" + ")" * 50,
    "$(" * 50 + "ls" + ")" * 50,
    "eval " * 20 + "rm x",
    "ls '",
    'ls "',
    "ls $(",
    "ls `",
    "ls ${x",
    "ls $((1",
    "ls )",
    "ls }; rm x",
    "{ ls }; rm x; }",
    "ls;;rm x",
    "ls & & rm x",
    "if ls; then",
    "fi; rm x",
    "\ud800",
]


@pytest.mark.parametrize("text", [*CASES, *UNSEEN])
def test_a_script_that_may_do_more_is_never_said_to_only_read(text):
    assert not reads_only(text)


def test_there_are_enough_hostile_cases():
    assert len({*CASES, *UNSEEN}) > 400


# ------------------------------------------------------------------------------------------------------ bash itself

PIECES = [
    *(
        "rm a",
        "touch b",
        "ls",
        "cat a",
        "ls b",
        "echo c",
        "rm",
        "git",
        "grep x a",
        "a",
        "b",
        "-n",
        "x=1",
        "x=rm",
        "{} +",
    ),
    *("$x", "${x}", '"$x"', "${x:-rm}", "$(rm)", '"$(rm)"', "$(ls)", "`rm`", '"`rm`"', "<(rm)", ">(cat)", "$((1+2))"),
    *("<", "> f", ">> f", "2>&1", "2>", "&> f", ">&", ">&-", "<<<", "<<E\n", "<<'E'\n", "<<-E\n", "\nE\n", "\n", "\t"),
    *(";", "&", "&&", "||", "|", "|&", ";;", "(", ")", "((", "))", "{", "}", "{ ", "; }", "[[ ", " ]]", "[ ", " ]"),
    *("if ", "; then ", "; else ", "; fi", "for i in ", "; do ", "; done", "case x in ", "a) ", ";; esac", "f()", "! "),
    *(
        "time ",
        "coproc ",
        "'",
        '"',
        "\\",
        "\\\n",
        "$'",
        "$'\\x72m'",
        "#",
        "# ",
        "$((",
        "${",
        "${#",
        "$",
        "~",
        "*",
        "[a]",
    ),
    *("{a,b}", "{rm,a}", "r{m,x}", "!", "-c", "env ", "xargs ", "nice ", "bash -c ", "sh -c ", "timeout 5 ", "'rm a'"),
    *("'ls; rm'", "eval ", "exec ", "command ", "set -- ", "read -r x", "printf %s ", "=", "==", "+=", "a=(", ",", "é"),
    *("-exec rm {} \\;", "find . ", "--", ":", "true ", "|| true"),
]
FRAMES = [
    *(
        "{}",
        "{} ; {}",
        "{}\n{}",
        "{} | {}",
        "{} && {}",
        "( {} ; {} )",
        "if {} ; then {} ; fi",
        "for i in a b; do {} ; done",
    ),
    *("x=$( {} )", 'echo "{}" {}', "cat <<E\n{}\nE\n{}", "[[ {} ]] && {}", "case a in a) {} ;; b) {} ;; esac"),
    *("echo {} # {}\n{}", "bash -c '{}'", "{} <( {} )", "`{}` {}", "! {} || {}"),
]


@st.composite
def scripts(draw):
    """Scripts from pieces that are dangerous together, and harmless in an empty folder."""
    frame = draw(st.sampled_from(FRAMES))
    part = st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from(["", " "])), min_size=1, max_size=4)
    holes = [part.map(lambda pairs: "".join(piece + blank for piece, blank in pairs)) for _ in range(frame.count("{}"))]
    return frame.format(*(draw(hole) for hole in holes))


needs_pidfd = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs Linux")


def run(text, folder, **environment):
    """Run a script with bash, and end all that it started."""
    environment = {"HOME": str(folder), "LC_ALL": "C.UTF-8", "PATH": os.defpath, **environment}
    with subprocess.Popen(
        ["bash", "-c", "--", text],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        poll = select.poll()
        exited = os.pidfd_open(process.pid)
        poll.register(exited, select.POLLIN)
        poll.poll(5000)  # some wait for themselves
        os.killpg(process.pid, signal.SIGKILL)  # the leader is not reaped yet, so the number is still its own
        os.close(exited)


def fits(expected, actual):
    """Return whether a command may have received these words: None is any number of them."""
    if not expected:
        return not actual
    first, *rest = expected
    if first is not None:
        return actual[:1] == [first] and fits(rest, actual[1:])
    return any(fits(rest, actual[count:]) for count in range(len(actual) + 1))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Programs that do nothing but note how they were called."""
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "bin").mkdir()
    for name in ("rm", "touch", "ls", "cat", "grep", "git", "find"):
        program = folder / "bin" / name
        program.write_text('#!/bin/sh\nprintf "%s\\037" "${0##*/}" "$@" =END= >> "$LOG"\n')
        program.chmod(0o755)
    for name in ("env", "xargs", "nice", "bash", "sh", "timeout"):
        (folder / "bin" / name).symlink_to(shutil.which(name))
    return folder


def no_command_runs_unseen(text, recorded):
    known = commands(text)
    if known is None:
        return
    log, place = recorded / "log", recorded / "place"
    log.write_text("")
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    run(text, place, PATH=str(recorded / "bin"), LOG=str(log))
    for call in log.read_text(errors="surrogateescape").split("=END=\x1f")[:-1]:
        words = call.split("\x1f")[:-1]
        assert any(fits(without_variables(each), words) for each in known), (text, call)


def digest(folder):
    found = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        found.update(f"{path} {path.lstat().st_mode} {path.lstat().st_mtime_ns}".encode(errors="surrogateescape"))
        found.update(path.read_bytes() if path.is_file() else b"")
    return found.hexdigest()


def nothing_changes_by_reading(text, folder):
    if not reads_only(text):
        return
    before = digest(folder)
    run(text, folder)
    assert digest(folder) == before, text


@pytest.fixture(scope="module")
def canary(tmp_path_factory):
    folder = tmp_path_factory.mktemp("canary")
    for name in ("a", "b", "f", "-delete", "-i", "rm"):
        (folder / name).write_text(f"{name}\nx\n")
    (folder / "src").mkdir()
    return folder


@needs_pidfd
@pytest.mark.slow
@settings(max_examples=1000, deadline=None)
@given(text=scripts())
def test_no_command_runs_unseen(text, recorded):
    no_command_runs_unseen(text, recorded)


READERS = [
    *(
        "ls",
        "cat a",
        "head -1 *",
        "find . -name '*'",
        "find . -type f",
        "sort",
        "sort -u f",
        "uniq",
        "sed -n 1p f",
        "wc -l *",
    ),
    *(
        "sed 's/a/b/g'",
        "awk '{ print $1 }' f",
        "grep -r x .",
        "xargs cat",
        "xargs -n1 echo",
        "tr a b",
        "echo $x",
        "test -f a",
    ),
    *('[ -n "$x" ]', "find . -exec cat {} +", "printf '%s' a", "read -r x", "x=$(cat a)", "true", "date", "cut -c1"),
]
WRITERS = [
    *(
        "rm a",
        "touch b",
        "> b",
        "sort -o b f",
        "sed -i s/a/b/ f",
        "find . -delete",
        "find *",
        "tee b",
        "mv a b",
        "xargs rm",
    ),
    *(
        "uniq a b",
        "awk '{ print > \"b\" }' f",
        "sed 'w b' f",
        "xargs touch",
        "sort *",
        "cp a b",
        "sh",
        "find . -exec rm {} +",
    ),
]
CONTEXTS = ["{} | {}", "{} && {}", "{} ; {}", "( {} ; {} )", "if {} ; then {} ; fi", "echo $( {} ) ; {}", "{} < a ; {}"]
CONTEXTS += [
    "for x in *; do {} ; {} ; done",
    "bash -c '{}' ; {}",
    "{} 2>&1 | {}",
    "{} < <( {} )",
    "cat <<E\n$( {} )\nE\n{}",
]


@st.composite
def mixtures(draw):
    """Scripts of commands that mostly read, with real programs and in a real folder."""
    atom = st.one_of(st.sampled_from(READERS), st.sampled_from(READERS), st.sampled_from(WRITERS))
    text = draw(atom)
    for _ in range(draw(st.integers(0, 3))):
        text = draw(st.sampled_from(CONTEXTS)).format(text, draw(atom))
    return text


@needs_pidfd
@pytest.mark.slow
@settings(max_examples=500, deadline=None)
@given(text=st.one_of(mixtures(), scripts()))
def test_what_is_said_to_only_read_changes_nothing(text, canary):
    nothing_changes_by_reading(text, canary)


@needs_pidfd
@pytest.mark.parametrize("text", [case for case in CASES if "/" not in case and not case.startswith(("kill", "while"))])
def test_a_hostile_script_that_is_known_runs_nothing_unseen(text, recorded):
    no_command_runs_unseen(text, recorded)


@given(text=st.text(alphabet="ab ls;|&$(){}<>'\"`\\\n=-*~#[]!é\0", max_size=60))
def test_any_text_is_read_without_a_failure(text):
    reads_only(text)
