"""`only_reads`: an allow-list of commands with options that do not write."""

from __future__ import annotations

import os
import re
import shutil
from typing import TYPE_CHECKING, NamedTuple

from tools_shell._script._parts import Dynamic, words

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tools_shell._script._parts import Command, Word

# Folders of system programs. Others may lie in the workspace, or run what its files name, as version managers do.
_FOLDERS = (
    *("/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin"),
    *("/opt/homebrew/bin", "/run/current-system/sw/bin"),  # Homebrew, NixOS
)
_BY_SHELL = frozenset(("HOME", "OLDPWD", "PWD", "SHLVL", "_"))  # variables that the shell itself exports
# No option of these writes, runs a program or uses the network (GNU, BSD and busybox).
_READING = words("""
    : [ [[ b2sum base32 basename break cal cat cd cksum cmp column comm continue cut df diff dir dirname du echo
    egrep exit expand expr factor false fgrep fmt fold free grep groups head hexdump id join locale logname ls lsblk
    lscpu md5sum nl nproc numfmt od paste pathchk pgrep pidof pr printenv printf ps pwd read readlink realpath
    return rev seq set sha1sum sha224sum sha256sum sha384sum sha512sum shift sleep stat strings sum tac tail test
    times tr true tsort tty type uname unexpand uptime users vdir wc which who whoami yes
""")
# The commands that these run are judged separately.
_WRAPPERS = words("command env find nice timeout xargs")
_VERSIONED = words("""
    cc clang cmake g++ gcc git java jq make node npm perl pip python python3 rg ruby sed tar uv
""")
_SED_COMMAND = r"(?:(?:\d+|\$|/[^/\\\n\[\]]*/)(?:,(?:\d+|\$|/[^/\\\n\[\]]*/))?)?[pdq=]"
_SED_PART = r"(?:\\[^\n]|(?!(?P=sign))[^\n\\\[\]])*"
_SED_SUBSTITUTION = rf"s(?P<sign>[/|#,]){_SED_PART}(?P=sign){_SED_PART}(?P=sign)[gpiI\d]*"
_SED = re.compile(rf"(?:{_SED_COMMAND}|{_SED_SUBSTITUTION})(?:; ?(?:{_SED_COMMAND}))*")
_AWK_ACTIVE = ("@", "system", "getline", "ARGV", "SYMTAB", "\\\n")
_DATE = re.compile(r"-u|-R|-I\w*|\+.*")  # other operands set the clock
_GIT = words("""
    blame cat-file count-objects describe diff diff-tree for-each-ref grep log ls-files ls-tree merge-base name-rev
    rev-list rev-parse shortlog show show-ref status
""")
_GIT_LISTS = {
    "branch": words("--all --list --remotes --show-current --verbose -a -r -v -vv"),
    "remote": words("-v --verbose"),
    "tag": words("--list -l"),
}
# An allow-list, because `--output` writes, `--ext-diff` runs a program, and both can be abbreviated.
_GIT_LONG = words("""
    abbrev-commit abbrev-ref all author before branches cached check color contains count date decorate diff-filter
    exclude-standard first-parent follow full-history git-dir graph grep ignore-all-space ignore-case
    ignore-space-change is-inside-work-tree left-right max-count merges name-only name-status no-color no-decorate
    no-ext-diff no-merges no-patch no-renames numstat oneline others patch porcelain quiet relative reverse short
    shortstat show-toplevel since staged stat summary tags topo-order unified until untracked-files verify word-diff
""")


class _Options(NamedTuple):
    """Options that only read: letters, letters with a value, and long options (`name=` takes a value).

    A letter whose value is always the next word counts as long, such as `-L=`.
    """

    flags: str
    valued: str
    long: frozenset[str]
    operands: int | None = None  # the maximum; the next one would be an output file


_WITH_OPTIONS = {
    "file": _Options("bhiLkN", "", words("brief mime mime-type")),
    "jq": _Options("rcnsSeMCajR", "", words("raw-output compact-output slurp sort-keys exit-status")),
    "rg": _Options("nilLcvwxsSFPUoHIuNahp0", "egtTABCmjM", words("""
        count files files-with-matches fixed-strings glob= heading hidden ignore-case json line-number max-count=
        no-heading no-ignore only-matching sort= type= word-regexp
    """)),
    "sort": _Options("bdfghinrRVMcCmsuz", "kt", words("key= numeric-sort reverse stable unique")),
    "tree": _Options("adfinsphugDFqNCt", "", words("dirsfirst noreport gitignore -I= -L= -P=")),
    "uniq": _Options("cdDiuz", "fsw", words("count repeated unique"), operands=1),
}  # fmt: skip


def reads_only(commands: Sequence[Command], environment: Mapping[str, str], repository: str | None) -> bool:
    """Return whether commands only read, if they run in a new shell with this environment.

    `repository` is the folder that they run in, if that is a trusted repository.
    """
    return all(_reads(command, environment, repository) for command in commands) and (
        repository is None or not _uses_other_repository(commands, repository)
    )


def _uses_other_repository(commands: Sequence[Command], repository: str) -> bool:
    """Return whether git may run in another folder, with a repository that a model has made."""
    names = {os.path.basename(command.name) for command in commands}
    targets = [command.arguments for command in commands if command.name == "cd"]
    texts = [words[0] if len(words) == 1 and isinstance(words[0], str) else ".." for words in targets]
    return "git" in names and any(os.path.realpath(os.path.join(repository, text)) != repository for text in texts)


def _beginning(word: Word) -> str:
    return word if isinstance(word, str) else word.prefix


def _is_relative(word: Word) -> bool:
    return _beginning(word)[:1] not in ("", "/", "-", "+")


def _reads(command: Command, environment: Mapping[str, str], repository: str | None) -> bool:
    name, arguments = os.path.basename(command.name), command.arguments
    is_harmless = all(_is_harmless(command.name, variable, environment) for variable, _ in command.variables)
    found = command.name if "/" in command.name else shutil.which(name, path=environment.get("PATH", ""))
    if not is_harmless or (found and os.path.dirname(found) not in _FOLDERS):
        return False
    if name == "<":  # `/dev/tcp/host/port` is a connection
        (file,) = arguments
        return _is_relative(file) or (isinstance(file, str) and not file.startswith("/dev/"))
    if name in {"", "export"} | _WRAPPERS | _READING or (name in _VERSIONED and arguments == ("--version",)):
        return True
    if name in _WITH_OPTIONS:
        return _has_harmless_options(arguments, _WITH_OPTIONS[name])
    if name == "git":
        return repository is not None and _git(arguments)
    return name in _JUDGES and _JUDGES[name](arguments)


def _is_harmless(command: str, variable: str, environment: Mapping[str, str]) -> bool:
    """Return whether an assignment does not affect programs, which see only what is in the environment."""
    is_own = variable not in environment and variable not in _BY_SHELL and not variable.startswith(("LANG", "LC_"))
    return (command == "" and is_own) or (variable == "IFS" and command == "read")


def _may_be_option(word: Word) -> bool:
    if isinstance(word, Dynamic):
        return not word.prefix or word.prefix[0] in "-+"
    return len(word) > 1 and word[0] in "-+"


def _has_harmless_options(arguments: Sequence[Word], allowed: _Options) -> bool:
    operands, rest = 0, list(arguments)
    while rest:
        word = rest.pop(0)
        if not _may_be_option(word):
            operands += 1 if isinstance(word, str) or word.is_single else 2
        elif isinstance(word, Dynamic) or not _is_allowed(word, rest, allowed):
            return False
    return allowed.operands is None or operands <= allowed.operands


def _is_allowed(word: str, rest: list[Word], allowed: _Options) -> bool:
    name, equals, _ = word.removeprefix("--").partition("=")
    if not equals and f"{name}=" in allowed.long:
        return bool(rest) and isinstance(rest.pop(0), str)
    if word.startswith("--"):
        return name + equals in allowed.long
    for number, letter in enumerate(word[1:], 2):
        if letter in allowed.valued:
            return word[0] == "-" and (bool(word[number:]) or (bool(rest) and isinstance(rest.pop(0), str)))
        if letter not in allowed.flags:
            return False
    return word[0] == "-"


def _sed(arguments: Sequence[Word]) -> bool:
    program, *files = [word for word in arguments if word not in ("-n", "-E", "-r")] or [""]
    return isinstance(program, str) and bool(_SED.fullmatch(program)) and not any(map(_may_be_option, files))


def _awk(arguments: Sequence[Word]) -> bool:
    rest = list(arguments)
    if rest and isinstance(rest[0], str) and rest[0].startswith("-F"):
        is_next = rest.pop(0) == "-F"
        if is_next and not (rest and isinstance(rest.pop(0), str)):
            return False
    if not rest or not isinstance(rest[0], str) or _may_be_option(rest[0]):
        return False
    printed = rest[0].partition("print")[2].replace("||", "")
    is_plain = not any(sign in rest[0] for sign in _AWK_ACTIVE) and not any(sign in printed for sign in ">|")
    # In gawk `/inet/tcp/0/host/port` is a connection, and `name=value` sets a variable.
    return is_plain and all(_is_relative(word) and "=" not in _beginning(word) for word in rest[1:])


def _date(arguments: Sequence[Word]) -> bool:
    return all(isinstance(word, str) and _DATE.fullmatch(word) for word in arguments)


def _git(arguments: Sequence[Word]) -> bool:
    name, *rest = arguments[1:] if arguments[:1] == ("--no-pager",) else arguments or [""]
    if name in _GIT_LISTS:
        return all(word in _GIT_LISTS[str(name)] for word in rest)
    if name in ("stash", "worktree"):
        return rest == ["list"]
    # Also those after `--`, which may be the value of an option.
    return name in _GIT and all(map(_is_harmless_for_git, filter(_may_be_option, rest)))


def _is_harmless_for_git(option: Word) -> bool:
    if isinstance(option, Dynamic):
        return False
    if option == "--":
        return True
    if not option.startswith("--"):
        return "O" not in option  # `grep -O` opens a pager
    name, _, value = option[2:].partition("=")
    # `%G` and `%(signature)` run a program that checks signatures.
    is_format = name in ("format", "pretty") and bool(value) and "G" not in value and "signature" not in value
    return name in _GIT_LONG or is_format


_JUDGES: dict[str, Callable[[Sequence[Word]], bool]] = {
    "awk": _awk, "date": _date, "gawk": _awk, "mawk": _awk, "sed": _sed,
}  # fmt: skip
