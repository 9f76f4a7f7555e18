"""Programs in the small languages of `sed` and `awk`: whether they only read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools_shell._script._options import harmless, may_be_option, read_options
from tools_shell._script._parts import Expanded, is_one

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools_shell._script._parts import Word

_DELIMITERS = tuple("/|#,:@!%")  # of what `s` substitutes
_SED = harmless("nErsuz", "", "quiet silent regexp-extended null-data")
# Input from commands and the network, calls by a name that is computed; gawk takes some names of files for addresses,
# be they operands or what the program makes of them.
_ACTIVE = ("@", "system", "getline", "ARGV", "SYMTAB", "\\\n")
_SENDING = (">", "|")  # behind `print`; in front of the first one they compare, or stand in a pattern


def sed_reads(arguments: Sequence[Word]) -> bool:
    """Whether `sed` prints and substitutes only: `-n '1,20p'`, `s/a/b/g`."""
    words, scripts = [], []
    rest = list(arguments)
    # Behind `--`, and for some behind the first operand, `-e` is the name of a file.
    while rest and may_be_option(rest[0]) and rest[0] != "--":
        word = rest.pop(0)
        if _takes_script(word) and rest:
            scripts.append(rest.pop(0))
        else:
            words.append(word)
    operands = read_options([*words, *rest], _SED)
    if operands is None:
        return False
    if not scripts:
        scripts, operands = operands[:1], operands[1:]
    return bool(scripts) and all(isinstance(script, str) and _is_plain_sed(script) for script in scripts)


def _takes_script(option: Word) -> bool:
    """Whether it is `-e`, be it behind harmless flags: `-ne`."""
    if isinstance(option, Expanded) or option.startswith("--"):
        return option == "--expression"
    return option.endswith("e") and set(option[1:-1]) <= set(_SED.flags)


def _is_plain_sed(script: str) -> bool:
    position = 0
    while position < len(script):
        if script[position] in " \t\n;}":
            position += 1
            continue
        end = _command_of_sed(script, position)
        if end is None or (script[end - 1] != "{" and script[end : end + 1] not in ("", *" \t\n;}")):
            return False
        position = end
    return True


def _command_of_sed(script: str, position: int) -> int | None:
    """Where a command ends; None for one that is not plain."""
    after = _address(script, position)
    if after is not None and script[after : after + 1] == ",":
        after = _address(script, after + 1)
        if after is None:
            return None
    position = position if after is None else after
    while script[position : position + 1] in ("!", " "):
        position += 1
    command = script[position : position + 1]
    if command in ("p", "d", "=", "q", "l", "n", "N", "D", "P", "h", "H", "g", "G", "x", "{"):
        return position + 1
    delimiter = script[position + 1 : position + 2]
    if command != "s" or delimiter not in _DELIMITERS:
        return None
    middle = _part(script, position + 2, delimiter)
    end = _part(script, middle, delimiter) if middle is not None else None
    while end is not None and script[end : end + 1] in tuple("gpIi0123456789"):
        end += 1
    return end


def _address(script: str, position: int) -> int | None:
    if script[position : position + 1] == "/":
        return _part(script, position + 1, "/")
    end = position
    while script[end : end + 1] in tuple("0123456789$+~"):
        end += 1
    return end if end > position else None


def _part(script: str, position: int, delimiter: str) -> int | None:
    """Where what stands before the next delimiter ends; one in brackets is read in two ways, so that is none."""
    bracket = 0  # how deep: `[[:alpha:]]` has one in it
    while position < len(script) and script[position] != "\n":
        character = script[position]
        behind = script[position + 1 : position + 3]
        if character == delimiter:
            return None if bracket else position + 1
        if character == "[":
            if behind.startswith("]") or behind == "^]":  # which does not end it
                return None
            bracket += not bracket or behind[:1] in (":", ".", "=")
        elif character == "]" and bracket:
            bracket -= 1
        position += 2 if character == "\\" else 1
    return None


def awk_reads(arguments: Sequence[Word]) -> bool:
    """Whether `awk` has a literal program that neither writes nor runs anything."""
    rest = list(arguments)
    while rest and isinstance(rest[0], str) and may_be_option(rest[0]):
        option = str(rest.pop(0))
        if option in ("-F", "-v"):
            if not rest or not is_one(rest.pop(0)):
                return False
        elif not option.startswith(("-F", "-v")):
            return False
    if not rest or not isinstance(rest[0], str) or not _is_plain_awk(rest[0]):
        return False
    return not any(may_be_option(word) or _may_be_address(word) for word in rest[1:])


def _is_plain_awk(program: str) -> bool:
    printed = program.partition("print")[2].replace("||", "")
    return not any(sign in program for sign in _ACTIVE) and not any(sign in printed for sign in _SENDING)


def _may_be_address(word: Word) -> bool:
    """Whether a file is one that gawk takes for an address, `/inet/tcp/0/host/port`."""
    if isinstance(word, Expanded):
        return word.prefix.startswith("/inet") or "/inet".startswith(word.prefix)
    return word.startswith("/inet")
