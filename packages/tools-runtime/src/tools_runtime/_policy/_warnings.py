"""What a policy may not mean: rules that loosen a lot, and names that nothing has."""

from __future__ import annotations

import os
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from tools_core import ToolError, UnknownToolError
from tools_runtime._policy._errors import near
from tools_runtime._policy._paths import matches_path
from tools_runtime._policy._words import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tools_core import Tool
    from tools_runtime._policy._rule import Rule

# Tools whose arguments are programs.
_RUNNERS = ("bash", "shell", "python", "repl", "code", "job_start", "job_input", "execute", "run_command", "terminal")
# Programs that run what they are told to.
_INTERPRETERS = frozenset((
    "ash", "awk", "bash", "busybox", "bun", "chroot", "command", "csh", "dash", "deno", "doas", "docker", "env", "eval",
    "exec", "expect", "find", "fish", "flock", "gawk", "gdb", "ionice", "ksh", "lua", "make", "mawk", "nice", "node",
    "nohup", "npm", "npx", "nsenter", "osascript", "perl", "php", "pip", "pipx", "pkexec", "podman", "powershell",
    "pwsh", "python", "Rscript", "ruby", "script", "sed", "setsid", "sh", "source", "ssh", "stdbuf", "strace", "su",
    "sudo", "systemd-run", "tar", "tclsh", "tcsh", "time", "timeout", "unshare", "uv", "uvx", "vi", "vim", "watch",
    "xargs", "zsh", ".",
))  # fmt: skip


def warnings_of(rules: Iterable[Rule]) -> list[str]:
    """What to say of rules that allow a lot, with file and number."""
    return [f"{rule}: {text}" for rule in rules if rule.decision == "allow" for text in _dangers(rule)]


def warning_of(rule: Rule, tool: Tool, annotations: Mapping[str, bool]) -> str | None:
    """What to say of a rule that allows a tool, now that the tool is known."""
    kinds = [name for name in ("destructive", "open_world") if annotations.get(name)]
    if rule.is_narrow or not kinds:
        return None
    return f"{rule}: it allows {tool.name}, which is {' and '.join(kinds)}, whatever its arguments are"


def strangers_of(rules: Iterable[Rule], tools: Mapping[str, Tool]) -> list[str]:
    """What to say of rules that name what none of these tools is called, or takes; they may mean others."""
    names = {key: key.rpartition(":")[2] for key in tools}  # two of one name are told apart by their distribution
    return [f"{rule}: {text}" for rule in rules for text in _strangers(rule, tools, names)]


def _strangers(rule: Rule, tools: Mapping[str, Tool], names: Mapping[str, str]) -> Iterator[str]:
    for pattern in rule.tools:
        if not any(fnmatchcase(name, pattern) for name in names.values()):
            yield f"no installed tool is called {pattern!r}{near(pattern, names.values())}"
    taken: set[str] = set()
    for key, name in names.items() if rule.arguments else ():
        if any(fnmatchcase(name, each) for each in rule.tools or ("*",)):
            try:
                taken.update(tools[key].input_schema.get("properties", {}))
            except (ToolError, UnknownToolError, ValueError):  # it cannot be loaded, and may take anything
                return
    for argument in rule.arguments:
        if taken and argument not in taken:
            yield f"no tool that it is for takes an argument {argument!r}{near(argument, taken)}"


def _dangers(rule: Rule) -> Iterator[str]:
    only_reads = rule.annotations.get("read_only") is True
    if not only_reads and (not rule.tools or any(not each.strip("*?") for each in rule.tools)):
        yield "it allows every tool, also those that are installed later; name the tools"
    elif not only_reads and not rule.is_narrow:
        runners = [name for name in _RUNNERS if any(fnmatchcase(name, each) for each in rule.tools)]
        if runners:
            yield f"it allows {', '.join(runners)} to run anything; add commands or arguments"
    if not rule.is_narrow:
        for name in ("destructive", "open_world"):
            if rule.annotations.get(name) is True:
                yield f"it allows {name} calls whatever their arguments are; add paths, commands or arguments"
    for pattern in rule.commands:
        yield from _of_command(pattern)
    for pattern in rule.paths:
        yield from _of_path(pattern)


def _of_command(pattern: str) -> Iterator[str]:
    program, *words = pattern.split()
    name = program.rpartition("/")[2]
    is_open = any("*" in word or "?" in word or "[" in word for word in words)
    if any(char in program for char in "*?["):
        yield f"commands has {pattern!r}: it covers programs that nobody has named"
    elif name in _INTERPRETERS or name.rstrip("0123456789.") in _INTERPRETERS:
        if is_open or not words:
            yield f"commands has {pattern!r}: {name} runs whatever it is told to"
    elif words[:1] == ["*"] and name in ("git", "gh", "kubectl"):
        yield f"commands has {pattern!r}: it covers every sub-command, also those that write; name the sub-command"
    elif program == ">" and "*" in words:
        yield f"commands has {pattern!r}: it lets output go to any file"
    elif name in OPTIONS and any("*" in word and word.startswith("-") for word in words):
        yield f"commands has {pattern!r}: some options of {name} write files or run programs"


def _of_path(pattern: str) -> Iterator[str]:
    home = os.path.realpath(os.path.expanduser("~"))
    nowhere = "/\0"  # as a workspace: what is below one covers neither
    if matches_path(pattern, "/etc/passwd", nowhere):
        yield f"paths has {pattern!r}: it covers the whole file system"
    elif any(
        matches_path(pattern, os.path.join(home, *parts), nowhere) for parts in ((".bashrc",), (".ssh", "id_rsa"))
    ):
        yield f"paths has {pattern!r}: it covers the home folder, with keys and start-up files"
