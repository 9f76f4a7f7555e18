"""`ask-tools run`: an agent with the installed tools, whose session can be interrupted and resumed."""

from __future__ import annotations

import os
import shlex
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from tools_cli._commands.attachments import Attachments, read_file
from tools_cli._commands.modes import MODES, chosen_mode, has_person, tools_for
from tools_cli._commands.preview import Preview, has_copy
from tools_cli._commands.sessions import add_store, opened, request_lines, short
from tools_cli._commands.start import (
    add_session_options,
    close_calls,
    find_start,
    make_policy,
    piped_text,
    show_system,
)
from tools_cli._commands.turns import Turns, undo_lines
from tools_cli._terminal._jobs import end_jobs, offer_to_wait
from tools_cli._terminal._json_output import FORMATS, JsonLines, end_of, error_of, write_last
from tools_cli._terminal._progress import EventPrinter, TerminalOutput, price_of, standard_output, usage_text
from tools_core.command import CommandError, answer_on_terminal, grant_words, note

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Generator, Sequence
    from types import FrameType

    from tools_agent import Agent, Response, Session
    from tools_runtime import Policy

_EPILOG = """\
Text from another program is added to the prompt: git diff | ask-tools run 'Review this'.

On a terminal, calls that stay in the workspace run without a question, sandboxed commands included, and ask-tools undo
takes them back: --mode auto. Others need approval, unless a rule of the policy decides (ask-tools policy). With --mode
ask each change needs it; with --mode preview the agent works in a copy, and you decide about the changes in the end.
Without a terminal the mode is ask: the command ends, and prints the calls and the commands that answer.
Ctrl-C or SIGTERM interrupts a run. `ask-tools run --session NAME` continues, also after a crash.

The reply goes to standard output; tool calls, tokens and the price to standard error.
Exit codes: 0 done; 1 interrupted, blocked, waiting for approval, or a failure; 2 wrong usage; 130 Ctrl-C; 143 SIGTERM.

examples:
  ask-tools run 'Tidy this folder' --model anthropic:claude-sonnet-5-5
  ask-tools run 'What does this project do?' --model openai:gpt-5 --read-only
  ask-tools run 'And its tests?' -c
  ask-tools run 'List the TODOs' --output-format stream-json | jq -r 'select(.type == "text_done").content'
  ask-tools run 'What is wrong here?' --file screenshot.png < error.log
  ask-tools run 'Tidy this folder' --model scripted:demo --mode preview   (needs no key and no network)
"""


def configure(parser: ArgumentParser) -> None:
    """Add the arguments of `run`."""
    parser.description = "Run an agent with the installed tools."
    parser.epilog = _EPILOG
    parser.add_argument("prompt", metavar="PROMPT", nargs="?", help="the task")
    add_session_options(parser)
    parser.add_argument("--max-steps", metavar="N", type=int, default=50, help="replies in this run; 50 by default")
    text = "characters of a result that the model sees; 30000 by default, 0 for no limit"
    parser.add_argument("--output-budget", metavar="N", type=int, default=30_000, help=text)
    text = "do not warn a model that repeats a call, nor end the run if the call fails each time"
    parser.add_argument("--no-loop-detection", action="store_true", help=text)
    text = "text; json: the response as one object, at the end; stream-json: each event as a line"
    parser.add_argument("--output-format", choices=FORMATS, default="text", help=text)
    add_store(parser)
    parser.set_defaults(run=run, intermixed=True)


def run(options: Namespace) -> int:
    """Run the agent, show what happens, and return the exit code."""
    try:
        return _run_session(options)
    except Exception as error:
        write_last(error_of(error), options.output_format)
        raise


def _run_session(options: Namespace) -> int:
    from tools_agent import Agent, Window
    from tools_agent.approval import add_session_rules
    from tools_cli._terminal._prompt import TerminalApprover

    if options.show_system:
        return show_system(options)
    prompt, files = _prompt(options)
    if prompt is None and not (options.session or options.latest):
        raise CommandError("there is nothing to do: give a prompt, --session NAME or -c", "ask-tools run --help")
    with opened(options) as store:
        policy = make_policy(options)
        start = find_start(options, store, may_create=prompt is not None)
        stored = start.open("") if start.is_stored else None
        is_continued = stored is not None and has_copy(stored, start.workspace)
        tools, mode = tools_for("preview" if is_continued else chosen_mode(options.mode), options)
        for problem in policy.problems(tools.values()):
            note(f"warning: {problem}")
        session = stored or start.open(options.prompt or prompt or "")  # not before the options are right
        output = TerminalOutput(None)
        preview = Preview(start.workspace, session, output, ignore=options.ignore) if mode == "preview" else None
        turns = Turns(start.workspace, store, output, is_auto=mode == "auto")
        if has_person():
            note(f"mode {mode}: {MODES[mode]}")
        add_session_rules(policy, session)
        agent = Agent(
            session, model=start.model, tools=tools, skills=options.skills, max_steps=options.max_steps,
            approve=_approver(options, TerminalApprover(policy, session), preview or turns, policy),
            policy=policy, hooks=[turns], on_ask=answer_on_terminal, tool_timeout=120.0,
            workspace=preview.path if preview else start.workspace, output_budget=options.output_budget or None,
            loop_detection=not options.no_loop_detection, max_cost=options.max_cost, window=Window(summarize=True),
        )  # fmt: skip
        if preview is None:
            turns.begin(short(options.prompt or prompt or "continued"), session.id)
        try:
            with agent:
                ending = _run(agent, prompt, files, options, preview)
        finally:
            end_jobs()
            if (changeset := turns.end()) is not None:
                output.show(undo_lines(changeset, shlex.join(["ask-tools", "undo", *_place(start.workspace)])))
        if ending.reason:  # last, as it says what to do next
            note(f"{ending.reason}; continue with: {_command(session, options)}")
        return ending.code


class _Ending(NamedTuple):
    """How a run has ended."""

    code: int
    reason: str = ""  # why the session should continue


def _run(
    agent: Agent, prompt: str | None, files: Sequence[Any], options: Namespace, preview: Preview | None
) -> _Ending:
    """Run once; with a preview until its changes are decided about."""
    while True:
        if prompt is not None:
            close_calls(agent.session)
            agent.session.log.write([("turn", {"prompt": short(prompt)})])  # for /rewind
        ending = _run_once(agent, prompt, files, options)
        if ending.reason:
            return ending
        if preview is None:
            offer_to_wait()
            return ending
        prompt, files = preview.finish(), []
        if prompt is None:
            return ending


def _prompt(options: Namespace) -> tuple[str | None, Sequence[Any]]:
    """Return the prompt with the text of other programs, the files of the options, and those named as `@path`."""
    files = [read_file(path) for path in dict.fromkeys(options.file or ())]
    files += Attachments(note, ()).take(options.prompt or "", options.workspace or ".")
    parts = [part for part in (options.prompt, piped_text().rstrip("\n")) if part]
    return "\n\n".join(parts).lstrip("\n") or ("" if files else None), files


def _approver(options: Namespace, ask: Any, scope: Preview | Turns, policy: Policy) -> Any:
    """Return who answers requests for approval."""
    if options.yes:
        return "all"
    return lambda request: "once" if scope.allows(request, policy) else ask(request)


def _place(workspace: str) -> list[str]:
    """Return the option that names a workspace; nothing for the current folder."""
    return [] if os.path.realpath(workspace) == os.path.realpath(os.curdir) else ["--workspace", workspace]


def _run_once(agent: Agent, prompt: str | None, files: Sequence[Any], options: Namespace) -> _Ending:
    """Run until the model has replied."""
    import asyncio  # not needed for --help

    from tools_agent import ProviderError, StoreError

    session = agent.session
    before = {message.id for message in session}
    with standard_output() as stream, _sigterm_as_ctrl_c() as received:
        output = TerminalOutput(stream if options.output_format == "text" else None)
        lines = JsonLines(stream, options.output_format)
        lines.start(session, str(agent.model), str(agent.workspace), sorted(agent.tools))
        printer = EventPrinter(output, agent.tools)
        try:
            response = asyncio.run(_stream(agent, prompt, files, output, printer, lines))
        except KeyboardInterrupt:
            for message in session:  # results that arrived after the interrupt
                is_new = message.role == "tool" and message.id not in before
                if is_new and message.tool_call_id not in printer.finished:
                    printer.result(message.tool_call_id, message.name, message.result)
            output.end_line()
            code = 128 + next(iter(received), signal.SIGINT)
            write_last(end_of(session, None, None, code), options.output_format)
            return _Ending(code, "interrupted")
        except (ProviderError, StoreError) as error:
            output.discard_text()
            raise CommandError(str(error), f"continue with: {_command(session, options)}", status=1) from error
        finally:
            printer.show_warnings()
        price = price_of(message for message in session if message.id not in before)
    return _report(response, session, options, price)


def _command(session: Session, options: Namespace) -> str:
    """Return the command that continues a session, with the options that a session does not store."""
    words = ["ask-tools", "run", "--session", session.id]
    for name in ("tools", "skills", "policy", "workspace", "store"):
        values = getattr(options, name) or []
        for value in [values] if isinstance(values, str) else values:
            words += [f"--{name}", value]
    flags = ["--read-only"] if options.read_only else []
    flags += ["--mode", options.mode] if options.mode else []
    return shlex.join(words + flags + grant_words(options))


@contextmanager
def _sigterm_as_ctrl_c() -> Generator[list[int]]:
    """Interrupt the run at SIGTERM as at Ctrl-C; yield the list that the signal is added to."""
    received: list[int] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        received.append(number)
        handler = signal.getsignal(signal.SIGINT)
        if not callable(handler):  # Ctrl-C is ignored, as in a background job of a script
            raise KeyboardInterrupt
        handler(number, frame)

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield received
    finally:
        signal.signal(signal.SIGTERM, before)


async def _stream(
    agent: Agent,
    prompt: str | None,
    files: Sequence[Any],
    output: TerminalOutput,
    printer: EventPrinter,
    lines: JsonLines,
) -> Response:
    """Run the agent, and print each event as it happens."""
    stream = agent.astream(prompt, files=list(files) or None)
    async for event in stream:  # while tools run
        printer.event(event)
        lines.event(event)
    response = stream.response
    if response.content and (response.halted or output.is_empty):
        output.end_line()
        output.write(f"{response.content}\n")
    output.end_line()
    return response


def _report(response: Response, session: Session, options: Namespace, price: float | None) -> _Ending:
    """Print the calls that wait, and the tokens."""
    usage, code = response.usage, 0 if response.outcome in ("completed", "halted") else 1
    write_last(end_of(session, response, price, code), options.output_format)
    for request in response.pending:
        note("\n".join(request_lines(request, session.id, options.store)))
    note(f"{usage_text(usage, price)}; session {session.id}")
    if not code:
        return _Ending(0)
    reason = response.interrupt_reason or response.detail or (response.tripwire and response.tripwire.reason)
    return _Ending(1, f"{response.outcome}{f': {reason}' if reason else ''}")
