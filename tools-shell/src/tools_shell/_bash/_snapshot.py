r"""Snapshots of bash sessions: the state after one script is restored before the next.

A session is not a process. Each call starts a bash that restores the snapshot and runs the script; an EXIT trap
appends the new snapshot to the file that the program came in. The restoring program is one line of `eval $'...'`, so
that bash's messages have the line numbers of the script, and calls every command by `\builtin`, so that no alias or
function of the script replaces it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from tools_shell._redactor import encoded

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_SIZE = 16 << 20  # bytes of a snapshot
_HIDDEN = 10  # the number of the snapshot's descriptor in bash, hidden from the script's commands
_BY_DEFAULT = frozenset(("braceexpand", "hashall", "interactive-comments"))
# Variables that bash sets, or that belong to one process.
_BASH_VARIABLES = """
    BASH BASHOPTS BASHPID BASH_ALIASES BASH_ARGC BASH_ARGV BASH_ARGV0 BASH_CMDS BASH_COMMAND BASH_EXECUTION_STRING
    BASH_LINENO BASH_LOADABLES_PATH BASH_SOURCE BASH_SUBSHELL BASH_VERSINFO BASH_VERSION COMP_WORDBREAKS DIRSTACK
    EPOCHREALTIME EPOCHSECONDS EUID FUNCNAME GROUPS HISTCMD HOSTNAME HOSTTYPE LINENO MACHTYPE OSTYPE PIPESTATUS PPID
    PWD RANDOM SECONDS SHELLOPTS SHLVL SRANDOM UID _ ASK_TOOLS_\\w*
"""
_BASH_LINE = re.compile(
    rf"declare -\S+ (?:{'|'.join(_BASH_VARIABLES.split())})(?:=|$)"
    '|declare -x (?:HOME|TMPDIR|TEMP|TMP)="[^"]*/ask-tools-[^"]*"$'  # set by a sandbox for one call
)
_DECLARED = re.compile(r"^declare -\S+ (\w+)", re.MULTILINE)
_IN_QUOTES = str.maketrans({character: f"\\{character}" for character in '\\"$`'})
# Octal escapes for all but plain characters, independent of locale and line endings.
_QUOTED = {code: f"\\{code:03o}" for code in (*range(32), *b"'\\", *range(127, 256))}

_SAVE = r"""{
ASK_TOOLS_STATUS=${ASK_TOOLS_STATUS-$?}
if [[ -z ${ASK_TOOLS_SAVED-} ]]; then
ASK_TOOLS_SAVED=1
ASK_TOOLS_OUT=@OUT@; \builtin true >&@OUT@ || ASK_TOOLS_OUT=@HIDDEN@
{
\builtin trap - ERR DEBUG RETURN
\builtin set +o
\builtin set +euxvfC +o posix
\builtin printf '\0%s' "$ASK_TOOLS_STATUS"
\builtin printf '\0'; \builtin shopt -p
\builtin printf '\0'; \builtin alias -p
\builtin printf '\0'; \builtin declare -p
\builtin printf '\0'; \builtin declare -f
\builtin printf '\0'; \builtin declare -F
\builtin printf '\0'; \builtin umask -p
\builtin printf '\0%q\0end' "$PWD"
} >&"$ASK_TOOLS_OUT"
fi
} < /dev/null > /dev/null 2>&1"""
_FIELDS = 10
_AT_FIRST = "\\builtin shopt -s expand_aliases"  # as in an interactive shell


class Snapshot(NamedTuple):
    """The state after a script. `setup` restores it except for its options, which affect the script that restores."""

    setup: str = ""
    options: str = ""
    folder: str = ""  # quoted for bash
    status: int = 0


def quoted(text: str | bytes) -> str:
    """Quote `text` as one bash word on one line."""
    data = text.encode(errors="surrogateescape") if isinstance(text, str) else text
    return f"$'{data.decode('latin-1').translate(_QUOTED)}'"


def starting(file: int) -> str:
    """Return the script for `bash -c`, which reads its program from a descriptor."""
    return f'IFS= \\read -rd "" REPLY <&{file}; \\builtin eval "$REPLY"'


def program(before: Snapshot, script: str, file: int) -> bytes:
    """Return the program that restores `before`, runs `script`, and writes the new snapshot to a descriptor."""
    save = quoted(_SAVE.replace("@OUT@", str(file)).replace("@HIDDEN@", str(_HIDDEN)))
    # A removed folder is created for a moment, so that the shell is in a removed folder, as before.
    folder = before.folder
    enter = (
        f'\\builtin cd -- {folder} || {{ mkdir -- {folder} && cd -- {folder} && rmdir -- "$PWD"; }}' if folder else ""
    )
    setup = f"\\builtin unset REPLY\n{enter}\n{before.setup or _AT_FIRST}"
    is_quiet = before.status and "set -o errexit" not in before.options
    parts = [
        f"{{ \\builtin eval {quoted(setup)}; }} > /dev/null 2>&1",
        f"\\builtin trap {save} EXIT",
        f"{{ \\builtin eval {quoted(before.options)}; }} 2> /dev/null" if before.options else "",
        f"(\\builtin exit {before.status})" if is_quiet else "",
        # `!` keeps a failing last command from running an ERR trap twice.
        f"! \\builtin eval {quoted(encoded(script))} {file}>&-",
        f"{{ ASK_TOOLS_STATUS=${{PIPESTATUS[0]}}; \\builtin eval {save}; }} > /dev/null 2>&1",
        '\\builtin exit "$ASK_TOOLS_STATUS"',
    ]
    return "; ".join(filter(None, parts)).encode() + b"\0"


def parse(data: bytes, environment: Mapping[str, str]) -> Snapshot | None:
    """Read a written snapshot; None if it is incomplete.

    Unchanged variables of the initial environment are omitted: the next call has them as well, and secrets of a
    developer are not written to disk.
    """
    fields = data.decode(errors="surrogateescape").split("\0")
    if len(fields) != _FIELDS or fields[-1] != "end":
        return None
    options, status, shopts, aliases, variables, functions, attributes, umask, folder, _ = fields
    chosen: dict[str, list[str]] = {"-s": [], "-u": []}
    for line in shopts.splitlines():
        _, sign, name = line.split()
        chosen[sign].append(name)
    setup = [
        umask,
        # No aliases while the snapshot is read.
        f"shopt -s {' '.join(chosen['-s'])}; shopt -u expand_aliases {' '.join(chosen['-u'])}",
        _changed(variables, environment),
        aliases,
        functions,
        *(f"\\builtin {line}" for line in attributes.splitlines() if not line.startswith("declare -f ")),
        "\\builtin shopt -s expand_aliases" if "expand_aliases" in chosen["-s"] else "",
    ]
    unusual = [f"\\builtin {line}\n" for line in options.splitlines() if _is_unusual(line)]
    return Snapshot(
        "\n".join(stripped for part in setup if (stripped := part.rstrip("\n"))), "".join(unusual), folder, int(status)
    )


def _is_unusual(option: str) -> bool:
    _, sign, name = option.split()
    return (sign == "-o") != (name in _BY_DEFAULT)


def _changed(variables: str, environment: Mapping[str, str]) -> str:
    """Return the declarations that differ from `environment`, and commands that unset removed variables."""
    same = {f'declare -x {name}="{value.translate(_IN_QUOTES)}"' for name, value in environment.items()}
    changed = [line for line in variables.split("\n") if line not in same and not _BASH_LINE.match(line)]
    removed = environment.keys() - set(_DECLARED.findall(variables))
    return "\n".join([*changed, *(f"\\builtin unset {name}" for name in removed)])
