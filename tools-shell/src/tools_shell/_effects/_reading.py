"""Recognition of commands that only read, and the files that they open."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from tools_core.variables import without_harmless_variables
from tools_shell._effects._commands import words
from tools_shell._effects._git import git_reads

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tools_shell._effects._commands import Word

# Folders of system programs. Others may be in the workspace, or run programs that its files name.
_SYSTEM_FOLDERS = (
    *("/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin"),
    *("/opt/homebrew/bin", "/run/current-system/sw/bin"),  # Homebrew, NixOS
)
_BUILTINS = frozenset(("cd", "echo", "exit", "false", "pwd", "true", "type"))
# No option of these writes, runs a program or uses the network (GNU, BSD and busybox).
_READERS = words("""
    b2sum base32 basename cat cksum cmp column comm cut df diff dirname du egrep expand expr fgrep fmt fold free grep
    groups head hexdump id join locale ls lsblk lscpu md5sum nl nproc od paste pgrep pidof pr printenv ps readlink
    realpath rev seq sha1sum sha256sum sha512sum sleep stat strings sum tac tail tr tsort tty uname unexpand uptime
    users wc which who whoami
""")
_VERSIONED = words("cargo cmake gcc git go java make node npm perl pip python python3 ruby rustc tar uv")
# Options that write or run programs; long ones can be abbreviated.
_REFUSED = {
    "date": re.compile(r"(?!\+).*", re.DOTALL),  # other operands set the clock
    "find": re.compile(r"-(delete|exec|f|ok).*", re.DOTALL),
    "rg": re.compile(r"--(pre(?!tty)|host|search).*|-[^-]*z.*", re.DOTALL),
    "sort": re.compile(r"--(o|co|t).*|-[^-]*[oT].*", re.DOTALL),
}
_SED_PRINT = re.compile(r"(\d+|\$)(,(\d+|\$))?p")
# Readers that open the files that their operands name; options with an "f" may name further ones.
_OPERAND_READERS = frozenset(("cat", "grep", "head", "ls", "nl", "stat", "tac", "tail", "wc"))
_FILE_OPTION = re.compile(r"-[^-]*[ef].*|--[ef].*")
_PLAIN_OPTION = re.compile(r"-[aAcdEFhilnoqsStvw1]+")  # without values, not recursive


def reads_only(commands: Sequence[Sequence[Word]], environment: Mapping[str, str], folder: str) -> bool:
    """Return whether commands only read, if they run in `folder` in a new shell with this environment."""
    commands = [without_harmless_variables(words) for words in commands]
    enters = any(words[0] == "cd" for words in commands)
    return all(_reads(words, environment, "" if enters else folder) for words in commands)


def _reads(words: Sequence[Word], environment: Mapping[str, str], folder: str) -> bool:
    name, *arguments = words
    if name is None or name in _BUILTINS:
        return name is not None
    if name == "<":  # `/dev/tcp/host/port` is a connection
        return arguments[0] is not None and not arguments[0].startswith("/dev/")
    program = _find_program(name, environment.get("PATH", ""))
    if os.path.dirname(program) not in _SYSTEM_FOLDERS:
        return False
    name = os.path.basename(name)
    if name in _READERS or (name in _VERSIONED and arguments == ["--version"]):
        return True
    if name == "git":
        return bool(folder) and git_reads(program, arguments, folder)
    if None in arguments:  # may expand to an option
        return False
    texts = [str(word) for word in arguments]
    options = _options(texts)
    if name == "uniq":  # a second operand is an output file
        return len(texts) - len(options) <= 1
    if name == "sed":
        return options == texts[:1] == ["-n"] and len(texts) > 1 and bool(_SED_PRINT.fullmatch(texts[1]))
    return name in _REFUSED and not any(map(_REFUSED[name].fullmatch, texts))


def _find_program(name: str, path: str) -> str:
    """Return the path of a program, as a shell finds it."""
    programs = (name,) if "/" in name else (os.path.join(folder, name) for folder in path.split(os.pathsep))
    return next((program for program in programs if os.access(program, os.X_OK)), "")


def _options(texts: Sequence[str]) -> list[str]:
    return [text for text in texts if text.startswith("-") and text != "-"]


def paths_read(commands: Sequence[Sequence[Word]], folder: str) -> list[str] | None:
    """Return the absolute paths that commands open in `folder`, or None if they may open others."""
    paths: list[str] = []
    for name, *arguments in map(without_harmless_variables, commands):
        if name in ("echo", "pwd", "true"):
            continue
        if None in arguments or (name != "<" and name not in _OPERAND_READERS):
            return None
        operands = [str(word) for word in arguments]
        if name != "<":
            options = _options(operands)
            if any(map(_FILE_OPTION.fullmatch, options)):
                return None
            operands = [text for text in operands if text not in options]
            operands = operands[1:] if name == "grep" else operands  # without the pattern
            if name in ("grep", "ls") and not (operands and all(map(_PLAIN_OPTION.fullmatch, options))):
                operands.append(".")
        paths += [path for operand in operands for path in _readings(os.path.join(folder, operand))]
    return list(dict.fromkeys(paths))


def _readings(path: str) -> tuple[str, str]:
    """Return the file, and its name in its folder, which may be a link to the file."""
    folder, name = os.path.split(os.path.normpath(path))
    return os.path.realpath(path), os.path.join(os.path.realpath(folder), name)
