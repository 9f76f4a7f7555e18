"""A command line: its sub-command is run, and errors become messages and exit codes."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from tools_core._cli._commands import BUILT_IN, external, make_parser
from tools_core._cli._terminal import CommandError, counted, did_you_mean, error, show_traceback, write
from tools_core._version import __version__

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

_INTERRUPTED = 130  # 128 + SIGINT, as in a shell
_PIPE_CLOSED = 141  # 128 + SIGPIPE

_STEPS = """\
  ask-tools list                    list the installed tools
  ask-tools call NAME key=value     call a tool; needs no model
  ask-tools new NAME                create a tool package
  ask-tools doctor                  find problems, each with a fix
"""
_HELP = """\
usage: ask-tools COMMAND ...

Write a tool once; any model, agent framework or shell can call it.

{commands}

  ask-tools COMMAND --help          show the options of a command
  ask-tools --version               show the version

exit codes: 0 success, 1 a tool failed or a problem was found, 2 wrong usage
ASK_TOOLS_ALLOW, ASK_TOOLS_DENY: comma-separated tools or distributions; blocked ones are never imported
ASK_TOOLS_LOCK: a file from `ask-tools lock`; tools that it does not name are never imported
ASK_TOOLS_LOAD_TIMEOUT: seconds that doctor waits for the import of a package; 10 by default
ASK_TOOLS_DEBUG: if set, errors come with a traceback
No telemetry, no account.
"""


def main(argv: list[str] | None = None) -> int:
    """Run the command line `argv` (by default that of the process) and return the exit code."""
    _open_closed_streams()
    if reconfigure := getattr(sys.stdout, "reconfigure", None):
        reconfigure(errors="backslashreplace")  # characters that the encoding lacks are escaped
    try:
        status = _run(list(sys.argv[1:] if argv is None else argv))
        sys.stdout.flush()  # reports a closed pipe here and not when the interpreter ends
    except CommandError as failure:
        error(str(failure), failure.hints)
        show_traceback(failure.__cause__)
        return failure.status
    except KeyboardInterrupt:
        return _INTERRUPTED
    except OSError as failure:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # discards what is still buffered
        if isinstance(failure, BrokenPipeError):  # the reader has ended, such as `head`
            return _PIPE_CLOSED
        error(str(failure))
        show_traceback(failure)
        return 1
    except SystemExit as ending:  # argparse ends the process by itself
        if ending.code is None or isinstance(ending.code, int):
            return ending.code or 0
        error(str(ending.code))
        return 1
    return status


def _open_closed_streams() -> None:
    """Open the null device for each standard stream that the parent process has closed."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w", encoding="utf-8"))  # noqa: SIM115


def _run(words: list[str]) -> int:
    if not words:
        return _write_overview()
    name, *rest = words
    if name == "help" and rest:
        return _run([rest[0], "--help"])
    if name in ("-h", "--help", "help"):
        return _write_help()
    if name in ("-V", "--version"):
        write(f"ask-tools {__version__}")
        return 0
    if name == "__complete":
        from tools_core._cli._completion import complete  # called by shells only

        return complete(rest[1:])  # the first is `--`
    return run_command(make_parser(name), rest)


def run_command(parser: ArgumentParser, words: list[str]) -> int:
    """Parse the words of a sub-command, run it, and return its exit code."""
    # Options may stand between arguments where the sub-command declares that its parser supports it.
    intermixed = parser.get_default("intermixed")
    options, unknown = (parser.parse_known_intermixed_args if intermixed else parser.parse_known_args)(words)
    if unknown:
        raise _unknown(parser, options, unknown[0], words)
    return int(options.run(options) or 0)


def _unknown(parser: ArgumentParser, options: Namespace, word: str, words: list[str]) -> CommandError:
    if not word.startswith("-"):
        return CommandError(f"unexpected argument {word}", f"{parser.prog} --help")
    option, equals, value = word.partition("=")
    hints = [did_you_mean(option, parser._option_string_actions)]
    if hasattr(options, "words"):  # it takes the arguments of a tool
        import shlex  # only for a mistake

        following = [*words[words.index(word) + 1 :], "-"][0]
        if not equals:
            value = "true" if following.startswith("-") or "=" in following else following
        key = option.lstrip("-").replace("-", "_")
        hints.append(f"write arguments of the tool as {key}={shlex.quote(value)}")
    return CommandError(f"unknown option {option}", *hints, f"{parser.prog} --help")


def _write_overview() -> int:
    """Print the number of installed tools and the next steps of a newcomer."""
    from tools_core._registry._entry_points import scan  # not needed for --help

    entries = scan("ask_tools.tools")
    installed = f"{counted(len(entries), 'tool')} installed"
    if entries:
        installed += f" from {counted(len({entry.distribution for entry in entries}), 'package')}"
    write(f"ask-tools {__version__} · {installed} · no telemetry, no account\n\n{_STEPS}\nMore: ask-tools --help")
    return 0


def _write_help() -> int:
    """Print every sub-command, those of other packages from their metadata."""
    lines = [f"  {name:<12}{summary}" for name, (_, summary) in BUILT_IN.items()]
    lines += [f"  {entry.name:<12}from {entry.distribution} {entry.version}" for entry in external()]
    write(_HELP.format(commands="\n".join(lines)))
    return 0
