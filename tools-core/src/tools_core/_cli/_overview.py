"""`ask-tools` alone, and `ask-tools --help`: where a newcomer begins."""

from __future__ import annotations

from tools_core._cli._subcommands import BUILT_IN, external
from tools_core._cli._terminal import counted, write
from tools_core._version import __version__

_STEPS = """\
  ask-tools list                    what is installed
  ask-tools call NAME key=value     run a tool, no model needed
  ask-tools new NAME                make a tool package
  ask-tools doctor                  find problems, with the fix
"""
_HELP = """\
usage: ask-tools COMMAND ...

Write a tool once; any model, any agent framework, any shell can call it.

{commands}

  ask-tools COMMAND --help          the options of one command
  ask-tools --version               the version

exit codes: 0 ok, 1 a tool failed or a problem was found, 2 wrong usage
ASK_TOOLS_ALLOW, ASK_TOOLS_DENY: tools or distributions, comma-separated; what they bar is never imported
ASK_TOOLS_LOCK: the file of `ask-tools lock`; what it does not name is never imported
No telemetry, no account.
"""


def write_overview() -> int:
    """Say what is here and the four next steps."""
    from tools_core._registry._entry_points import scan  # the count is read off the metadata

    entries = scan("ask_tools.tools")
    packages = len({entry.distribution for entry in entries})
    installed = f"{counted(len(entries), 'tool')} installed"
    if entries:
        installed += f" from {counted(packages, 'package')}"
    write(f"ask-tools {__version__} · {installed} · no telemetry, no account\n")
    write(f"\n{_STEPS}\nMore: ask-tools --help\n")
    return 0


def write_help() -> int:
    """List every sub-command, with those of other packages by their metadata."""
    lines = [f"  {name:<12}{summary}" for name, (_, summary) in BUILT_IN.items()]
    lines += [f"  {entry.name:<12}from {entry.distribution} {entry.version}" for entry in external()]
    write(_HELP.format(commands="\n".join(lines)))
    return 0
