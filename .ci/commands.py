"""Write tools-core/COMMANDS.md, which lists every sub-command with its options, from the parsers themselves.

Not from their help texts: these look otherwise in each version of Python, and in each width of a terminal.
"""

from __future__ import annotations

from argparse import SUPPRESS, Action, ArgumentParser
from pathlib import Path

from tools_core._command._subcommands import BUILT_IN, make_parser

PAGE = Path(__file__).resolve().parents[1] / "tools-core" / "COMMANDS.md"
_HEAD = """\
# The sub-commands of ask-tools

Written by `python .ci/commands.py` from the command's own parsers; `ask-tools COMMAND --help` shows the same with more
words and with examples. All of them end with 0 when all is well, with 1 when a tool failed or a problem was found, and
with 2 when the command line or a setting is wrong.
"""


def page() -> str:
    """The text of the page."""
    return "\n".join([_HEAD, *(_section(name, summary) for name, (_, summary) in BUILT_IN.items())])


def _section(name: str, summary: str) -> str:
    parser = make_parser(name)
    rows = [(_words(action), _help(action, parser)) for action in parser._actions if action.help is not SUPPRESS]
    width = max(len(words) for words, _ in rows)
    lines = [f"{words.ljust(width)}  {text}".rstrip() for words, text in rows if "--help" not in words]
    listed = "\n".join(["```text", *lines, "```"]) if lines else "It takes no arguments."
    return f"## ask-tools {name}\n\n{summary[0].upper()}{summary[1:]}.\n\n{listed}\n"


def _words(action: Action) -> str:
    """How an argument is written: `--for FORMAT`, `[TOOL ...]`."""
    metavar = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    if not action.option_strings:
        shown = f"{metavar} ..." if action.nargs in {"*", "+"} else metavar
        return f"[{shown}]" if action.nargs in {"*", "?"} else shown
    names = ", ".join(action.option_strings)
    return names if action.nargs == 0 else f"{names} {metavar}"


def _help(action: Action, parser: ArgumentParser) -> str:
    """The help text, with what stands in it for other values."""
    return (action.help or "") % {**vars(action), "prog": parser.prog}


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE}")
