"""`ask-tools run`: an agent with the installed tools, whose session can be interrupted and resumed."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from tools_cli._commands.preview import Preview, confined_tools, has_copy
from tools_cli._commands.sessions import add_store, opened, request_lines
from tools_cli._commands.start import (
    add_session_options,
    close_calls,
    find_start,
    make_policy,
    piped_text,
    read_files,
    selected_tools,
    show_system,
)
from tools_cli._terminal._jobs import end_jobs
from tools_cli._terminal._progress import EventPrinter, TerminalOutput, price_of, standard_output, usage_text
from tools_core.command import CommandError, answer_on_terminal, grant_words, note, write_json

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence

    from tools_agent import Agent, Response, Session
    from tools_core import ApprovalRequest
    from tools_runtime import Policy

_EPILOG = """\
Text from another program is added to the prompt: git diff | ask-tools run 'Review this'.

Calls that do more than read need approval, unless a rule of the policy decides (ask-tools policy). The command asks on
the terminal. Without a terminal it ends, and prints the calls and the commands that answer. With --preview, calls that
touch nothing but the copy need no approval, and you decide about the changes in the end.
Ctrl-C interrupts a run. `ask-tools run --session NAME` continues, also after a crash.

The reply goes to standard output; tool calls, tokens and the price to standard error.
Exit codes: 0 done; 1 interrupted, blocked, waiting for approval, or a failure; 2 wrong usage; 130 Ctrl-C.

examples:
  ask-tools run 'Tidy this folder' --model anthropic:claude-sonnet-5-5 --preview
  ask-tools run 'What does this project do?' --model openai:gpt-5 --read-only
  ask-tools run 'And its tests?' -c
  ask-tools run 'What is wrong here?' --file screenshot.png < error.log
  ask-tools run 'Tidy this folder' --model scripted:demo --preview      (needs no key and no network)
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
    parser.add_argument("--json", action="store_true", help="print the response as JSON, at the end")
    add_store(parser)
    parser.set_defaults(run=run, intermixed=True)


def run(options: Namespace) -> int:
    """Run the agent, show what happens, and return the exit code."""
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
        tools = selected_tools(options)
        start = find_start(options, store, may_create=prompt is not None)
        session = start.open(options.prompt or prompt or "")
        options.preview = options.preview or has_copy(session, start.workspace)
        preview = None
        if options.preview:
            preview = Preview(start.workspace, session, TerminalOutput(None), ignore=options.ignore)
        if preview is not None:
            tools = selected_tools(options, confined_tools)
        add_session_rules(policy, session)
        agent = Agent(
            session, model=start.model, tools=tools, skills=options.skills, max_steps=options.max_steps,
            approve=_approver(options, TerminalApprover(policy, session), preview, policy), policy=policy,
            on_ask=answer_on_terminal, tool_timeout=120.0, workspace=preview.path if preview else start.workspace,
            output_budget=options.output_budget or None, loop_detection=not options.no_loop_detection,
            max_cost=options.max_cost, window=Window(summarize=True),
        )  # fmt: skip
        try:
            with agent:
                return _run(agent, prompt, files, options, preview)
        finally:
            end_jobs()


def _run(agent: Agent, prompt: str | None, files: Sequence[Any], options: Namespace, preview: Preview | None) -> int:
    """Run once; with a preview until its changes are decided about. Return the exit code."""
    while True:
        if prompt is not None:
            close_calls(agent.session)
        code, is_finished = _run_once(agent, prompt, files, options)
        if preview is None or not is_finished:
            return code
        prompt, files = preview.finish(), []
        if prompt is None:
            return code


def _prompt(options: Namespace) -> tuple[str | None, Sequence[Any]]:
    """Return the prompt with the text of other programs and files, and the files that are not text."""
    texts, files = read_files(options.file or ())
    parts = [part for part in (options.prompt, piped_text().rstrip("\n")) if part]
    return ("\n\n".join(parts) + texts).lstrip("\n") or None, files


def _approver(options: Namespace, ask: Any, preview: Preview | None, policy: Policy) -> Any:
    """Return who answers requests for approval."""
    if options.yes:
        return "all"
    if preview is None:
        return ask

    def approve(request: ApprovalRequest) -> Any:
        return "once" if preview.allows(request, policy) else ask(request)

    return approve


def _run_once(agent: Agent, prompt: str | None, files: Sequence[Any], options: Namespace) -> tuple[int, bool]:
    """Run until the model has replied; return the exit code, and whether the model has finished."""
    import asyncio  # not needed for --help

    from tools_agent import ProviderError, StoreError

    session = agent.session
    resume = f"continue with: {_command(session, options)}"
    before = {message.id for message in session}
    with standard_output() as stream:
        output = TerminalOutput(None if options.json else stream)
        printer = EventPrinter(output, agent.tools)
        try:
            response = asyncio.run(_stream(agent, prompt, files, output, printer))
        except KeyboardInterrupt:
            for message in session:  # results that arrived after the interrupt
                is_new = message.role == "tool" and message.id not in before
                if is_new and message.tool_call_id not in printer.finished:
                    printer.result(message.tool_call_id, message.name, message.result)
            output.end_line()
            note(f"interrupted; {resume}")
            return 130, False
        except (ProviderError, StoreError) as error:
            output.discard_text()
            raise CommandError(str(error), resume, status=1) from error
        finally:
            printer.show_warnings()
        price = price_of(message for message in session if message.id not in before)
    return _report(response, session, resume, options, price), response.outcome in ("completed", "halted")


def _command(session: Session, options: Namespace) -> str:
    """Return the command that continues a session, with the options that a session does not store."""
    words = ["ask-tools", "run", "--session", session.id]
    for name in ("tools", "skills", "policy", "workspace", "store"):
        values = getattr(options, name) or []
        for value in [values] if isinstance(values, str) else values:
            words += [f"--{name}", value]
    flags = [f"--{name}" for name in ("read-only", "preview") if getattr(options, name.replace("-", "_"))]
    return shlex.join(words + flags + grant_words(options))


async def _stream(
    agent: Agent, prompt: str | None, files: Sequence[Any], output: TerminalOutput, printer: EventPrinter
) -> Response:
    """Run the agent, and print each event as it happens."""
    stream = agent.astream(prompt, files=list(files) or None)
    async for event in stream:  # while tools run
        printer.event(event)
    response = stream.response
    if response.content and (response.halted or output.is_empty):
        output.end_line()
        output.write(f"{response.content}\n")
    output.end_line()
    return response


def _report(response: Response, session: Session, resume: str, options: Namespace, price: float | None) -> int:
    usage = response.usage
    if options.json:
        write_json(
            {
                "session": session.id,
                "outcome": response.outcome,
                "content": response.content,
                "reason": response.interrupt_reason or response.detail,
                "pending": [dict(request) for request in response.pending],
                "steps": response.steps,
                "usage": usage.model_dump(),
                "price": price,
            }
        )
    for request in response.pending:
        note("\n".join(request_lines(request, session.id, options.store)))
    note(f"{usage_text(usage, price)}; session {session.id}")
    if response.outcome in ("completed", "halted"):
        return 0
    reason = response.interrupt_reason or response.detail or (response.tripwire and response.tripwire.reason)
    note(f"{response.outcome}{f': {reason}' if reason else ''}; {resume}")
    return 1
