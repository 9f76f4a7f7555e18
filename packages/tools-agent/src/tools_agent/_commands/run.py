"""`ask-tools run`: an agent with the installed tools, whose session can be interrupted and resumed."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO
from uuid import uuid4

from tools_agent._commands._sessions import add_store, opened, short
from tools_core.command import CommandError, is_terminal, load_tools, note, stdout_to_stderr, write_json
from tools_core.text import visible

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Generator

    from tools_agent import Agent, Response, Session, Store

_EPILOG = """\
Calls that do more than read are asked about on the terminal, unless a rule of the policy decides (ask-tools policy).
Without a terminal the command ends and prints them: approve them with `ask-tools policy approve KEY`, or run the
session again with --yes. Ctrl-C interrupts. In any case, also after a crash, `ask-tools run --session NAME` goes on.

The reply goes to standard output, tool calls and tokens to standard error.
Exit codes: 0 done; 1 interrupted, blocked, waiting for approval, or a failure; 2 wrong usage; 130 Ctrl-C.

examples:
  ask-tools run 'Tidy this folder' --model anthropic:claude-sonnet-5-5
  ask-tools run 'What does this project do?' --model openai:gpt-5 --tools 'read_*,grep,glob'
  ask-tools run 'And its tests?' --session 4f0c91d2
  ask-tools run 'Show me how it works' --model scripted:demo      (needs no key and no network)
"""


def configure(parser: ArgumentParser) -> None:
    """Add the arguments of `run`."""
    parser.description = "Run an agent with the installed tools."
    parser.epilog = _EPILOG
    parser.add_argument("prompt", metavar="PROMPT", nargs="?", help="what to do; - for standard input; none to go on")
    text = "openai, openai-responses, anthropic or gemini, with a model; by default the session's, or $ASK_TOOLS_MODEL"
    parser.add_argument("--model", metavar="PROVIDER:NAME", help=text)
    text = "NAME, 'x_*', PACKAGE, PACKAGE:NAME, FILE.py or FILE.py:NAME; by default all installed tools"
    parser.add_argument("--tools", metavar="TOOL,...", action="append", help=text)
    parser.add_argument("--session", metavar="NAME", help="the session to go on with, or the name of a new one")
    parser.add_argument("--instructions", metavar="TEXT", help="instructions of a new session")
    parser.add_argument("--max-steps", metavar="N", type=int, default=50, help="replies in this run; 50 by default")
    parser.add_argument("--workspace", metavar="DIR", help="the folder that file tools are confined to")
    parser.add_argument("--policy", metavar="FILE", action="append", help="rules in place of the user's policy file")
    parser.add_argument("--yes", "-y", action="store_true", help="approve all calls that the policy asks about")
    text = "characters of a result that the model sees; 30000 by default, 0 for no limit"
    parser.add_argument("--output-budget", metavar="N", type=int, default=30_000, help=text)
    text = "do not warn a model that repeats a call, nor end the run if the call fails each time"
    parser.add_argument("--no-loop-detection", action="store_true", help=text)
    parser.add_argument("--json", action="store_true", help="print the response as JSON, at the end")
    add_store(parser)
    parser.set_defaults(run=run, intermixed=True)


def run(options: Namespace) -> int:
    """Run the agent, show what happens, and return the exit code."""
    import asyncio  # not needed for --help

    from tools_agent import Agent
    from tools_runtime import Policy, PolicyError, ask_on_terminal

    prompt = sys.stdin.read() if options.prompt == "-" else options.prompt
    if prompt is None and options.session is None:
        raise CommandError("there is nothing to do: give a prompt, or --session NAME to go on", "ask-tools run --help")
    with opened(options) as store:
        tools = load_tools(options.tools)
        try:
            policy = Policy(files=options.policy)
        except PolicyError as error:
            raise CommandError(str(error)) from error
        session, model, workspace = _session(options, store, prompt)
        agent = Agent(
            session, model=_provider(model), tools=tools, max_steps=options.max_steps, policy=policy,
            approve="all" if options.yes else ask_on_terminal, tool_timeout=120.0,
            workspace=workspace, output_budget=options.output_budget or None,
            loop_detection=not options.no_loop_detection,
        )  # fmt: skip
        resume = f"ask-tools run --session {session.id}"
        try:
            with _standard_output() as output, agent:
                response = asyncio.run(_show(agent, prompt, None if options.json else output))
        except KeyboardInterrupt:
            note(f"\ninterrupted; go on with: {resume}")
            return 130
    return _report(response, session, resume, options)


def _session(options: Namespace, store: Store, prompt: str | None) -> tuple[Session, str, str]:
    """Return the session, which is new if the store has none of this name, its model and its workspace."""
    from tools_agent import Session, System

    known = {each.id: each.metadata for each in store.sessions()} if options.session else {}
    metadata = known.get(options.session, {})
    model = options.model or metadata.get("model") or os.environ.get("ASK_TOOLS_MODEL")
    if not model:
        raise CommandError("which model? --model PROVIDER:NAME, such as anthropic:claude-sonnet-5-5 or scripted:demo")
    _provider(model)  # before a session is made
    workspace = str(Path(options.workspace or metadata.get("workspace") or ".").absolute())
    if options.session in known or prompt is None:
        return Session.open(store, options.session), model, workspace
    instructions = [System(content=options.instructions)] if options.instructions else []
    metadata = {"model": model, "title": short(prompt), "workspace": workspace}
    return (
        Session(instructions, id=options.session or uuid4().hex[:8], store=store, metadata=metadata),
        model,
        workspace,
    )


def _provider(model: str) -> Any:
    from tools_agent import ProviderError, get_provider

    if model == "scripted:demo":
        from tools_agent._commands._demo import demo

        return demo()
    try:
        get_provider(model)
    except ProviderError as error:
        raise CommandError(str(error)) from error
    return model


@contextmanager
def _standard_output() -> Generator[TextIO]:
    """Yield standard output, while what tools print goes to standard error."""
    sys.stdout.flush()
    with os.fdopen(os.dup(1), "w", encoding="utf-8", errors="backslashreplace") as output, stdout_to_stderr():
        yield output


async def _show(agent: Agent, prompt: str | None, output: TextIO | None) -> Response:
    """Run the agent, and show each event as it happens; text only where there is an output."""
    from tools_agent import Retrying, TextDelta, ToolFinished, ToolStarted

    def write(text: str) -> None:
        if output is not None:
            output.write(visible(text, keep_layout=True) if is_terminal(output) else text)
            output.flush()

    last = ""  # what was written
    async for event in (stream := agent.astream(prompt)):  # its events arrive while tools run
        if isinstance(event, TextDelta):
            write(event.content)
            last = event.content or last
            continue
        if last and not last.endswith("\n"):
            write(last := "\n")
        if isinstance(event, ToolStarted):
            note(f"→ {event.call.name} {short(event.call.raw_arguments or {})}")
        elif isinstance(event, ToolFinished):
            note(f"← {'' if event.result.ok else 'error: '}{short(str(event.result))}")
        elif isinstance(event, Retrying):
            note(f"asked again in {event.delay:.0f} s: {event.reason}")
    response = stream.response
    if response.content and (response.halted or not last):
        write(f"{response.content}\n")
    return response


def _report(response: Response, session: Session, resume: str, options: Namespace) -> int:
    usage = response.usage
    if options.json:
        write_json(
            {
                "session": session.id,
                "outcome": response.outcome,
                "content": response.content,
                "reason": response.interrupt_reason or response.detail,
                "pending": [dict(each) for each in response.pending],
                "steps": response.steps,
                "usage": usage.model_dump(),
            }
        )
    for each in response.pending:
        note(f"waits for approval: {each['tool']} {short(each['arguments'])}")
        if each["key"]:
            note(f"  ask-tools policy approve {each['key']}")
    note(f"tokens: {usage.input_tokens:,} in, {usage.output_tokens:,} out; session {session.id}")
    if response.outcome in ("completed", "halted"):
        return 0
    reason = response.interrupt_reason or response.detail or (response.tripwire and response.tripwire.reason)
    note(f"{response.outcome}{f': {reason}' if reason else ''}; go on with: {resume}")
    return 1
