"""`commands_of`: the commands of a script that consists of plain words.

The grammar covers words and quotes, lists, pipelines, comments and redirections to files. A word with a plain variable,
`$HOME` or `${HOME}`, or a glob is an argument whose value is unknown. In all other scripts the commands are unknown.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

Word = str | None  # None for a word that the shell expands to file names, or to the value of a variable

_MAX_SCRIPT = 8 * 1024  # characters
_VARIABLE = r"\$(?:[A-Za-z_][A-Za-z0-9_]*|\{[A-Za-z_][A-Za-z0-9_]*\}|\?)"
_TOKEN = re.compile(
    r"""
    (?P<blank>(?:[ \t]|(?<=[ \t])\\\n)+ | \#[^\n]*)
    | (?P<copy>\d?>&[12](?=[\s;&|<>]|$))
    | (?P<redirection>&>>? | \d?>>? | \d?<)
    | (?P<separator>&& | \|\|? | \|& | [;&\n])
    | (?P<word>(?: '[^']*' | "(?:[^"$`\\]|\\[^\n]|\$(?=")|@VAR@)*" | \\[^\n] | @VAR@ | [\w./:@%+,=^!\-*?[\]~\#] )+)
    """.replace("@VAR@", _VARIABLE),
    re.VERBOSE,
)
_EXPANDED = re.compile(rf"(?<!\\)(?:\\\\)*{_VARIABLE}")  # not behind an odd number of backslashes
_PIECE = re.compile(
    r"""'(?P<raw>[^']*)'|"(?P<string>(?:[^"\\]|\\.)*)"|\\(?P<escaped>.)|(?P<plain>[^'"\\]+)""", re.DOTALL
)


def words(text: str) -> frozenset[str]:
    """Return the set of the words of a text."""
    return frozenset(text.split())


_NAME = re.compile(r"[\w./+-]+", re.ASCII)
# Keywords; builtins that run hidden commands or change the meaning of words; and programs that run other commands.
_NEVER = words("""
    case coproc do done elif else esac fi for function if in select then time until while
    . alias bind break builtin command compgen complete compopt continue declare dirs disown enable eval exec export fc
    getopts hash history jobs let local logout mapfile popd printf pushd read readarray readonly return set shift shopt
    source suspend test trap typeset ulimit umask unalias unset wait
    ash bash busybox chronic chroot chrt csh dash doas env fish flock gdb ionice ksh ltrace nice nohup nsenter parallel
    runuser script setpriv setsid sh ssh stdbuf strace su sudo systemd-run taskset tcsh timeout unshare watch xargs zsh
""")
_FIND_RUNS = ("-exec", "-ok")


class UnknownCommandsError(Exception):
    """A script whose commands cannot be determined reliably; the message says why."""


def commands_of(script: str) -> list[list[Word]]:
    """Return the words of each command of a bash script; raise UnknownCommandsError if there may be more.

    Variables come before their command. A file that a command opens is a separate command `<` or `>`.
    """
    _check_characters(script)
    commands: list[list[Word]] = []
    files: list[list[Word]] = []
    words: list[Word] = []
    operator = ""  # of a redirection whose file comes next
    for kind, text in [*_tokens(script), ("separator", "\n")]:
        if operator and kind not in ("blank", "word"):
            raise UnknownCommandsError("a redirection without a file")
        if kind == "word" and operator:
            word = _word(text)
            files += [] if word == "/dev/null" else [["<" if "<" in operator else ">", word]]
            operator = ""
        elif kind == "word":
            words.append(_word(text))
        elif kind == "redirection":
            operator = text
        elif kind == "separator" and words:
            _check_command(words)
            commands.append(words)
            words = []
    return commands + files


def _check_characters(script: str) -> None:
    if len(script) > _MAX_SCRIPT:
        raise UnknownCommandsError(f"it has more than {_MAX_SCRIPT} characters")
    for character, following in zip(script, script[1:] + "\n", strict=False):
        if character not in "\t\n " and unicodedata.category(character)[0] in "CZ":
            raise UnknownCommandsError(f"it contains the character U+{ord(character):04X}")
        if not character.isascii() and following in "\\`|":
            raise UnknownCommandsError("some encodings read these two characters as a single one")


def _tokens(script: str) -> Iterator[tuple[str, str]]:
    start = 0
    while start < len(script):
        match = _TOKEN.match(script, start)
        if match is None or not match.lastgroup:
            raise UnknownCommandsError(f"a construct that starts with {script[start]}")
        yield match.lastgroup, match[0]
        start = match.end()


def _word(text: str) -> Word:
    """Return a word without its quotes, as a command receives it."""
    literal = ""
    for match in _PIECE.finditer(text):
        piece = match[match.lastgroup or 0]
        if match.lastgroup in ("plain", "string") and _EXPANDED.search(piece):
            return None
        if match.lastgroup == "string":
            piece = re.sub(r'\\([$`"\\])', r"\1", piece)
        if match.lastgroup == "plain" and (re.search(r"[*?[]", piece) or (not match.start() and piece[0] == "~")):
            return None
        literal += piece
    return literal


def _check_command(words: list[Word]) -> None:
    named = next((position for position, word in enumerate(words) if word is None or "=" not in word), None)
    name = None if named is None else words[named]
    if named is None or name is None or not _NAME.fullmatch(name):
        raise UnknownCommandsError("a command without a plain name")
    name = name.rpartition("/")[2]
    if name in _NEVER:
        raise UnknownCommandsError(f"`{name}` runs other commands, or changes the meaning of words")
    if name == "find" and any(word is None or word.startswith(_FIND_RUNS) for word in words[named + 1 :]):
        raise UnknownCommandsError("`find` with an option that may run commands")
