"""What keeps a command from being understood by its name and words: each finding is a reason for "unknown"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools_shell._environment import changes_the_shell, is_variable_name
from tools_shell._script._names import splits_input
from tools_shell._script._parts import Expanded, is_one

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tools_shell._script._parts import SimpleCommand, Word

# They run what is not seen here, or change what a name or a character means from then on.
_NEVER = {
    ".": "runs a file",
    "alias": "changes what names mean",
    "bind": "binds commands to keys",
    "compgen": "runs functions and expands words",
    "complete": "runs functions and expands words",
    "coproc": "runs a command at its side",
    "enable": "changes what names mean",
    "fc": "runs commands of the past",
    "hash": "changes what names mean",
    "history": "rewrites commands of the past",
    "jobs": "may run a command",
    "let": "computes, and values may hold commands",
    "shopt": "changes how the script is read",
    "source": "runs a file",
    "trap": "runs a command later",
}
_OPTIONS_OF_SET = frozenset(("errexit", "noclobber", "noglob", "nounset", "pipefail", "verbose", "xtrace"))
_UNARY = frozenset(f"-{letter}" for letter in "abcdefghknoprstuwxzGLNOS")
_BINARY = frozenset(("=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef", "=~"))
_COMPUTING = frozenset(("-eq", "-ne", "-lt", "-le", "-gt", "-ge"))


def suspicions(command: SimpleCommand) -> Iterator[str]:
    """The reasons why `command` may do more than it says."""
    for assignment in command.assignments:
        if not splits_input(command, assignment.name):
            yield from _set(assignment.name)
    if command.name is None:
        yield f"the name of a command is not literal: {_short(command.text)}"
    elif command.name in _NEVER:
        yield f"`{command.name}` {_NEVER[command.name]}"
    elif judge := _JUDGES.get(command.name):
        # Only where the shell sees the name itself are the words behind it taken for assignments.
        is_declared = command.text.startswith(command.name) and "wrapper" not in command.places
        if judge is _declare and not is_declared and not all(map(is_one, command.arguments)):
            yield f"`{command.name}` may be given more than it seems"
        if problem := judge(command.arguments):
            yield f"`{command.name}` {problem}"


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:60]}..."


def _set(name: str) -> Iterator[str]:
    if name == "PATH" or changes_the_shell(name):
        yield f"{name} is set: it changes what runs"


def _is_harmless_name(word: Word) -> bool:
    return isinstance(word, str) and is_variable_name(word) and not any(_set(word))


def _declare(arguments: Sequence[Word]) -> str | None:
    for word in arguments:
        text = word.text if isinstance(word, Expanded) else word
        if not _is_harmless_name(text.partition("=")[0]):
            return f"is given {_short(text)}"
    return None


def _read(arguments: Sequence[Word], *, flags: str = "rs", valued: str = "dnNptu") -> str | None:
    rest = list(arguments)
    while rest and isinstance(option := rest[0], str) and option.startswith("-"):
        rest.pop(0)
        if len(option) < 2 or set(option[1:-1]) - set(flags):
            return "has options that are not followed"
        if option[-1] in valued and rest and is_one(rest[0]):
            rest.pop(0)
        elif option[-1] not in flags:
            return "has options that are not followed"
    return None if all(map(_is_harmless_name, rest)) else "sets a variable that is not plain"


def _unset(arguments: Sequence[Word]) -> str | None:
    names = arguments[1:] if arguments[:1] == ("-v",) else arguments
    return None if all(map(_is_harmless_name, names)) else "removes what is not a plain variable"


def _set_options(arguments: Sequence[Word]) -> str | None:
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if word in ("-", "--"):
            return None
        if isinstance(word, Expanded) or word[:1] not in ("-", "+") or set(word[1:]) - set("euxvfCo"):
            return "changes how the script is read"
        if "o" in word[1:] and (not rest or rest.pop(0) not in _OPTIONS_OF_SET):
            return "changes how the script is read"
    return None


def _printf(arguments: Sequence[Word]) -> str | None:
    rest = list(arguments)
    if rest[:1] == ["-v"]:
        if len(rest) < 2 or not _is_harmless_name(rest[1]):
            return "sets a variable that is not plain"
        rest = rest[2:]
    if rest[:1] == ["--"]:
        rest = rest[1:]
    elif rest and isinstance(rest[0], str) and rest[0].startswith("-"):
        return "has options that are not followed"
    if not rest:
        return None
    form = rest[0]
    if isinstance(form, Expanded):
        return "has a format that is not literal"
    for directive in form.replace("%%", "").split("%")[1:]:
        # `%n` sets the variable that is named by an argument.
        if directive.lstrip("-+ #0123456789.*hlLjzt")[:1] not in tuple("sdicxXoufFgGeEaAbqQ"):
            return "has a format that is not plain"
    return None


def _test(arguments: Sequence[Word]) -> str | None:
    """`-v` and `-R` evaluate what they are given; an expanded word must not become one of them."""
    words = arguments[:-1] if arguments[-1:] == ("]",) else arguments
    words = words[1:] if len(words) > 1 and words[0] == "!" else words
    for word, behind in zip(words, (*words[1:], ""), strict=False):
        if word in ("-v", "-R") and not _is_harmless_name(behind):
            return "asks about a variable that is not plain"
    is_clear = (
        len(words) < 2
        or (len(words) == 2 and words[0] in _UNARY)
        or (len(words) == 3 and words[1] in _BINARY)
        or all(isinstance(word, str) for word in words)
    )
    return None if is_clear and all(map(is_one, words)) else "has operators that are not literal"


def _condition(arguments: Sequence[Word]) -> str | None:
    for before, word, behind in zip(("", *arguments), arguments, (*arguments[1:], ""), strict=False):
        if word in ("-v", "-R") and not _is_harmless_name(behind):
            return "asks about a variable that is not plain"
        if word in _COMPUTING and not (_is_number(before) and _is_number(behind)):
            return "computes, and values may hold commands"
    return None


def _is_number(word: Word) -> bool:
    if isinstance(word, Expanded):
        return word.text.strip('"') in ("$#", "$?", "$$")
    return word.isascii() and word.isdigit()


def _getopts(arguments: Sequence[Word]) -> str | None:
    if len(arguments) < 2 or not _is_harmless_name(arguments[1]):
        return "sets a variable that is not plain"
    return None


def _wait(arguments: Sequence[Word]) -> str | None:
    if all((isinstance(word, str) and word.isdigit()) or word in _LAST_JOB for word in arguments):
        return None
    return "has options that are not followed"


_LAST_JOB = (Expanded("$!"), Expanded("$!", is_single=True), Expanded('"$!"', is_single=True))


def _time(arguments: Sequence[Word]) -> str | None:
    # A reserved word: a group or a loop may follow, which a parser takes for arguments.
    words = arguments[1:] if arguments[:1] == ("-p",) else arguments
    is_plain = not words or (isinstance(words[0], str) and words[0].replace("_", "a").replace("-", "a").isalnum())
    return None if is_plain and words[:1] not in _RESERVED else "stands before what is no simple command"


_RESERVED = tuple((word,) for word in ("case", "coproc", "for", "function", "if", "select", "time", "until", "while"))


_JUDGES: dict[str, Callable[[Sequence[Word]], str | None]] = {
    "[": _test,
    "[[": _condition,
    "declare": _declare,
    "export": _declare,
    "getopts": _getopts,
    "local": _declare,
    "mapfile": lambda arguments: _read(arguments, flags="t", valued="dnOsu"),
    "printf": _printf,
    "read": _read,
    "readarray": lambda arguments: _read(arguments, flags="t", valued="dnOsu"),
    "readonly": _declare,
    "set": _set_options,
    "test": _test,
    "time": _time,
    "typeset": _declare,
    "unset": _unset,
    "wait": _wait,
}
