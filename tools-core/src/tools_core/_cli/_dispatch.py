"""From the words of the command line to the sub-command that they name, and to an exit code."""

from __future__ import annotations

import sys

from tools_core._cli._terminal import CommandError, error


def dispatch(words: list[str]) -> int:
    """Run the sub-command that `words` begin with, and return its exit code."""
    if reconfigure := getattr(sys.stdout, "reconfigure", None):
        reconfigure(errors="backslashreplace")  # what an encoding lacks is shown, not raised
    if words[:1] == ["help"]:
        words = [*words[1:2], "--help"]
    try:
        if not words or words[0] in ("-h", "--help"):
            from tools_core._cli._overview import write_help, write_overview  # sub-commands never need it

            return write_help() if words else write_overview()
        if words[0] == "__complete":
            from tools_core._cli._complete import complete  # only shells ask for it

            return complete(words[2:])  # the first is `--`
        return run(words[0], words[1:])
    except CommandError as failure:
        error(str(failure), failure.hints)
        return failure.status
    except SystemExit as ending:  # argparse ends the process by itself
        return _exit_code(ending)


def run(name: str, words: list[str]) -> int:
    """Load one sub-command, parse its words and run it."""
    if name == "list" and all(word == "--json" or not word.startswith("-") for word in words):
        from tools_core._cli._list import write_list  # without argparse, a tenth sooner

        return write_list([word for word in words if word != "--json"], as_json="--json" in words)
    from tools_core._cli._subcommands import make_parser  # brings argparse: 3 ms

    parser = make_parser(name)
    # Options may stand between arguments where the sub-command says that its parser can take it.
    parse = parser.parse_intermixed_args if parser.get_default("intermixed") else parser.parse_args
    arguments = parse(words)
    return int(arguments.run(arguments) or 0)


def _exit_code(ending: SystemExit) -> int:
    if ending.code is None or isinstance(ending.code, int):
        return ending.code or 0
    error(str(ending.code))
    return 1
