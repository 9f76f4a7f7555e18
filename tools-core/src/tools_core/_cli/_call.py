"""`ask-tools call`: call one tool from the shell, without a model."""

from __future__ import annotations

import json
import os
import signal
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext, suppress
from types import FrameType
from typing import Any

from tools_core._cli._arguments import read_arguments
from tools_core._cli._commands import admitted, check_blocked, extension
from tools_core._cli._grants import add_grants, use_grants
from tools_core._cli._output import (
    CommandError,
    ProgressLine,
    error,
    is_terminal,
    json_text,
    location,
    note,
    one_line,
    show_traceback,
    write,
    write_json,
)
from tools_core._cli._terminal import answer_on_terminal, reserved_terminal
from tools_core._cli._tools import find_tool, stdout_to_stderr
from tools_core._tools._approval import ApprovalRequest, call_if_approved
from tools_core._tools._tool import Tool
from tools_core._values._context import Context
from tools_core._values._errors import ToolError
from tools_core._values._result import Result
from tools_core._values._tool_call import ToolCall

_EPILOG = """\
arguments:
  city=Oslo            text, or the type in the tool's schema: a number, true/false, null, a choice
  tags=a tags=b        an array: the key again for each item
  shipping.city=Oslo   a member of an object
  limits:=[1,2]        any value, as JSON
  '{"city": "Oslo"}'   all arguments as one JSON object; --args FILE reads it from a file, --args - from stdin

A tool that requires approval asks before it runs; without a terminal, use --yes. A tool may also ask questions on the
terminal. The result goes to standard output, and output that the tool prints to standard error. On a terminal,
control characters are shown as escapes; --raw writes text, or the bytes of an image, sound or file, unchanged.
The first Ctrl-C cancels the call, which may still return a result; the second one ends it.
Exit codes: 0 success, 1 the tool failed or was not approved, 2 unknown tool or wrong arguments, 130 interrupted.

examples:
  ask-tools call ./weather.py:weather city=Oslo days=3
  echo '{"city": "Oslo"}' | ask-tools call get_weather --args - --json
  ask-tools call get_map city=Oslo --raw > map.png
"""


def configure(parser: ArgumentParser) -> None:
    """Add the arguments of `call`."""
    parser.epilog = _EPILOG
    parser.add_argument("name", metavar="TOOL", help="NAME, PACKAGE:NAME, FILE.py:NAME, or FILE.py with one tool")
    parser.add_argument("words", metavar="key=value", nargs="*", default=[], help="arguments of the tool, see below")
    text = "read the arguments as JSON from FILE, or - for stdin"
    parser.add_argument("--args", metavar="FILE", type=_file_text, help=text)
    shapes = parser.add_mutually_exclusive_group()
    shapes.add_argument("--json", action="store_true", help="print the whole result as JSON")
    shapes.add_argument("--raw", action="store_true", help="write the result unchanged, also bytes")
    parser.add_argument("--workspace", metavar="DIR", help="the folder that file tools are confined to")
    text = "continue the sessions of this run, such as bash sessions; by default each call is a separate run"
    parser.add_argument("--run", metavar="ID", dest="run_id", help=text)
    text = "time limit for the call, including the time for approval"
    parser.add_argument("--timeout", metavar="SECONDS", type=_seconds, help=text)
    parser.add_argument("--yes", "-y", action="store_true", help="approve the call")
    add_grants(parser)
    parser.set_defaults(run=run, intermixed=True)


def run(options: Namespace) -> int:
    """Call the tool and print its result; with `--json`, errors before the call are printed as results."""
    try:
        return _call(options)
    except CommandError as failure:
        if not options.json:
            raise
        write_json(Result.error(str(failure), type=failure.type).to_dict())
        return failure.status


def _call(options: Namespace) -> int:
    if options.workspace is not None and not os.path.isdir(options.workspace):
        raise CommandError(f"--workspace: the folder {options.workspace} does not exist")
    use_grants(options)
    match = find_tool(options.name)
    tool = match.load()
    call = ToolCall(None, tool.name, _arguments(options, tool))
    caller = _caller()
    shows_progress = tool.takes_context and is_terminal(sys.stderr)
    try:
        with ProgressLine() if shows_progress else nullcontext() as progress, stdout_to_stderr():
            context = Context(
                workspace=options.workspace, run_id=options.run_id, timeout=options.timeout, on_progress=progress,
                on_ask=answer_on_terminal,
            )  # fmt: skip
            context.timeout_set_by = "--timeout"
            with _cancelled_by_interrupt(context) if tool.takes_context else nullcontext():
                result = caller(tool, call, context, "all" if options.yes else _person())
    except SystemExit as ending:  # the tool's own sys.exit()
        message = f"{tool.name} ended the program (exit code {ending.code})"
        raise CommandError(message, status=1, type="execution_error") from ending
    status = _report(result, tool, match.name, options)
    return 130 if context.cancelled else status


def _arguments(options: Namespace, tool: Tool) -> dict[str, Any] | str:
    if options.args is None:
        return read_arguments(options.words, tool.definition["input_schema"])
    if options.words:
        raise CommandError("arguments are given twice: use --args, or key=value")
    return str(options.args)


def _caller() -> Callable[[Tool, ToolCall, Context, Any], Result]:
    """Return the function of another package that decides about calls and runs them; ours without one.

    The last argument of the function is `approve`: "all", a function that asks the user at the terminal, or None.
    """
    entries, blocked = admitted("ask_tools.call")
    if os.environ.get("ASK_TOOLS_LOCK"):  # a lock must not switch off a policy
        check_blocked(blocked, "decides about calls")
    for entry in blocked:
        note(f"{entry.distribution} is blocked by ASK_TOOLS_DENY; it does not decide about this call")
    if not entries:
        return _call_if_approved
    if len(entries) > 1:
        names = " and ".join(entry.distribution for entry in entries)
        raise CommandError(f"{names} both provide ask_tools.call, which decides about calls; uninstall one", status=1)
    with stdout_to_stderr(), extension(entries[0], "decides about calls"):  # if it is broken, no tool is called
        caller: Callable[[Tool, ToolCall, Context, Any], Result] = entries[0].load()
    return caller


def _call_if_approved(tool: Tool, call: ToolCall, context: Context, approve: Any) -> Result:
    """Call a tool; `approve` answers if the tool requires approval."""
    return call_if_approved(tool, call, context, approve)


def _person() -> Callable[[ApprovalRequest], bool | None] | None:
    """Return who approves calls: the user at the terminal; None without a terminal."""
    return _ask if is_terminal(sys.stdin) and is_terminal(sys.stderr) else None


def _ask(request: ApprovalRequest) -> bool | None:
    """Ask the user at the terminal to approve a call; None if the caller stops waiting."""
    with reserved_terminal(request.context) as ask:
        if ask is None:
            return None
        note(f"{request.tool.name} requires approval: {one_line(json_text(request.arguments, pretty=False))}")
        note(f"  because {'; '.join(request.reasons)}")
        line = ask("run it? [y/N] ")
        return None if line is None else line.strip().lower() in ("y", "yes")


@contextmanager
def _cancelled_by_interrupt(context: Context) -> Generator[None]:
    """Cancel the context at the first Ctrl-C; the second one raises KeyboardInterrupt."""
    handler = signal.getsignal(signal.SIGINT)
    if handler is not signal.default_int_handler:
        yield  # the process ignores the signal, or the program that called main() handles it
        return

    def cancel(_number: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, handler)
        context.cancel()

    signal.signal(signal.SIGINT, cancel)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


def _report(result: Result, tool: Tool, name: str, options: Namespace) -> int:
    if options.json:
        write_json(result.to_dict())
    elif not result.ok:
        error(result.error or "", _hints(result, tool, name))
    elif options.raw:
        _write_raw(result)
    else:
        _write_content(result)
    if result.halted:
        note("halted: the tool ends the conversation")
    show_traceback(result.exception)
    return 0 if result.ok else 2 if result.error_type == "validation_error" else 1


def _hints(result: Result, tool: Tool, name: str) -> list[str]:
    if result.error_type == "validation_error":
        return [f"its parameters: ask-tools show {name}"]
    if result.error_type == "approval_required":
        return ["add --yes to approve it"]
    if result.error_type == "answer_required":
        pending = result.metadata.get("pending", {})
        may_allow = pending.get("choices") == ["yes", "no"]
        return ["run it on a terminal to answer" + ", or add --yes to allow it" * may_allow]
    if result.exception is None or isinstance(result.exception, ToolError):  # an expected failure
        return []
    function = getattr(tool, "__wrapped__", None) or type(tool)
    place = location(result.exception, function.__module__.partition(".")[0])
    hint = "" if os.environ.get("ASK_TOOLS_DEBUG") else "show the traceback: ask-tools --debug call ..."
    return [text for text in (f"at {place}" if place else "", hint) if text]


def _write_content(result: Result) -> None:
    content = result.content
    if isinstance(content, str) and isinstance(result.output, dict | list | tuple) and is_terminal(sys.stdout):
        with suppress(ValueError):  # the tool has returned text with its output
            content = json_text(json.loads(content), pretty=True)
    for block in [content] if isinstance(content, str) else content:
        write(str(block))  # bytes are described, never shown


def _write_raw(result: Result) -> None:
    """Write text without changes, or the bytes of the only content block; text next to it goes to standard error."""
    content = [] if isinstance(result.content, str) else result.content
    blocks = [block for block in content if not isinstance(block, str)]
    if len(blocks) > 1:
        raise CommandError(f"--raw writes one content block, and the result has {len(blocks)}", "use --json", status=1)
    for text in content if blocks else ():
        if isinstance(text, str):
            note(text)
    sys.stdout.flush()
    # A lone surrogate cannot be encoded in UTF-8.
    sys.stdout.buffer.write(blocks[0].data if blocks else str(result).encode(errors="backslashreplace"))
    sys.stdout.buffer.flush()


def _file_text(path: str) -> str:
    try:
        # Some editors write a byte order mark.
        with open(0 if path == "-" else path, encoding="utf-8-sig", closefd=path != "-") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as failure:
        raise ArgumentTypeError(f"cannot read {path}: {failure}") from failure


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
        Context(timeout=seconds)
    except ValueError as error:
        raise ArgumentTypeError(f"expected seconds between 0 and 1e9, such as 2.5; got {text!r}") from error
    return seconds
