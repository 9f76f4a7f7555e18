"""`ask-tools call`: run one tool from the shell, without a model."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from tools_core._cli import INTERRUPTED
from tools_core._cli._arguments import parse_object, read_arguments
from tools_core._cli._installed import installed_tool, prints_aside
from tools_core._cli._terminal import (
    CommandError,
    error,
    is_terminal,
    json_text,
    note,
    one_line,
    write,
    write_json,
)  # fmt: skip

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from tools_core._cli._progress import Report
    from tools_core._tools._approval import ApprovalRequest
    from tools_core._tools._tool import Tool
    from tools_core._values._context import Context
    from tools_core._values._result import Result
    from tools_core._values._tool_call import ToolCall

GROUP = "ask_tools.call"  # a function (tool, call, context, approve) -> Result; approve is "all" or None

_EPILOG = """\
arguments:
  city=Oslo            text, or what the tool's schema says: a number, true/false, null, a choice
  tags=a tags=b        an array: the key again for each item
  shipping.city=Oslo   a member of an object
  limits:=[1,2]        any value, as JSON
  '{"city": "Oslo"}'   all of them, as one JSON object; --args FILE reads it from a file, --args - from stdin

A tool that requires approval asks before it runs. Without a terminal it is not called unless --yes approves it.
What a tool prints itself goes to standard error, its result to standard output; on a terminal control characters are
shown as escapes. --save and --raw take the bytes of pictures, sounds and files, and texts as they are.
A first Ctrl-C asks a tool that can be cancelled to end and shows what it has come to; a second one does not wait.
Exit codes: 0 ok, 1 the tool failed or was not approved, 2 unknown tool or wrong arguments, 130 interrupted.

examples:
  ask-tools call get_weather city=Oslo days=3
  echo '{"city": "Oslo"}' | ask-tools call get_weather --args - --json
  ask-tools call get_weather city=Oslo days=3 --dry-run
  ask-tools call get_weather city=Oslo --raw | cat
  ask-tools call get_map city=Oslo --save map.png
  ask-tools call get_map city=Oslo --save map.png --force
"""


def configure(parser: ArgumentParser) -> None:
    """Add the arguments of `call`."""
    parser.epilog = _EPILOG
    parser.add_argument("name", metavar="NAME", help="the tool, or DISTRIBUTION:NAME")
    parser.add_argument("words", metavar="key=value", nargs="*", help="its arguments, see below")
    parser.add_argument("--args", metavar="FILE", help="read the arguments as JSON from FILE, or - for stdin")
    parser.add_argument("--json", action="store_true", help="print the whole result as JSON")
    shapes = parser.add_mutually_exclusive_group()
    shapes.add_argument("--dry-run", action="store_true", help="show what would be passed to the tool, and run nothing")
    shapes.add_argument("--raw", action="store_true", help="print the result as it is, bytes of a picture included")
    shapes.add_argument("--save", metavar="FILE", help="write the result to FILE, several blocks to numbered files")
    parser.add_argument("--force", action="store_true", help="let --save overwrite what is there")
    text = "how to show progress on standard error: bar (on a terminal, the default there), plain lines, or none"
    parser.add_argument("--progress", metavar="STYLE", choices=("bar", "plain", "none"), help=text)
    parser.add_argument("--workspace", metavar="DIR", help="the folder that file tools stay inside")
    parser.add_argument("--timeout", metavar="SECONDS", type=_seconds, help="the time that the call may take")
    parser.add_argument("--strict", action="store_true", help='repair nothing: "2" is no integer')
    parser.add_argument("--yes", "-y", action="store_true", help="run a tool that requires approval without asking")
    parser.set_defaults(run=run, intermixed=True)


def run(options: Namespace) -> int:
    """Call the tool and print its result; with `--json` there is one, whatever happens."""
    try:
        return _call(options)
    except CommandError as failure:
        if not options.json:
            raise
        from tools_core._values._result import Result  # loaded already, with the tool

        write_json(Result.error(str(failure), type=failure.type).to_dict())
        return failure.status


def _call(options: Namespace) -> int:
    if options.raw and options.json:
        raise CommandError("--raw prints the result as it is, and --json as JSON; say one of them")
    tool, origin = installed_tool(options.name)
    arguments = _arguments(options, tool)
    if options.strict or options.timeout is not None:
        from copy import copy  # only here

        tool = copy(tool)
        tool.repair = tool.repair and not options.strict
        # Not a deadline of the context: the time to decide about the call does not count.
        if options.timeout is not None and (tool.timeout is None or options.timeout < tool.timeout):
            tool.timeout, tool.timeout_set_by = options.timeout, "--timeout"
    if options.dry_run:
        from tools_core._cli._dry_run import dry_run  # only here

        refused = dry_run(tool, arguments, origin, as_json=options.json)
        return 0 if refused is None else _report(refused, options)
    if options.save is not None:
        from tools_core._cli._save import check_free  # only here

        check_free(options.save, force=options.force)
    return _run(tool, arguments, options)


def _run(tool: Tool, arguments: dict[str, Any] | str, options: Namespace) -> int:
    """Call the tool, by the one package that decides about calls where there is one, and report."""
    folder = _workspace(options)
    from tools_core._values._context import Context
    from tools_core._values._result import Result
    from tools_core._values._tool_call import ToolCall  # these are loaded already, with the tool

    make_call = _decider() or _make_call
    approve: Any = "all" if options.yes else None
    try:
        with _progress(tool, options) as progress, prints_aside():
            context = Context(workspace=folder, on_progress=progress)
            with _interruptible(tool, context):
                result = make_call(tool, ToolCall(None, tool.name, arguments), context, approve)
    except SystemExit as ending:  # a tool may end a program of its own, not this command
        message = f"{tool.name} ended the program (exit code {ending.code})"
        raise CommandError(message, status=1, type="execution_error") from ending
    if result.error_type == "approval_required":
        text = f"{tool.name} requires approval and was not called: add --yes to approve it"
        result = Result.error(text, type="approval_required", metadata=result.metadata)
    status = _report(result, options)
    return INTERRUPTED if context.cancelled else status


def _decider() -> Callable[[Tool, ToolCall, Context, Any], Result] | None:
    """Load the function of another package that decides about calls, and makes them; None without one."""
    from tools_core._registry._entry_points import scan  # loaded already, to find the tool

    found = scan(GROUP)
    if not found:
        return None
    if len(found) > 1:
        hints = [f"pip uninstall {entry.distribution}" for entry in found]
        raise CommandError(f"{len(found)} packages decide about calls; keep one of them", *hints, status=1)
    try:
        with prints_aside():
            decider: Callable[[Tool, ToolCall, Context, Any], Result] = found[0].load()
    except (Exception, SystemExit) as broken:  # another package's code; without it, nothing is called
        message = f"{found[0]}, which decides about calls, does not load: {type(broken).__name__}: {broken}"
        raise CommandError(message, f"fix: pip install --upgrade {found[0].distribution}", status=1) from broken
    return decider


def _make_call(tool: Tool, call: ToolCall, context: Context, approve: Any) -> Result:
    """Make a call; where no option says so, a person at the terminal approves it."""
    from tools_core._registry._registry import Registry  # loaded already, to find the tool

    registry = Registry()
    registry.register(tool)
    if approve is None and is_terminal(sys.stdin) and is_terminal(sys.stderr):
        approve = _ask
    return registry.call(call, context, approve=approve)


def _progress(tool: Tool, options: Namespace) -> AbstractContextManager[Report | None]:
    is_shown = options.progress is not None or is_terminal(sys.stderr)
    if tool._spec.context is None or not is_shown:  # it has nowhere to report to, or nobody looks
        from contextlib import nullcontext

        return nullcontext()
    from tools_core._cli._progress import shown_progress  # for tools that take a while

    return shown_progress(options.progress)


def _interruptible(tool: Tool, context: Context) -> AbstractContextManager[None]:
    if tool._spec.context is None:  # it would not hear
        from contextlib import nullcontext

        return nullcontext()
    from tools_core._cli._interrupt import cancelled_by_interrupt  # for tools that take a while

    return cancelled_by_interrupt(context)


def _arguments(options: Namespace, tool: Tool) -> dict[str, Any] | str:
    """What the words and `--args` say; JSON text alone goes to the tool as it came."""
    words: list[str] = options.words
    text, source = None, "--args"
    if options.args is not None:
        text = _read(options.args)
    elif len(words) == 1 and words[0].lstrip().startswith("{"):
        text, words = words[0], []
    if not words:
        return {} if text is None else text
    given = read_arguments(words, tool.definition["input_schema"])
    return given if text is None else {**parse_object(text, source), **given}


def _read(source: str) -> str:
    try:
        if source == "-":
            return sys.stdin.buffer.read().decode("utf-8-sig")
        with open(source, encoding="utf-8-sig") as file:  # some editors put a mark at the beginning
            return file.read()
    except OSError as failure:
        raise CommandError(f"--args: cannot read {source}: {failure.strerror}") from failure
    except UnicodeDecodeError as failure:
        raise CommandError(f"--args: {source} is not UTF-8 (byte {failure.start})") from failure


def _workspace(options: Namespace) -> str | None:
    folder: str | None = options.workspace
    if folder is not None:
        import os  # loaded already, by the interpreter

        if not os.path.isdir(folder):
            raise CommandError(f"--workspace: {folder} is no folder")
    return folder


def _ask(request: ApprovalRequest) -> bool:
    """Have a person at the terminal approve a call."""
    import signal  # loaded already, where a call can be interrupted

    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        note(f"{request.tool.name} requires approval: {one_line(json_text(request.arguments, pretty=False))}")
        sys.stderr.write("run it? [y/N] ")
        sys.stderr.flush()
        return sys.stdin.readline().strip().lower() in ("y", "yes")
    finally:
        signal.signal(signal.SIGINT, usual)


def _report(result: Result, options: Namespace) -> int:
    if result.ok and options.save is not None:
        from tools_core._cli._save import save  # only here

        save(result, options.save, force=options.force)
    if options.json:
        write_json(result.to_dict())
    elif result.ok and options.raw:
        from tools_core._cli._save import write_raw  # only here

        write_raw(result)
    elif result.ok and options.save is None:
        _write_content(result)
    if result.halted:
        note("halted: the tool ends the conversation here")
    if result.ok:
        return 0
    is_mistake = result.error_type == "validation_error"
    if not options.json:
        error(result.error or "", [f"ask-tools show {options.name}"] if is_mistake else ())
    return 2 if is_mistake else 1


def _write_content(result: Result) -> None:
    content = result.content
    if not isinstance(content, str):
        for block in content:
            write(str(block))  # bytes are described, never shown
    elif is_terminal(sys.stdout) and isinstance(result.output, dict | list | tuple):
        import json  # loaded already, by the result

        write_json(json.loads(content))
    else:
        write(content)


def _seconds(text: str) -> float:
    from argparse import ArgumentTypeError  # loaded already: its parser asks

    try:
        seconds = float(text)
    except ValueError:
        seconds = 0
    if not 0 < seconds < float("inf"):
        raise ArgumentTypeError(f"takes seconds above 0, such as 2.5; got {text!r}")
    return seconds
