"""Commands that run another command: what they are handed is judged like the rest of the script."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tools_shell._script._find import BY_FOLDER, WITH_COMMAND, starting_points, unclear
from tools_shell._script._parts import Assignment, Expanded, SimpleCommand, is_one

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tools_shell._script._parts import Word

_ANY = Expanded("...")  # what is read or found while it runs
_SHELLS = frozenset(("ash", "bash", "dash", "sh"))
# What other shells than bash read otherwise, or do not know.
_OF_BASH = ("$'", '$"', "&>", "|&", "<<<", "<(", ">(", "((", "[[", "{", "+=", "function", "select", "coproc", "time")


class Inner(NamedTuple):
    """What a command runs: other commands, and scripts as text; or the reason why that is not known."""

    commands: Sequence[SimpleCommand] = ()
    scripts: Sequence[str] = ()
    unknown: str | None = None


class _Options(NamedTuple):
    """The options of a wrapper, and how many operands stand before the command that it runs."""

    flags: frozenset[str] = frozenset()
    valued: frozenset[str] = frozenset()
    operands: int = 0
    sets_variables: bool = False


def _options(flags: str = "", valued: str = "", operands: int = 0, *, sets_variables: bool = False) -> _Options:
    return _Options(frozenset(flags.split()), frozenset(valued.split()), operands, sets_variables)


_XARGS = _options(
    "-0 --null -r --no-run-if-empty -t --verbose -x --exit -o --open-tty",
    "-I -n -P -L -d -E -s -a --max-args --max-procs --delimiter --arg-file --max-chars",
)
_PREFIXES = {
    "builtin": _options(),
    "busybox": _options(),
    "chronic": _options(),
    "command": _options("-p"),
    "doas": _options("-n", "-u -C"),
    "env": _options("-i - --ignore-environment -v --debug", "-u --unset -C --chdir", sets_variables=True),
    "exec": _options("-c"),  # with another name, or that of a login shell, many a program is another one
    "ionice": _options("-t --ignore", "-c --class -n --classdata"),
    "nice": _options("", "-n --adjustment"),
    "nohup": _options(),
    "setsid": _options("-c --ctty -f --fork -w --wait"),
    "stdbuf": _options("", "-i -o -e --input --output --error"),
    "sudo": _options("-n -E -H -S -k -b", "-u -g -h -p -C -T --user --group", sets_variables=True),
    "time": _options("-p"),
    "timeout": _options("-v --verbose -f --foreground -p --preserve-status", "-k -s --kill-after --signal", 1),
}
_WATCH = _options("-d -t -b -e -g -c --differences --no-title --beep --errexit --chgexit --color", "-n --interval")
_SHELL = _options("-e -u -x -f --norc --noprofile --posix +e +u +x")
_PIPEFAIL = (["-o"], ["-eo"], ["-uo"], ["-euo"], ["-euxo"])


def inner(command: SimpleCommand) -> Inner:
    """What `command` runs besides itself; nothing for one that is no wrapper."""
    name = (command.name or "").rpartition("/")[2]
    if name in _SHELLS:
        return _shell(command, name)
    if name in _PREFIXES:
        return _prefix(command, name)
    return _OTHERS[name](command) if name in _OTHERS else Inner()


def _operands(command: SimpleCommand, options: _Options) -> list[Word] | None:
    """The words behind the options; None where they cannot be told apart."""
    rest = list(command.arguments)
    while rest:
        word = rest[0]
        if isinstance(word, Expanded):
            return None
        if not word.startswith(("-", "+")) or (word == "-" and word not in options.flags):
            break
        rest.pop(0)
        if word == "--":
            break
        if word in options.valued and rest and is_one(rest[0]):
            rest.pop(0)
        elif word not in options.flags and not _is_attached(word, options):
            return None
    return rest


def _is_attached(word: str, options: _Options) -> bool:
    """Whether it is `--signal=KILL`, `-n10`, or several flags in one: `-0r`."""
    if word.startswith("--"):
        name, equals, _ = word.partition("=")
        return bool(equals) and name in options.valued
    return (word[:2] in options.valued) or all(f"{word[0]}{letter}" in options.flags for letter in word[1:])


def _prefix(command: SimpleCommand, name: str) -> Inner:
    if name == "command" and command.arguments[:1] in (("-v",), ("-V",)):
        return Inner()
    options = _PREFIXES[name]
    rest = _operands(command, options)
    if rest is None or not all(map(is_one, rest[: options.operands])):
        return Inner(unknown=f"options of `{name}` that are not followed")
    rest = rest[options.operands :]
    assignments = []
    while options.sets_variables and rest and isinstance(rest[0], str) and "=" in rest[0]:
        variable, _, value = str(rest.pop(0)).partition("=")
        assignments.append(Assignment(variable, value))
    if not rest and not assignments:
        return Inner()
    return Inner([_made(command, rest, assignments)])


def _made(outer: SimpleCommand, words: Sequence[Word], assignments: Sequence[Assignment] = ()) -> SimpleCommand:
    return SimpleCommand(
        name=_name(words),
        arguments=tuple(words[1:]),
        assignments=tuple(assignments),
        places=(*outer.places, "wrapper"),
        text=" ".join(word.text if isinstance(word, Expanded) else word for word in words),
    )


def _name(words: Sequence[Word]) -> str | None:
    """The name of a command of these words, as `SimpleCommand` has it; an empty word is none that is known."""
    if not words:
        return ""
    return words[0] or None if isinstance(words[0], str) else None


def _shell(command: SimpleCommand, name: str) -> Inner:
    flags = list(command.arguments)
    if flags[:1] in _PIPEFAIL and flags[1:2] == ["pipefail"]:
        del flags[:2]
    for number, word in enumerate(flags):
        # `-ec script`: the flags in front of it, and `-c` itself.
        if isinstance(word, str) and word[:1] == "-" and word[1:2] != "-" and word.endswith("c"):
            flags[number] = word[:-1] if len(word) > 2 else "-e"
            if any(isinstance(each, Expanded) for each in flags[number + 1 : number + 2]):
                return Inner(unknown=f"`{name} -c` runs what is not literal")
            rest = _operands(_made(command, [name, *flags]), _SHELL)
            if rest is None or flags[number + 1 :] not in (rest, ["--", *rest]):
                break
            if not rest or isinstance(rest[0], Expanded):
                break
            if name != "bash" and not _is_portable(rest[0]):
                return Inner(unknown=f"`{name}` may read its script otherwise than bash")
            return Inner(scripts=[rest[0]])
        if isinstance(word, str) and not word.startswith(("-", "+")):
            break
    return Inner(unknown=f"`{name}` runs what it reads")


def _is_portable(script: str) -> bool:
    """Whether other shells read it likewise: to them `10>` is a word in front of `>`, and `x+=1` a command."""
    has_descriptor = any(script[at - 2 : at].isdigit() for at, sign in enumerate(script) if sign in "<>")
    return not has_descriptor and not any(sign in script for sign in _OF_BASH)


def _eval(command: SimpleCommand) -> Inner:
    words = command.arguments
    return _joined(words[1:] if words[:1] == ("--",) else words, "eval")


def _joined(words: Sequence[Word], name: str) -> Inner:
    literals = [word for word in words if isinstance(word, str)]
    if len(literals) < len(words):
        return Inner(unknown=f"`{name}` runs what is not literal")
    return Inner(scripts=[" ".join(literals)])


def _watch(command: SimpleCommand) -> Inner:
    rest = _operands(command, _WATCH)
    return Inner(unknown="options of `watch` that are not followed") if rest is None else _joined(rest, "watch")


def _xargs(command: SimpleCommand) -> Inner:
    rest = _operands(command, _XARGS)
    if rest is None:
        return Inner(unknown="options of `xargs` that are not followed")
    if not rest:
        return Inner()
    options = command.arguments[: len(command.arguments) - len(rest)]
    marks = list(_replaced(options))
    if marks and any(isinstance(word, str) and word.startswith(("-n", "-L", "--max-args")) for word in options):
        return Inner(unknown="`xargs` is told to replace and to append: the last one wins")
    if not marks:
        return Inner([_made(command, [*rest, _ANY])])
    mark = marks[0] if len(marks) == 1 else ""
    return Inner([_made(command, [_holding(word, mark) for word in rest])])


def _replaced(options: Sequence[Word]) -> Iterator[str]:
    """What `-I` says is replaced; empty, which stands for everything, where it is not literal."""
    rest = list(options)
    while rest:
        word = rest.pop(0)
        value = rest.pop(0) if word in _XARGS.valued and rest else ""  # which may look like an option
        if word == "-I":
            yield value if isinstance(value, str) else ""
        elif isinstance(word, str) and word.startswith("-I"):
            yield word[2:]


def _holding(word: Word, mark: str, beginning: str = "", *, is_single: bool = True) -> Word:
    """The word as it may become, where what replaces the mark begins so."""
    if isinstance(word, str) and mark in word:
        return Expanded(word, word.partition(mark)[0] + beginning if mark else "", is_single=is_single)
    return word


def _find(command: SimpleCommand) -> Inner:
    if word := unclear(command.arguments):
        return Inner(unknown=f"`find` may be given `-exec` or `-delete` by {word}")
    made, rest = [], list(command.arguments)
    places = set(starting_points(rest))
    found = places.pop() if len(places) == 1 else ""
    while rest:
        if (action := rest.pop(0)) in WITH_COMMAND:
            words: list[Word] = []
            while rest and rest[0] != ";" and not (rest[0] == "+" and words[-1:] == ["{}"]):
                words.append(rest.pop(0))
            if WITH_COMMAND.intersection(words):  # the first may be the value of a test: `-name -exec`
                return Inner(unknown="`find` is given `-exec` inside of `-exec`")
            beginning = "" if action in BY_FOLDER else found
            is_single = rest[:1] != ["+"]
            made.append(_made(command, [_holding(word, "{}", beginning, is_single=is_single) for word in words]))
    return Inner(made)


def _flock(command: SimpleCommand) -> Inner:
    rest = _operands(command, _options("-n -s -x -u -o -F --nonblock --shared --exclusive", "-w -E --timeout", 1))
    if rest is None or not rest or not is_one(rest[0]):
        return Inner(unknown="options of `flock` that are not followed")
    if rest[1:2] in (["-c"], ["--command"]):
        return _joined(rest[2:], "flock")
    return Inner([_made(command, rest[1:])]) if rest[1:] else Inner()


_OTHERS: dict[str, Callable[[SimpleCommand], Inner]] = {
    "eval": _eval,
    "find": _find,
    "flock": _flock,
    "watch": _watch,
    "xargs": _xargs,
}
