"""Build sub-commands of `ask-tools` in other packages.

An entry point of the group `ask_tools.commands` names a function that adds arguments to an `argparse` parser, and sets
the function that runs the sub-command and returns its exit code: 0 for success, 1 if a tool failed, 2 for wrong usage.

    from tools_core.command import CommandError, load_tools, write_json


    def configure(parser):
        parser.description = "Count the parameters of tools."
        parser.add_argument("tools", metavar="TOOL", nargs="*", help="NAME, 'x_*', PACKAGE or FILE.py")
        parser.set_defaults(run=run)


    def run(options):
        tools = load_tools(options.tools or None)
        write_json({name: len(tool.input_schema["properties"]) for name, tool in tools.items()})
        return 0

Print with `write`, `write_json`, `write_table` and `note`, so that text of tools cannot control a terminal. A
`CommandError` ends the sub-command with a message, hints and an exit code. If the parser has the default
`intermixed=True`, options may stand between arguments.
"""

from tools_core._cli._arguments import read_arguments
from tools_core._cli._commands import make_parser, run_parser
from tools_core._cli._grants import add_grants, grant_words, use_grants
from tools_core._cli._install import install_command
from tools_core._cli._main import main
from tools_core._cli._output import (
    CommandError,
    ProgressLine,
    counted,
    did_you_mean,
    is_terminal,
    json_text,
    location,
    note,
    one_line,
    write,
    write_json,
    write_table,
)
from tools_core._cli._terminal import answer_on_terminal, answer_question, reserved_terminal
from tools_core._cli._tools import find_tools, load_tool, load_tools, select_tools, stdout_to_stderr

__all__ = [
    "CommandError",
    "ProgressLine",
    "add_grants",
    "answer_on_terminal",
    "answer_question",
    "counted",
    "did_you_mean",
    "find_tools",
    "grant_words",
    "install_command",
    "is_terminal",
    "json_text",
    "load_tool",
    "load_tools",
    "location",
    "main",
    "make_parser",
    "note",
    "one_line",
    "read_arguments",
    "reserved_terminal",
    "run_parser",
    "select_tools",
    "stdout_to_stderr",
    "use_grants",
    "write",
    "write_json",
    "write_table",
]
