"""Commands that run other commands, and builtins that change the meaning of words."""

from __future__ import annotations

import operator
import re
from typing import TYPE_CHECKING

from tools_shell._script._parts import Command, Dynamic, Unreadable, words

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tools_shell._script._parts import Word

# Commands that run hidden code, or change how later words are read.
_NEVER = words("""
    . < > alias ash bash bind builtin busybox caller chronic chroot compgen complete compopt coproc dash declare
    doas enable eval exec expect fc flock fish gdb getopts hash history ionice jobs ksh let local logout ltrace
    mapfile nsenter parallel popd pushd readarray readonly runuser script select setsid sh shopt source ssh stdbuf
    strace su suspend systemd-run taskset trap typeset unalias unset unshare wait watch zsh
""")
# Variables that act on the shell or the dynamic loader when they are set: bash evaluates `RANDOM`, and HISTFILESIZE
# truncates a file.
_SPECIAL = words("""
    BASHOPTS CDPATH CHILD_MAX DIRSTACK ENV EXECIGNORE FIGNORE FPATH FUNCNEST GCONV_PATH GLIBC_TUNABLES GLOBIGNORE
    GROUPS HOSTALIASES HOSTFILE IFS IGNOREEOF INPUTRC LINENO LOCPATH NLSPATH OPTARG OPTERR OPTIND PATH
    POSIXLY_CORRECT PROMPT_COMMAND PROMPT_DIRTRIM PS0 PS1 PS2 PS3 PS4 RANDOM SECONDS SHELLOPTS SRANDOM TERM TERMCAP
    TERMINFO TEXTDOMAIN TEXTDOMAINDIR TIMEFORMAT TMOUT TMPDIR ZDOTDIR
""")
_SPECIAL_PREFIXES = ("ASK_TOOLS_", "BASH_", "COMP_", "DYLD_", "HIST", "LD_", "MAIL", "READLINE_")
# Flags, options with a value, and the number of operands before the command.
_WRAPPERS: dict[str, tuple[str, str, int]] = {
    "command": ("-p", "", 0),
    "env": ("-i -", "-u", 0),
    "nice": ("", "-n", 0),
    "nohup": ("", "", 0),
    "sudo": ("-n -E -H", "-u", 0),
    "timeout": ("-v --foreground --preserve-status", "-k -s --kill-after --signal", 1),
    "xargs": ("-0 --null -r -t", "-n -P -L -d", 0),
}
# Expressions with which `find` only searches.
_FIND_TESTS = words("""
    ! ( ) , -H -L -P -a -and -d -daystart -depth -empty -executable -false -follow -ls -mount -nogroup -not -nouser -o
    -or -print -print0 -prune -quit -readable -true -writable -xdev
""")
_FIND_VALUES = words("""
    -amin -atime -cmin -ctime -fstype -group -iname -inum -ipath -iregex -links -maxdepth -mindepth -mmin -mtime
    -name -newer -path -perm -printf -regex -size -type -user -wholename
""")
_FIND_SIGNS = ("-", "!", "(", ")", ",", ";")
_PRINTF = re.compile(r"(?:[^%]|%%|%[-+ #0]*\d*(?:\.\d+)?[sdicxXofFgGeEqb])*")
_UNARY = frozenset(f"-{letter}" for letter in "bcdefghknprstuwxzGLNOS")
_BINARY = frozenset(("=", "==", "!=", "-nt", "-ot", "-ef", "-eq", "-ne", "-lt", "-le", "-gt", "-ge"))


def base_name(name: str) -> str:
    return name.rpartition("/")[2]


def check_builtin(command: Command) -> None:
    """Raise `Unreadable` if a command may do more than its words show."""
    name, arguments = base_name(command.name), command.arguments
    for variable, _ in command.variables:
        is_splitting = variable == "IFS" and name == "read"
        is_special = variable in _SPECIAL or variable.startswith(_SPECIAL_PREFIXES)
        is_name = variable.isascii() and variable.isidentifier()
        if not is_name or (is_special and not is_splitting):
            raise Unreadable(f"{variable} is set: it changes what runs")
    if name in _NEVER:
        raise Unreadable(f"`{name}` runs what is not seen, or changes what words mean")
    if name in _CHECKS and not _CHECKS[name](arguments):
        raise Unreadable(f"`{name}` with words that are not followed")


def is_plain_test(words: Sequence[Word]) -> bool:
    """Return whether the operator is literal; `-v` would evaluate its operand."""
    words = words[1:] if words[:1] in (["!"], ("!",)) else words
    is_unary = len(words) == 2 and words[0] in _UNARY
    return len(words) == 1 or is_unary or (len(words) == 3 and words[1] in _BINARY)


def _test(words: Sequence[Word]) -> bool:
    return is_plain_test(words) and all(isinstance(word, str) or word.is_single for word in words)


def _set(words: Sequence[Word]) -> bool:
    options = [word for word in words if word != "pipefail"]
    return all(isinstance(word, str) and re.fullmatch(r"[-+][eux]*o?", word) for word in options)


def _printf(words: Sequence[Word]) -> bool:
    return bool(words) and isinstance(words[0], str) and words[0][:1] != "-" and bool(_PRINTF.fullmatch(words[0]))


def _read(words: Sequence[Word]) -> bool:
    """Return whether a command only sets the script's own variables, in lower case."""
    names = [word for word in words[1:] if isinstance(word, str) and word.isidentifier() and word == word.lower()]
    return words[:1] == ("-r",) and len(names) == len(words) - 1


_CHECKS: dict[str, Callable[[Sequence[Word]], bool]] = {
    "export": operator.not_,
    "printf": _printf,
    "read": _read,
    "set": _set,
    "test": _test,
}


def inner(command: Command) -> list[Command]:
    """Return the further commands that a command runs."""
    name, arguments = base_name(command.name), command.arguments
    if name == "find":
        return _find(arguments)
    if name not in _WRAPPERS or (name == "command" and arguments[:1] in (("-v",), ("-V",))):
        return []
    rest = _operands(name, arguments)
    variables = []
    while name in ("env", "sudo") and rest and isinstance(rest[0], str) and "=" in rest[0]:
        variable, _, value = str(rest.pop(0)).partition("=")
        variables.append((variable, value))
    if not rest:
        return [Command("", (), tuple(variables))] if variables else []
    return [_made([*rest, *([Dynamic()] if name == "xargs" else [])], variables)]


def _made(words: Sequence[Word], variables: Sequence[tuple[str, Word]] = ()) -> Command:
    if not isinstance(words[0], str) or not words[0]:
        raise Unreadable("the name of a command is not literal")
    return Command(words[0], tuple(words[1:]), tuple(variables))


def _operands(name: str, arguments: Sequence[Word]) -> list[Word]:
    """Return the words after the options of a wrapper."""
    flags, valued, operands = _WRAPPERS[name]
    rest = list(arguments)
    while rest and isinstance(rest[0], str) and rest[0].startswith("-"):
        word = str(rest.pop(0))
        if word == "--":
            break
        if word in valued.split() and rest and isinstance(rest[0], str):
            rest.pop(0)
        elif word not in flags.split() and not (word[:2] in valued.split() and len(word) > 2):
            raise Unreadable(f"options of `{name}` that are not followed")
    if any(isinstance(word, Dynamic) for word in rest[: operands + 1]):
        raise Unreadable(f"`{name}` runs what is not literal")
    return rest[operands:]


def _find(arguments: Sequence[Word]) -> list[Command]:
    """Return the commands that `find` runs for found files, if it does nothing else."""
    found, rest = [], list(arguments)
    while rest:
        word = rest.pop(0)
        if word == "-exec":
            words: list[Word] = []
            while rest and rest[0] != ";" and not (rest[0] == "+" and words[-1:] == ["{}"]):
                words.append(rest.pop(0))
            # Other words than literal ones may end it sooner.
            if not words or not rest or "-exec" in words or not all(isinstance(each, str) for each in words):
                raise Unreadable("`find` with an `-exec` that does not end for certain")
            names = Dynamic(is_single=rest.pop(0) == ";")
            found.append(_made([names if isinstance(each, str) and "{}" in each else each for each in words]))
        elif word in _FIND_VALUES and rest and (isinstance(rest[0], str) or rest[0].is_single):
            rest.pop(0)
        elif (word if isinstance(word, str) else word.prefix or "-")[:1] in _FIND_SIGNS and word not in _FIND_TESTS:
            raise Unreadable("`find` with words that may do more than look for files")
    return found
