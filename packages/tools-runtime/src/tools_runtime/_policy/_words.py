"""Commands: patterns on their words."""

from __future__ import annotations

from fnmatch import fnmatchcase
from posixpath import normpath
from typing import TYPE_CHECKING, Literal

from tools_runtime._policy._places import beyond

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tools_runtime._policy._facts import Command

Match = Literal["yes", "no", "perhaps"]

# Options by which commands that usually read come to write, or to run another program: long names, and letters.
OPTIONS = {
    "awk": ("-f --file --exec --include --load", "fEil"),
    "curl": (
        (
            "--output --remote-name --remote-name-all --config --upload-file --output-dir --dump-header --cookie-jar"
            " --trace --trace-ascii --libcurl --stderr --etag-save --hsts --alt-svc --ssl-sessions --write-out --engine"
            " --data --data-ascii --data-binary --data-raw --data-urlencode --form --form-string --json --url-query"
        ),
        "oOKTDcwdF",  # `-w '%output{file}'` writes, and `-d @file` gives a file away
    ),
    "date": ("--set", "s"),
    "fd": ("--exec --exec-batch", "xX"),
    "find": ("-exec -execdir -ok -okdir -delete -fprint -fprint0 -fprintf -fls", ""),
    "git": (
        "--output --ext-diff --textconv --exec --upload-pack --receive-pack --open-files-in-pager --exec-path --extcmd",
        "cO",
    ),
    "iconv": ("--output", "o"),
    "less": ("--log-file --LOG-FILE --lesskey-file --lesskey-src --lesskey-content", "oOk+"),  # `+!command`
    "make": ("--eval --file --makefile --directory", "fC"),
    "man": ("--pager --html --preprocessor --config-file", "PHC"),
    "rg": ("--pre --hostname-bin --search-zip", "z"),
    "sed": ("--in-place --expression --file", "ief"),
    "shuf": ("--output", "o"),
    "sort": ("--output --compress-program --temporary-directory", "oT"),
    "tar": (
        (
            "--to-command --use-compress-program --checkpoint-action --info-script --new-volume-script --rsh-command"
            " --extract"
        ),
        "IFx",
    ),
    "tree": ("", "oR"),
    "wget": ("--output-document --output-file --use-askpass --execute --directory-prefix --post-file", "OoeP"),
    "xxd": ("", "r"),
}

_WRITING_TO_SECOND = frozenset(("uniq", "xxd"))  # as in `uniq from to`


def allows(patterns: Sequence[str], commands: Sequence[Command] | None) -> bool:
    """Whether every command is covered by a pattern, and there is one at all."""
    if not commands:
        return False
    return all(any(_covers(pattern, command) for pattern in patterns) for command in commands)


def concerns(patterns: Sequence[str], commands: Sequence[Command] | None) -> Match:
    """Whether any command is one that a pattern means; the path in front of a program's name makes no difference."""
    if commands is None:
        return "perhaps"
    return _any(_means(pattern, command) for pattern in patterns for command in commands)


def _covers(pattern: str, command: Command) -> bool:
    """Whether the pattern names this very command; `*` covers any words but options that need a name."""
    words = pattern.split()
    named = OPTIONS.get(_program(command))
    reached = beyond({0}, words, "*")
    for number, word in enumerate(command):
        following: set[int] = set()
        for place in reached:
            if place == len(words):
                continue
            if words[place] == "*":
                if not (named and number and _needs_name(word, named)) and not _is_output(command, number):
                    following.add(place)
            elif word is not None and fnmatchcase(word, words[place]) and not _climbs(word, words[place]):
                following.add(place + 1)
        reached = beyond(following, words, "*")
    return len(words) in reached


def _climbs(word: str, pattern: str) -> bool:
    """Whether a word leaves by `..` the folder that its pattern names: `build/*` means what is below it."""
    return ".." in word.split("/") and ".." not in pattern.split("/")


def _is_output(command: Command, number: int) -> bool:
    """Whether a word is, or may be, the second operand of a program that writes to it."""
    if _program(command) not in _WRITING_TO_SECOND:
        return False
    plain = [place for place, word in enumerate(command) if word is None or word[:1] != "-"]
    name = next(place for place, word in enumerate(command) if word is not None and "=" not in word.partition("/")[0])
    return number in plain and any(name < place < number for place in plain)


def _needs_name(word: str | None, named: tuple[str, str]) -> bool:
    """Whether a word is, or may be, one of the options that a pattern has to spell out."""
    if word is None:
        return True
    names, letters = named
    if word.startswith("--") and len(word) > 2:
        name = word.partition("=")[0]
        return any(option.startswith(name) for option in names.split())  # as programs take abbreviations
    if word[:1] == "+":
        return "+" in letters
    return word[:1] == "-" and (word in names.split() or any(letter in letters for letter in word[1:]))


def _means(pattern: str, command: Command) -> Match:
    plain = tuple(command)
    while plain and plain[0] is not None and "=" in plain[0]:  # variables in front hide no command
        plain = plain[1:]
    if not plain:
        plain = tuple(command)
    bare = (None if plain[0] is None else plain[0].rpartition("/")[2] or plain[0], *plain[1:])
    direct = tuple(word if word is None or "/" not in word else _direct(word) for word in bare)
    words = pattern.split()
    return _any(_leads_to(words, each) for each in dict.fromkeys((tuple(command), plain, bare, direct)))


def _any(matches: Iterable[Match]) -> Match:
    """Whether any of these is a match."""
    found = set(matches)
    return "yes" if "yes" in found else "perhaps" if "perhaps" in found else "no"


def _direct(word: str) -> str:
    """A path without its detours: `/tmp/..//etc` is `/etc`."""
    path = normpath(word)
    return path[1:] if path.startswith("//") else path


def _leads_to(words: Sequence[str], command: Command) -> Match:
    """Unknown words may stand for any number of words: what they could become is `perhaps`."""
    sure = possible = beyond({0}, words, "*")
    for word in command:
        if word is None:
            sure, possible = beyond(_stars(sure, words), words, "*"), _all_after(possible, words)
        else:
            sure = beyond(_after(sure, words, word), words, "*")
            possible = beyond(_after(possible, words, word), words, "*")
    return "yes" if len(words) in sure else "perhaps" if len(words) in possible else "no"


def _after(places: Iterable[int], words: Sequence[str], word: str) -> set[int]:
    here = [place for place in places if place < len(words)]
    return _stars(here, words) | {place + 1 for place in here if fnmatchcase(word, words[place])}


def _stars(places: Iterable[int], words: Sequence[str]) -> set[int]:
    return {place for place in places if place < len(words) and words[place] == "*"}


def _all_after(places: Iterable[int], words: Sequence[str]) -> set[int]:
    end = len(words) + 1
    return set(range(min(places, default=end), end))


def _program(command: Command) -> str:
    """The program's own name, behind variables and folders."""
    for word in command:
        if word is None:
            return ""
        if "=" not in word.partition("/")[0]:
            return word.rpartition("/")[2]
    return ""
