"""Commands that run others, and builtins that change what words mean."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from tools_shell._environment import changes_the_shell, is_variable_name
from tools_shell._script._parts import Command, Dynamic, Unreadable, words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools_shell._script._parts import Word

# Commands that run what is not seen, or change what is read after them.
_NEVER = words("""
    . alias ash bind busybox caller chronic chroot compgen complete compopt coproc dash declare doas enable eval
    expect fc flock fish gdb getopts hash history ionice jobs ksh let local logout ltrace mapfile nsenter parallel
    popd pushd readarray readonly runuser script select shopt source ssh strace su suspend systemd-run taskset trap
    typeset unalias unshare wait watch zsh
""")
_PRINTF = re.compile(r"(?:[^%]|%%|%[-+ #0]*\d*(?:\.\d+)?[sdicxXofFgGeEqb])*")


class _Options(NamedTuple):
    """The options of a wrapper, and how many operands stand before the command that it runs."""

    flags: frozenset[str] = frozenset()
    valued: frozenset[str] = frozenset()
    operands: int = 0


def _options(flags: str = "", valued: str = "", operands: int = 0) -> _Options:
    return _Options(frozenset(flags.split()), frozenset(valued.split()), operands)


_WRAPPERS = {
    "builtin": _options(),
    "command": _options("-p"),
    "env": _options("-i - --ignore-environment", "-u --unset"),
    "exec": _options("-c"),
    "nice": _options("", "-n --adjustment"),
    "nohup": _options(),
    "setsid": _options("-f -w --fork --wait"),
    "stdbuf": _options("", "-i -o -e"),
    "sudo": _options("-n -E -H -k", "-u -g --user --group"),
    "timeout": _options("-v -f -p --foreground --preserve-status", "-k -s --kill-after --signal", 1),
    "xargs": _options("-0 --null -r --no-run-if-empty -t --verbose", "-n -P -L -d --max-args --max-procs --delimiter"),
}
_SETTING = ("env", "sudo")  # variables stand before their command


def base_name(name: str) -> str:
    return name.rpartition("/")[2]


def check_builtin(command: Command) -> None:
    """Raise `Unreadable` where a command may do more than its name and words say."""
    name, arguments = base_name(command.name), command.arguments
    for variable, _ in command.variables:
        is_splitting = variable == "IFS" and name == "read"
        if not is_variable_name(variable) or variable == "PATH" or (changes_the_shell(variable) and not is_splitting):
            raise Unreadable(f"{variable} is set: it changes what runs")
    if name in _NEVER:
        raise Unreadable(f"`{name}` runs what is not seen, or changes what words mean")
    check = _CHECKS.get(name)
    if check is not None and not check(arguments):
        raise Unreadable(f"`{name}` with words that are not followed")


def _names(words: Sequence[Word]) -> bool:
    """Return whether all are names of variables of a script's own, which are written in lower case."""
    return all(isinstance(word, str) and is_variable_name(word) and word == word.lower() for word in words)


def _set(words: Sequence[Word]) -> bool:
    options = [word for word in words if word != "pipefail"]
    return all(isinstance(word, str) and re.fullmatch(r"[-+][eux]*o?", word) for word in options)


def _printf(words: Sequence[Word]) -> bool:
    return bool(words) and isinstance(words[0], str) and words[0][:1] != "-" and bool(_PRINTF.fullmatch(words[0]))


def _test(words: Sequence[Word]) -> bool:
    """Return whether the operator is literal: `-v` evaluates what it is given."""
    words = words[1:] if words[:1] == ("!",) else words
    is_one = all(isinstance(word, str) or word.is_single for word in words)
    is_unary = len(words) == 2 and isinstance(words[0], str) and words[0] not in ("-v", "-R")
    is_binary = len(words) == 3 and isinstance(words[1], str) and words[1] not in ("-a", "-o")
    return is_one and (is_unary or is_binary)


_CHECKS = {
    "printf": _printf,
    "read": lambda words: words[:1] == ("-r",) and _names(words[1:]),
    "set": _set,
    "test": _test,
    "unset": _names,
}


def inner(command: Command) -> str | list[Command]:
    """Return what a command runs besides itself: commands, or a script."""
    name, arguments = base_name(command.name), command.arguments
    if name in ("bash", "sh"):
        return _shell(name, arguments)
    if name == "find":
        return _find(arguments)
    if name == "command" and arguments[:1] in (("-v",), ("-V",)):
        return []
    if name not in _WRAPPERS:
        return []
    rest = _operands(name, arguments)
    variables = []
    while name in _SETTING and rest and isinstance(rest[0], str) and "=" in rest[0]:
        variable, _, value = str(rest.pop(0)).partition("=")
        variables.append((variable, value))
    if not rest:
        return [Command("", (), tuple(variables))] if variables else []
    more = (Dynamic(),) if name == "xargs" else ()
    return [_made([*rest, *more], variables)]


def _made(words: Sequence[Word], variables: Sequence[tuple[str, Word]] = ()) -> Command:
    if not isinstance(words[0], str) or not words[0]:
        raise Unreadable("the name of a command is not literal")
    return Command(words[0], tuple(words[1:]), tuple(variables))


def _operands(name: str, arguments: Sequence[Word]) -> list[Word]:
    """Return the words behind the options of a wrapper."""
    options, rest = _WRAPPERS[name], list(arguments)
    while rest and isinstance(rest[0], str) and rest[0].startswith("-"):
        word = str(rest.pop(0))
        if word == "--":
            break
        if word in options.valued and rest and isinstance(rest[0], str):
            rest.pop(0)
        elif word not in options.flags and not (word[:2] in options.valued and len(word) > 2 and word[1] != "-"):
            raise Unreadable(f"options of `{name}` that are not followed")
    if any(isinstance(word, Dynamic) for word in rest[: options.operands + 1]):
        raise Unreadable(f"`{name}` runs what is not literal")
    return rest[options.operands :]


def _shell(name: str, arguments: Sequence[Word]) -> str:
    script = arguments[-1] if arguments else None
    if arguments[:-1] not in (("-c",), ("-ec",), ("-c", "--")) or not isinstance(script, str):
        raise Unreadable(f"`{name}` runs what is not seen")
    if name == "sh" and not re.fullmatch(r"[\w\s./:;|=,'-]*", script, re.ASCII):
        raise Unreadable("`sh` may read its script otherwise than bash")
    return script


def _find(arguments: Sequence[Word]) -> list[Command]:
    found, rest = [], list(arguments)
    while rest:
        word = rest.pop(0)
        if isinstance(word, Dynamic) and (not word.prefix or word.prefix[0] in "-(!,;"):
            raise Unreadable("`find` may be given `-exec` or `-delete` by a word that is not literal")
        if word in ("-ok", "-okdir"):
            raise Unreadable("`find` asks")
        if word not in ("-exec", "-execdir"):
            continue
        words: list[Word] = []
        while rest and rest[0] != ";" and not (rest[0] == "+" and words[-1:] == ["{}"]):
            if rest[0] in ("-exec", "-execdir"):
                raise Unreadable("`find` with `-exec` inside of `-exec`")
            words.append(rest.pop(0))
        if not words or not rest:
            raise Unreadable("`find` with an `-exec` that does not end")
        is_single = rest.pop(0) == ";"
        found.append(
            _made([Dynamic(is_single=is_single) if isinstance(each, str) and "{}" in each else each for each in words])
        )
    return found
