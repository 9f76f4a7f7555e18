"""A script is judged by its parts, and where they are not certain it is unknown."""

from __future__ import annotations

import hashlib
import os
import select
import shutil
import signal
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools_shell import Assignment, Effects, Expanded, Redirection, effects_of, parse_script

pytest.importorskip("tree_sitter_bash", reason="tree-sitter-bash is not installed")

READS = Effects(read_only=True, destructive=False, open_world=False)


def names(text):
    return [command.name for command in parse_script(text).commands]


# ------------------------------------------------------------------------------------------------------ parts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ls; rm -rf ~", ["ls", "rm"]),
        ("ls && rm x || touch y & cat z", ["ls", "rm", "touch", "cat"]),
        ("ls | grep x |& wc -l", ["ls", "grep", "wc"]),
        ("echo $(rm x) `mv a b`", ["echo", "rm", "mv"]),
        ('echo "a $(rm x "$(mv a b)")"', ["echo", "rm", "mv"]),
        ("diff <(sort a) <(rm b) > >(tee c)", ["diff", "sort", "rm", "tee"]),
        ("cat <<EOF\n$(rm x)\nEOF\nls", ["cat", "rm", "ls"]),
        ("cat <<'EOF'\n$(rm x)\nEOF\nls", ["cat", "ls"]),
        ("cat <<-E | grep a\n\tb\n\tE\n", ["cat", "grep"]),
        ("if a; then b; elif c; then d; else e; fi", ["a", "b", "c", "d", "e"]),
        ("for x in a b; do rm $x; done", ["", "rm"]),
        ("while read -r l; do rm $l; done < f", ["read", "rm"]),
        ("until a; do b; done", ["a", "b"]),
        ("case $x in a|b) rm a;; (*) ls;; esac", ["rm", "ls"]),
        ("{ ls; rm x; }; (cd y && mv a b)", ["ls", "rm", "cd", "mv"]),
        ("! ls", ["ls"]),
        ("[ -f x ] && [[ -d y && -e z ]]", ["[", "[["]),
        ("x=1; y=$(rm z)", ["", "", "rm"]),
        ("> file", [""]),
        ("ls \\\n  -l # rm x\npwd", ["ls", "pwd"]),
        ("bash -c 'ls; rm x'", ["bash", "ls", "rm"]),
        ("bash -ec 'rm x' a b", ["bash", "rm"]),
        ("bash -euo pipefail -c 'rm x' a b", ["bash", "rm"]),
        ("sh -c \"sh -c 'rm x'\"", ["sh", "sh", "rm"]),
        ("eval 'ls; rm x'", ["eval", "ls", "rm"]),
        ("eval -- rm x", ["eval", "rm"]),
        ("env -i A=1 rm x", ["env", "rm"]),
        ("nohup nice -n 5 timeout -k 1 --signal=KILL 5 rm x", ["nohup", "nice", "timeout", "rm"]),
        ("sudo -u root rm x", ["sudo", "rm"]),
        ("command rm x; builtin cd y; exec -c rm x", ["command", "rm", "builtin", "cd", "exec", "rm"]),
        ("time -p rm x", ["time", "rm"]),
        ("find . -name a | xargs -0 -n1 rm -f", ["find", "xargs", "rm"]),
        ("xargs -I{} sh -c 'rm x'", ["xargs", "sh", "rm"]),
        ("find . -exec rm {} + -exec mv {} a ';'", ["find", "rm", "mv"]),
        ("watch -n 1 'ls; rm x'", ["watch", "ls", "rm"]),
        ("flock lock -c 'rm x'", ["flock", "rm"]),
        ("flock lock --command 'rm x'", ["flock", "rm"]),
        ("stdbuf -oL setsid ionice -c 3 rm", ["stdbuf", "setsid", "ionice", "rm"]),
        ("/usr/bin/env rm", ["/usr/bin/env", "rm"]),
        (r"r\m x; 'r'm y; $'\x72m' z; r''m w", ["rm"] * 4),
        ("", []),
        ("# rm x", []),
    ],
)
def test_the_commands_of_a_script_are_found_wherever_they_stand(text, expected):
    script = parse_script(text)
    assert script.unknown == ()
    assert script.is_known
    assert [command.name for command in script.commands] == expected


def test_a_command_has_its_words_variables_and_redirections():
    (command,) = parse_script("A=1 B=$x foo 'a b'c \"d $y\" *.py src/*.py ~ p{e,f} {} \\; 2>&1 >>out <in").commands
    assert command.name == "foo"
    assert command.assignments == (Assignment("A", "1"), Assignment("B", Expanded("$x", is_single=True)))
    assert command.arguments == (
        "a bc",
        Expanded('"d $y"', "d ", is_single=True),
        Expanded("*.py"),
        Expanded("src/*.py", "src/"),
        Expanded("~", is_single=True),
        Expanded("p{e,f}"),
        "{}",
        ";",
    )
    assert command.redirections == (Redirection(">&", "1", 2), Redirection(">>", "out"), Redirection("<", "in"))


def test_a_descriptor_that_is_closed_ends_the_redirection():
    (command,) = parse_script("ls >&-x 2>&- y").commands
    assert command.arguments == ("x", "y")
    assert command.redirections == (Redirection(">&", "-"), Redirection(">&", "-", 2))


def test_where_a_command_stands_is_told():
    script = parse_script("a | b & (c; d $(e)); xargs f; bash -c 'g | h'")
    places = {command.name: command.places for command in script.commands}
    assert places == {
        "a": ("background", "pipeline"),
        "b": ("background", "pipeline"),
        "c": ("subshell",),
        "d": ("subshell",),
        "e": ("subshell", "substitution"),
        "xargs": (),
        "f": ("wrapper",),
        "bash": (),
        "g": ("wrapper", "pipeline"),
        "h": ("wrapper", "pipeline"),
    }


def test_redirections_of_loops_and_groups_are_found_too():
    script = parse_script("for x in a; do ls; done > out; { ls; } 2> err; (ls) &> both")
    assert [(each.operator, each.target) for each in script.redirections] == [
        (">", "out"),
        (">", "err"),
        ("&>", "both"),
    ]


def test_the_text_of_a_here_document_is_its_target():
    (command,) = parse_script("cat > x <<'E'\n$a\nb\nE\n").commands
    assert command.redirections == (Redirection(">", "x"), Redirection("<<", "$a\nb\n"))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("$x -rf", "not literal"),
        ('"$(which rm)" x', "not literal"),
        ("{rm,x}", "no clear structure"),
        ("l* x", "not literal"),
        ("eval $x", "`eval` runs what is not literal"),
        ('bash -c "$x"', "not literal"),
        ("bash x.sh", "`bash` runs what it reads"),
        ("curl a | sh", "`sh` runs what it reads"),
        ("bash -lc ls", "runs what it reads"),
        (". ./x", "runs a file"),
        ("source x", "runs a file"),
        ("ls() { rm x; }; ls", "a function is defined: ls"),
        ("function ls { rm x; }", "a function is defined: ls"),
        ("alias ls=rm", "changes what names mean"),
        ("trap 'rm x' EXIT", "runs a command later"),
        ("enable -n test", "changes what names mean"),
        ("hash -p /bin/rm ls", "changes what names mean"),
        ("shopt -s extglob", "changes how the script is read"),
        ("set -k", "changes how the script is read"),
        ("PATH=.:$PATH; ls", "PATH is set"),
        ("PATH=. ls", "PATH is set"),
        ("export LD_PRELOAD=x.so", "is given LD_PRELOAD"),
        ("env BASH_ENV=x bash -c ls", "BASH_ENV is set"),
        ("for PATH in .; do ls; done", "PATH is set"),
        ("read PATH", "not plain"),
        ("coproc rm", "runs a command at its side"),
        ("select x in a; do b; done", "reads a choice"),
        ("echo $((x[1]))", "arithmetic"),
        ("echo $((x + 1))", "computes with variables"),
        ("echo ${x[$(rm)]}", "subscript"),
        ("echo ${!x}", "indirect"),
        ("echo ${x@P}", "more than `${name}`"),
        ("((x++))", "two parentheses"),
        ("let x=1", "computes"),
        ("[[ $x -eq 1 ]]", "computes"),
        ("[ -v 'a[$(rm)]' ]", "not plain"),
        ("test $x = y", "not literal"),
        ("printf -v 'a[$(rm)]' x", "not plain"),
        ("printf %n x", "format"),
        ("printf $x", "format"),
        ("unset 'a[$(rm)]'", "not a plain variable"),
        ("declare -i x=y", "is given -i"),
        ("a[1]=x", "element of an array"),
        ("a=(x y)", "array"),
        ("find . $x", "may be given `-exec`"),
        ('find . -ok ls -name "$x" -exec rm {} ";"', "may be given `-exec`"),
        ("find . -name -exec -exec rm {} ';'", "inside of `-exec`"),
        ("env -S 'rm x'", "options of `env`"),
        ("sudo -i rm", "options of `sudo`"),
        ("exec -a rm ls x", "options of `exec`"),
        ("xargs --replace rm", "options of `xargs`"),
        ("sh -c 'ls &> x'", "otherwise than bash"),
        ("sh -c 'uniq a 10>&2'", "otherwise than bash"),
        ("sh -c 'x+=/y'", "otherwise than bash"),
        ("exec {fd}>x", "kept in a variable"),
        ("uniq a 2147483648>x", "number is too long"),
        ("9" * 5000 + ">x", "number is too long"),
        ("time { rm x; }", "more than one way"),
        ("ls 'x", "quote is not closed"),
        ("ls $(rm", "substitution is not closed"),
        ("cat <<E\nx", "here-document"),
        ("ls )", "nothing opened"),
        ("fi", "more than one way"),
        ("l\\\ns", "continued inside a word"),
        ("ls\r\nrm x\r\n", "U+000D"),
        ("ls\0rm", "U+0000"),
        ("ls\u00a0-l", "U+00A0"),
        ("ls \u202etxt", "U+202E"),
        ("echo '中\\'", "right behind"),
        ("ls " * 100_000, "longer than"),
        ("(" * 10_000, "longer than"),
        ("(" * 1000, "two parentheses"),
        ("$(" * 1000, "nested too deep"),
        ("echo " + "$(" * 30 + ")" * 30, "nested too deep"),
        ('"$(' * 1000, "nested too deep"),
        ("eval " * 12 + "ls", "too many others"),
    ],
)
def test_what_cannot_be_read_with_certainty_is_unknown_and_says_why(text, reason):
    script = parse_script(text)
    assert not script.is_known
    assert any(reason in each for each in script.unknown), script.unknown


WITHOUT = """
import sys
sys.modules["tree_sitter"] = None
from tools_shell import effects_of, parse_script
script = parse_script("ls")
print(script.is_known, script.unknown, effects_of(script).read_only)
"""


def test_without_a_parser_a_script_is_unknown_and_the_reason_says_what_to_install():
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=True)
    assert done.stdout == "False ('no parser is installed: pip install \"tools-shell[parser]\"',) None\n"


# ------------------------------------------------------------------------------------------------------ effects


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
        'find . -name "$n" -maxdepth 2',
        "find . -exec file {} + -exec sort {} + -exec uniq {} \\;; find -L src -exec sed -n 1p {} +",
        'find . -exec grep -name {} + -newer "$f" -print',
        "find . -print0 | xargs -0 -I% -P2 -E -I head %",
        "sed 's/[[:space:]]*$//; s/[^a-z]/x/g' f; base64 -w0 f; xxd -p -c 16 f",
        "rg -n --glob='*.py' 'a|b' src",
        'sed -ne 1p -e 3p f; sed -n -e 1p -- f; awk 1 "./$x" "/etc/$x"',
        "sed -n '/a/,/b/ {s|/|.|gp; =;}' f; sed -n '/a/{p;q}' f; sed 's#a#b# ; s,c,d,' f",
        "sed -n '1,20p' f; sed -n -e '/a/,/b/p' f; sed 's/a/b/g; 1d' f; sed -n '$=' f",
        "awk -F: '{ print $1 }' f; awk 'NR==1' f",
        "awk '$3 > 100 || /a|b/ { print; n += $1 || $2 } END { print n }' f",
        'for f in *.py; do echo "== $f"; head -5 "$f"; done',
        'export LC_ALL=C; declare x="$1"; mapfile -t lines < f; unset x; echo "${lines[0]}"',
        'while read -r line; do echo "$line"; done < f',
        'while IFS= read -r line; do echo "$line"; done < f; IFS=$x read -r a b < f',
        "if [ -f x ]; then cat x; else echo none >&2; fi",
        "[[ -d a && $x == b* ]] && ls a",
        'x=$(wc -l < f); echo "$x ${x:-0} ${x%.*} ${#x}"',
        "case $1 in a) ls;; *) pwd;; esac",
        "cat <<E\n$x $(ls)\nE",
        'cat <<< "$x"',
        'wc -l < "src/$f" < "/etc/$f"',
        '[[ $# -gt 0 && "$?" -eq 0 ]] && ls',
        "LC_ALL=C sort f; NO_COLOR=1 ls",
        "env LC_ALL=C.UTF-8 sort f",
        "timeout 5 nice -n 5 ls",
        "bash -c 'ls; pwd'",
        "diff <(sort a) <(sort b)",
        "echo $((1 + 2)) {1..3} {a,b}",
        "printf '%s %5.2f%%\\n' a 1",
        "date +%F; date -u -d yesterday +%s",
        "set -euo pipefail; ls",
        "rg --type py --glob '*.py' foo src; sort --key 2 f",
        "tar tf x.tar; tar -tzvf x.tgz a | head; zcat f | head",
        "python --version; hostname; pgrep -f x; shuf -n 5 f",
        "jq -r .a f; tree -L 2; file -b f; stat f; du -sh .",
        "ls 2>&1 >/dev/null &",
        "command -v python; type ls; which git",
        "echo 中文",
        "",
    ],
)
def test_what_only_reads_is_known_to_read_only(text):
    script = parse_script(text)
    assert effects_of(script) == READS, script.unknown


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rm x", Effects(False, True, False)),
        ("ls; mv a b", Effects(False, True, False)),
        ("ls > f", Effects(False, True, False)),
        ("ls &> f", Effects(False, True, False)),
        ("ls >& f", Effects(False, True, False)),
        ("ls >| f", Effects(False, True, False)),
        ("> f", Effects(False, True, False)),
        ("echo x >> f", Effects(False, False, False)),
        ("mkdir -p a; touch a/b", Effects(False, False, False)),
        ("for x in a; do ls; done > f", Effects(False, True, False)),
        ('ls > "$f"', Effects(False, None, None)),
        ("curl https://example.org", Effects(None, None, True)),
        ("cat < /dev/tcp/example.org/80", Effects(None, None, True)),
        ("awk '{ print }' /inet/tcp/0/example.org/80", Effects(None, None, None)),
        ('awk \'BEGIN { ARGV[1] = "/in" "et/tcp/0/x/80"; ARGC = 2 } { print }\'', Effects(None, None, None)),
        ("git push", Effects(None, None, True)),
        ("git reset --hard", Effects(False, True, None)),
        ("git add .", Effects(False, None, None)),
        ("find . -name x | xargs rm", Effects(False, True, False)),
        ("make", Effects()),
        ("rm $(x)", Effects(False, True, None)),
        ("rm x; $y", Effects(False, True, None)),
    ],
)
def test_effects_are_told_where_they_are_certain(text, expected):
    assert effects_of(parse_script(text)) == expected


TRUSTED = [
    "git status",
    "git --no-pager log --oneline -5 -- src",
    "git diff --stat HEAD~1 && git show HEAD:f",
    "git -C sub ls-files -o",
    "git branch -a; git remote -v; git tag; git stash list",
    "git grep -n foo",
]


@pytest.mark.parametrize("text", TRUSTED)
def test_git_reads_only_where_the_configuration_of_repositories_is_trusted(text):
    script = parse_script(text)
    assert effects_of(script).read_only is None
    assert effects_of(script, trusts_repositories=True) == READS


def test_variables_that_are_added_count_unless_they_are_harmless():
    script = parse_script("git status")
    for name, value in {"GIT_PAGER": "x", "PATH": ".", "LC_ALL": "../x", "LANG": "a/b"}.items():
        assert effects_of(script, environment={name: value}, trusts_repositories=True).read_only is None
    assert effects_of(script, environment={"LC_ALL": "C", "NO_COLOR": "1"}, trusts_repositories=True) == READS


# Each does more than read when it is run in the right place, or looks as if it did not.
HOSTILE = r"""
ls; rm x
ls&rm x
ls|rm x
ls||rm x
ls&&rm x
ls $(rm x)
ls `rm x`
ls "$(rm x)"
ls "`rm x`"
ls "a${x:-$(rm x)}"
ls ${x:=$(rm x)}
ls ${x:-`rm x`}
ls <(rm x)
ls >(rm x)
ls > x
ls >> x
ls >| x
ls &> x
ls &>> x
ls >& x
ls <> x
ls 1> x
ls 2> x
ls >$x
ls > ~/x
ls 3>x >&3
uniq a 2147483648>/dev/null
exec > x
exec 3>x
: > x
> x
>x ls
{ ls; } > x
(ls) > x
if ls; then ls; fi > x
while ls; do ls; done > x
case a in a) ls;; esac > x
r\m x
'rm' x
"rm" x
r''m x
r""m x
$'rm' x
$'\x72m' x
$'\162m' x
$'r\u006d' x
$"rm" x
{rm,-rf,x}
r{m,} x
/bin/r? x
/bin/rm x
/b?n/rm x
[r]m x
$x x
${x}rm x
$(echo rm) x
`echo rm` x
$IFS rm x
x=rm; $x y
rm$IFS-rf${IFS}x
IFS=,; x=rm,y; $x
IFS=, eval 'x=rm,y; $x'
IFS=; IFS=, read x
ls=rm; $ls x
alias ls=rm; ls x
alias ls='rm x'
shopt -s expand_aliases
unalias ls; ls; BASH_ALIASES[ls]=rm
ls() { rm x; }; ls
ls () (rm x); ls
function ls { rm x; }; ls
function cd() { rm x; }
PATH=. ls
PATH=.:$PATH; ls
export PATH=.; ls
declare PATH=.; ls
declare FOO=1; ls
declare "$x"
declare $x=1
export x=1; ls
export LC_ALL=../x; sort f
export LC_ALL=$x; sort f
export GIT_PAGER=x
export -f ls
export "$x"
mapfile FOO < f
readonly FOO
unset FOO
read PATH < f; ls
read -r x PATH; ls
for PATH in .; do ls; done
printf -v PATH .; ls
mapfile PATH < f
getopts a PATH
unset PATH; ls
env PATH=. ls
LD_PRELOAD=./x.so ls
export LD_PRELOAD=./x.so; ls
LD_LIBRARY_PATH=. ls
BASH_ENV=x bash -c ls
ENV=x sh -c ls
env BASH_ENV=x bash -c ls
export BASH_ENV=x; bash -c ls
PS4='$(rm x)'; set -x; ls
PROMPT_COMMAND='rm x'
GIT_PAGER='rm x' git log
PAGER='rm x' git -p log
GIT_EXTERNAL_DIFF=./x git diff
GIT_SSH_COMMAND=x git status
git -c core.pager=x log
git -c alias.ls='!rm x' ls
git -c core.fsmonitor=./x status
git --exec-path=. status
git --git-dir=x status
git -p log
git --paginate log
git diff --output=x
git diff --outpu=x
git diff --output x
git diff --ext-diff
git log --ext-diff -p
git show --textconv
git show --show-signature
git log --format=%G?
git log --pretty=%GK
git log --format=%+G?
git for-each-ref '--format=%(signature:grade)'
git grep -Oless foo
git grep -iO foo
git grep --open-files-in-pager=rm foo
git branch x
git branch -D x
git tag x
git stash
git stash drop
git remote add x y
git reflog expire --all
git config x y
git config alias.x '!rm'
git commit -m x
git checkout .
git clean -fd
git x
git "$x"
git $x
git log $x
git status "$x"
git archive -o x HEAD
git bundle create x HEAD
find . -delete
find . -exec rm {} +
find . -exec rm {} \;
find . -execdir rm {} \;
find . -ok rm {} \;
find . -okdir rm {} \;
find . -fprint x
find . -fprintf x %p
find . -fls x
find . -fprint0 x
find . $x
find "$x"
find * -name y
find . -name *.py
find . '-delete'
find . -del\ete
find . -dele""te
find . -exec sh -c 'rm x' \;
find . -exec "$x" {} \;
find . -exec {} \;
find . -exec uniq {} +
find -exec sort {} +
find -files0-from f -exec sort {} +
find . -execdir sort {} +
find $x -exec sort {} +
find src "$x" -exec sort {} +
find . -exec grep x {} + -delete
find . -name x -o -delete
find . -name -name "$x"
find . -exec ls -name "$x" -delete
find . -exec echo + -name "$x" -exec rm {} \;
sort -o x f
sort -ox f
sort -ro x f
sort --output=x f
sort --outp=x f
sort --o x f
sort f -o f
sort *
sort $x
sort "$x"
sort --compress-program=./x f
sort -T. f
sort -S1 --compress-prog ./x f
uniq a b
uniq -c a b
uniq $x
sed -i s/a/b/ f
sed -i.bak s/a/b/ f
sed -ni p f
sed --in-place s/a/b/ f
sed --in-pl s/a/b/ f
sed s/a/b/ -i f
sed -n 'w x' f
sed 's/a/b/w x' f
sed 's/a/b/e' f
sed 's/a/rm x/ge' f
sed e f
sed '1e rm x' f
sed '1!e rm x' f
sed -f x f
sed -e p -e 'w x' f
sed -s 'p;w x' f
sed -n 'w x' -- -e p
sed 'w x' -e p
sed -ne 'w x' f
sed -nie p f
sed "$x" f
sed p $x
sed p *
sed 's|a|b|w x' f
sed 's|a|b| w x' f
sed 's#a#b#;w x' f
sed 's|[|]|w x|' f
sed '/a/{w x
sed '{p;e rm x}' f
sed 's/a/b/ e' f
sed '{p}w x' f
sed '1!{w x' f
sed 'swawbw' f
sed 's/[/]/w x/' f
sed 'y/a/b/;w x' f
sed '/a/{w x
}' f
awk 'BEGIN { system("rm x") }'
awk '{ print > "x" }' f
awk '{ print | "rm x" }' f
awk '{ print ||| "rm x" }' f
awk '$1 > 1 { printf "%s;}", $1 > "x" }' f
awk '{ "rm x" | getline } END { print }' f
awk '{ print >> "x" }' f
awk 'BEGIN { "rm x" | getline }'
awk 'BEGIN { f = "system"; @f("rm x") }'
awk -f x f
awk -i inplace '{ print }' f
x=inet/tcp/0/example.org/80; awk 1 /$x
echo inet/tcp/0/example.org/80 | xargs -I{} awk 1 /{}
awk 1 /in"$x"
awk -l x '{ print }' f
awk '@load "x"' f
awk "$x" f
awk $x f
awk -v x=1 -f y
awk '{ print }' -i f
gawk -e 'BEGIN { system("rm x") }'
tee x
ls | tee x
xxd a b
xxd -r a b
xxd -ps a b
xxd -pc a b
tree -o x
tree -Po '*.c' x
tree -R -o x
tree --output x
file -C -m x
date -s now
date 11200000
date --set=now
rg --pre ./x foo
rg --pre=./x foo
rg --type py --pre ./x foo
rg --type $x foo
rg --hostname-bin ./x foo
rg -z foo
rg $x
rg "$x" -- y
jq -i . f
jq -f x f
xargs rm
xargs -I{} rm {}
xargs -n1 sh -c 'rm x'
xargs sh -c
xargs env
xargs --replace rm x
xargs -i rm {}
xargs -I{} {} x
xargs $x
xargs -E -I% sort
xargs -I% -n2 sort
xargs -I% -L1 sort
xargs --max-args=2 -I % sort
arch rm x
base64 -o x y
echo x >&²
echo x >&٣
echo x >&2--
sed 's/[]/]/p;/w f/p' x
sed 's/[^]/]/p;/w f/p' x
sed 's/[[:alpha:]/]/p;/w f/p' x
env rm x
env -i rm x
env -S 'rm x'
env "$x"
env $x ls
env -u X rm x
env A=1 B=2 rm x
env -C / rm x
command rm x
command -p rm x
builtin eval 'rm x'
builtin . ./x
exec rm x
exec -a ls rm x
exec -a rm ls x
exec -l ls
nice rm x
nohup rm x
timeout 5 rm x
timeout -k 1 5 rm x
stdbuf -oL rm x
setsid rm x
time rm x
time -p rm x
time { rm x; }
time ( rm x )
time time rm x
! rm x
busybox rm x
sudo ls
sudo rm x
doas ls
su -c ls
ssh host ls
watch rm x
eval rm x
eval 'rm' 'x'
eval "$x"
eval ls \; rm x
bash -c 'rm x'
bash -c "ls; $x"
bash -c $x
bash x
bash < x
bash <<< 'rm x'
bash <<E
sh -c 'rm x'
sh -c "$x"
sh -c 'uniq a 10>/dev/null'
sh -c 'x+=/y'
sh x
sh -s
sh
zsh -c ls
ksh -c ls
bash -o keyword -c 'ls x=1'
bash -euo keyword -c ls
bash -o pipefail x
bash -o pipefail $x -c ls
bash -ic ls
bash -lc ls
bash --rcfile x -ic ls
bash -O extglob -c ls
. x
source x
source <(echo rm x)
. <(rm x)
trap 'rm x' EXIT
trap 'rm x' DEBUG; ls
coproc rm x
coproc ls
select x in a; do rm y; done
select x in a; do ls; done
case x in x) rm x;; esac
case $(rm x) in x) ls;; esac
case x in $(rm x)) ls;; esac
case "`rm x`" in a) ls;; esac
for x in $(rm x); do ls; done
for x in a; do rm $x; done
for ((x=0;x<1;x++)); do ls; done
for ((;$(rm x);)); do ls; done
while rm x; do ls; done
until rm x; do ls; done
if rm x; then ls; fi
if ls; then rm x; fi
if ls; then ls; else rm x; fi
if ls; then ls; elif rm x; then ls; fi
[[ -v a[$(rm x)] ]]
[[ -v 'a[$(rm x)]' ]]
[[ $x -eq 1 ]]
[[ a[0] -eq 1 ]]
[[ 'a[$(rm x)]' -eq 1 ]]
[[ $1 -eq 1 ]]
[[ $#[x] -eq 1 ]]
[[ "$#$x" -eq 1 ]]
[[ x -lt y ]]
[[ -R x[1] ]]
[[ $(rm x) ]]
[[ a = `rm x` ]]
[ -v 'a[$(rm x)]' ]
[ -R 'a[$(rm x)]' ]
[ "$x" "$y" ]
[ $x ]
[ ! -v 'a[$(rm x)]' ]
[ "$a" -o "$x" "$y" ]
[ -f `rm x` ]
test -v 'a[$(rm x)]'
test $x
test "$x" "$y"
echo $((x[$(rm x)]))
echo $((a[0]))
echo $((x))
echo $((x=1))
echo $(( `rm x` ))
echo $((1 + $(rm x)))
echo $[ $(rm x) ]
echo $[1]
echo $((ls); rm x)
echo $((rm x))
echo $((rm) | (ls))
((x))
((x[$(rm x)]))
(( $(rm x) ))
((rm x); ls)
let x=1
let 'x[$(rm x)]=1'
echo ${x[$(rm x)]}
echo ${x:$(rm x)}
echo ${x:y}
echo ${x/$(rm x)/}
echo ${!x}
echo ${!x@}
echo ${x@P}
echo ${x@E}
echo "${x@P}"
echo "${x[$y]}"
echo ${x:-a}${y:=b}${z:-$(rm x)}
x[$(rm x)]=1
x[y]=1
x=([$(rm x)]=1)
x=(a b)
x=$(rm x)
x=`rm x`
x=$((y))
x+=(a)
declare x=$(rm x)
declare -i x=y
declare -n x=PATH
declare 'x[$(rm x)]=1'
declare -A x
typeset -i x
local x=$(rm x)
export x=$(rm x)
readonly 'x[$(rm x)]=1'
unset 'x[$(rm x)]'
unset -f ls
printf -v 'a[$(rm x)]' 1
printf '%n' 'a[$(rm x)]'
printf "$x" a
printf %s%n a 'a[$(rm x)]'
printf -- %n 'a[$(rm x)]'
read 'a[$(rm x)]'
read -a x
read $x
read -p x 'a[$(rm x)]'
mapfile -C 'rm x' -c 1 y
readarray -C 'rm x' y
getopts a 'x[$(rm x)]'
wait -p 'a[$(rm x)]'
wait $x
jobs -x rm y
compgen -C 'rm x'
compgen -W '$(rm x)'
complete -C 'rm x' ls
bind -x '"a":rm x'
enable -f ./x.so y
enable -n ls
hash -p /bin/rm ls; ls x
fc -s
history -w x
set -o history
set -k; ls PATH=.
set -a; ls
set $x
shopt -s extglob
shopt -u sourcepath
echo a#b; rm x
echo \# ; rm x
echo '#' ; rm x
echo $#; rm x
echo ${#x}; rm x
ls \
; rm x
'ls; rm' x
echo 'a'\'; rm x; echo ''
echo "a\"; rm x; \""; rm y
echo "a\\"; rm x #"
echo 'a\'; rm x #'
echo $'a\'; rm x'; rm y
echo $'a\\'; rm x #'
echo "${x}"; rm x
echo "a'"; rm x; echo "'"
echo `echo \`rm x\``
echo `echo "a"; rm x`
echo `ls # `; rm x
echo $(ls # )
)
echo $(case a in a) rm x;; esac)
cat <<E; rm x
cat < $x
cat < "$x"
cat < "/$x"
cat < /dev/"$x"
cat < "/dev/tcp/$x"
cat <& "a$x"
cat < /dev/tcp/localhost/80
cat <&$x
exec 3<>/dev/tcp/localhost/80
echo x > /dev/tcp/localhost/80
echo x > /dev/udp/localhost/80
./ls
bin/ls
../ls
~/ls
/tmp/ls
ls.sh
LS
python -c 'x'
perl -e x
ruby -e x
node -e x
make
npm test
cp a b
mv a b
ln -s a b
dd if=a of=b
truncate -s0 x
touch x
mkdir x
rmdir x
chmod +x f
kill 1
install a b
rsync a b
tar xf a
tar tf host:a
tar tf "$x"
tar tf a --to-command=./x
tar tf a --checkpoint=1 --checkpoint-action=exec=./x
tar -tf a -I ./x
tar tIf ./x a
tar t-f a
tar -xtf a
tar f a
tar tf a *
tar --test-label -f a
unzip a
gzip a
split a
csplit a 1
patch < a
ed f
ex f
vim f
less f
more f
man ls
script -c ls
crontab f
hostname x
hostname "$x"
hostname a$x
hostname -F x
python --version x
mount
sysctl -w x=1
diff3 --diff-program=./x a b c
sdiff -o x a b
ptx -G a b
nm --plugin ./x.so a
shuf -o x f
shuf --output x f
shuf --head-count 1 -o x f
zcat *
curl x
wget x
nc x 1
ping x
getent hosts x
pip list
http_proxy=x ls
TZ=/x ls
LC_ALL=../x sort f
LC_ALL=$x sort f
LANGUAGE=x ls
LESSOPEN='|rm x' ls
GREP_OPTIONS=x grep y
HOME=/x; cd
FOO=bar ls
x=1 ls
"""
CASES = [case for case in HOSTILE.split("\n") if case]
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
def test_a_script_that_may_do_more_is_never_said_to_read_only(text):
    script = parse_script(text)
    assert effects_of(script, trusts_repositories=True).read_only is not True
    if not script.is_known:
        assert effects_of(script).destructive is not False


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
    """Run a script with bash, and end all that it leaves behind."""
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
    """Whether a command may have received these arguments."""
    if not expected:
        return not actual
    first, *rest = expected
    if isinstance(first, str):
        return actual[:1] == [first] and fits(rest, actual[1:])
    counts = [1] if first.is_single else range(len(actual) + 1)
    return any(
        len(actual) >= count
        and all(each.startswith(first.prefix) for each in actual[:count])
        and fits(rest, actual[count:])
        for count in counts
    )


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
    script = parse_script(text)
    if not script.is_known:
        return
    log, place = recorded / "log", recorded / "place"
    log.write_text("")
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    run(text, place, PATH=str(recorded / "bin"), LOG=str(log))
    for call in log.read_text(errors="surrogateescape").split("=END=\x1f")[:-1]:
        name, *arguments = call.split("\x1f")[:-1]
        assert any(each.name == name and fits(each.arguments, arguments) for each in script.commands), (text, call)


def digest(folder):
    found = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        found.update(f"{path} {path.lstat().st_mode} {path.lstat().st_mtime_ns}".encode(errors="surrogateescape"))
        found.update(path.read_bytes() if path.is_file() else b"")
    return found.hexdigest()


def nothing_changes_by_reading(text, folder):
    if effects_of(parse_script(text)).read_only is not True:
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
@settings(max_examples=150)
@given(text=scripts())
def test_no_command_runs_that_was_not_seen_with_its_arguments(text, recorded):
    no_command_runs_unseen(text, recorded)


@needs_pidfd
@pytest.mark.slow
@settings(max_examples=1000)
@given(text=scripts())
def test_no_command_runs_unseen_in_thousands_of_scripts(text, recorded):
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


@pytest.mark.slow
@needs_pidfd
@settings(max_examples=150)
@given(text=mixtures())
def test_what_is_said_to_read_only_changes_nothing(text, canary):
    nothing_changes_by_reading(text, canary)


@needs_pidfd
@pytest.mark.slow
@settings(max_examples=500)
@given(text=st.one_of(mixtures(), scripts()))
def test_what_is_said_to_read_only_changes_nothing_in_thousands_of_scripts(text, canary):
    nothing_changes_by_reading(text, canary)


@needs_pidfd
@pytest.mark.parametrize("text", [case for case in CASES if "/" not in case and not case.startswith(("kill", "while"))])
def test_a_hostile_script_that_is_known_runs_nothing_unseen(text, recorded):
    no_command_runs_unseen(text, recorded)


@settings(max_examples=300)
@given(text=st.text(max_size=200))
def test_any_text_is_judged_without_a_failure(text):
    effects_of(parse_script(text))
