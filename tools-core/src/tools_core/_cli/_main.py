"""The `ask-tools` command line: run its sub-command, and turn errors into messages and exit codes."""

from __future__ import annotations

import os
import sys

from tools_core._cli._commands import BUILT_IN, external, run_parser, sub_command, summary_of
from tools_core._cli._output import CommandError, counted, error, show_traceback, write
from tools_core._registry._entry_points import scan
from tools_core._version import __version__

_STEPS = """\
  ask-tools list                    list the installed tools
  ask-tools call NAME key=value     call a tool; needs no model
  ask-tools new NAME                create a tool package
  ask-tools doctor                  find problems, each with a fix
"""
_HELP = """\
usage: ask-tools [--debug] COMMAND ...

Write a tool once; any model, agent framework or shell can call it.

{commands}

  ask-tools COMMAND --help          show the options of a command
  ask-tools --debug COMMAND ...     show the traceback of an error, as ASK_TOOLS_DEBUG=1 does
  ask-tools --version               show the version

exit codes: 0 success, 1 a tool failed or a problem was found, 2 wrong usage
ASK_TOOLS_ALLOW, ASK_TOOLS_DENY: comma-separated tools or packages; blocked ones are never imported
ASK_TOOLS_LOCK: a file from `ask-tools lock`; tools and packages that it does not name are never imported
No telemetry, no account.
"""


def main(argv: list[str] | None = None) -> int:
    """Run the command line `argv` (by default that of the process) and return the exit code."""
    _open_closed_streams()
    for stream, errors in ((sys.stdout, "backslashreplace"), (sys.stdin, "replace")):  # never fail for an encoding
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors=errors)
    try:
        status = _run(list(sys.argv[1:] if argv is None else argv))
        sys.stdout.flush()  # reports a closed pipe here and not when the interpreter ends
    except CommandError as failure:
        error(str(failure), failure.hints)
        show_traceback(failure.__cause__)
        return failure.status
    except KeyboardInterrupt:
        return 130  # 128 + SIGINT, as in a shell
    except OSError as failure:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # discards what is still buffered
        if isinstance(failure, BrokenPipeError):  # the reader has ended, such as `head`
            return 141  # 128 + SIGPIPE
        error(str(failure) if _is_in_folder() else "the current folder no longer exists; change to another one")
        show_traceback(failure)
        return 1
    except SystemExit as ending:  # raised by argparse
        if ending.code is None or isinstance(ending.code, int):
            return ending.code or 0
        error(str(ending.code))
        return 1
    return status


def _is_in_folder() -> bool:
    try:
        return bool(os.getcwd())
    except OSError:
        return False


def _open_closed_streams() -> None:
    """Replace standard streams that the caller has closed (`>&-`), so that no other file takes their numbers."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115  (for the whole process)


def _run(words: list[str]) -> int:
    if not words:
        return _write_overview()
    name, *rest = words
    if name == "--debug":
        os.environ["ASK_TOOLS_DEBUG"] = "1"
        return _run(rest)
    if name in ("-h", "--help", "help"):
        return run_parser(sub_command(rest[0]), ["--help"]) if rest else _write_help()
    if name in ("-V", "--version"):
        write(f"ask-tools {__version__}")
        return 0
    if name == "__complete":
        from tools_core._cli._completion import complete  # shells call this

        return complete(rest[1:])  # the first is `--`
    parser = sub_command(name)
    if "ASK_TOOLS_DENY" in os.environ or "ASK_TOOLS_ALLOW" in os.environ:
        from tools_core._cli._tools import note_unmatched  # 20 ms that only lists need

        note_unmatched()
    return run_parser(parser, rest)


def _write_overview() -> int:
    """Print the number of installed tools and the first steps."""
    entries = scan("ask_tools.tools")
    installed = f"{counted(len(entries), 'tool')} installed"
    if entries:
        installed += f" from {counted(len({entry.distribution for entry in entries}), 'package')}"
    write(f"ask-tools {__version__} · {installed} · no telemetry, no account\n\n{_STEPS}\nMore: ask-tools --help")
    return 0


def _write_help() -> int:
    """Print every sub-command with its purpose; no package is imported."""
    summaries = {name: summary for name, (_, summary) in BUILT_IN.items()}
    summaries |= {entry.name: summary_of(entry) for entry in external()}
    write(_HELP.format(commands="\n".join(f"  {name:<12}{summary}" for name, summary in summaries.items())))
    return 0
