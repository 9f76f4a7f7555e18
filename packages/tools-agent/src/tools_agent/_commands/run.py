"""`ask-tools run`: an agent with the installed tools, whose session can be interrupted and resumed."""

from __future__ import annotations

import os
import shlex
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO
from uuid import uuid4

from tools_agent._commands._preview import Preview
from tools_agent._commands.sessions import add_store, opened, request_lines, short, unknown_session
from tools_core.command import (
    CommandError,
    answer_on_terminal,
    did_you_mean,
    is_terminal,
    load_tools,
    note,
    stdout_to_stderr,
    write_json,
)
from tools_core.text import visible

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Generator

    from tools_agent import Agent, Response, Session, Store

_EPILOG = """\
Calls that do more than read need approval, unless a rule of the policy decides (ask-tools policy). The command asks on
the terminal. Without a terminal it ends and prints the calls: approve them with `ask-tools policy approve KEY`, or run
the session with --yes. Ctrl-C interrupts a run. `ask-tools run --session NAME` continues, also after a crash.

The reply goes to standard output, tool calls and tokens to standard error.
Exit codes: 0 done; 1 interrupted, blocked, waiting for approval, or a failure; 2 wrong usage; 130 Ctrl-C.

examples:
  ask-tools run 'Tidy this folder' --model anthropic:claude-sonnet-5-5
  ask-tools run 'Tidy this folder' --model anthropic:claude-sonnet-5-5 --preview
  ask-tools run 'What does this project do?' --model openai:gpt-5 --tools 'read_*,grep,glob'
  ask-tools run 'And its tests?' --session 4f0c91d2
  ask-tools run 'Tidy this folder' --model scripted:demo --preview      (needs no key and no network)
"""


def configure(parser: ArgumentParser) -> None:
    """Add the arguments of `run`."""
    parser.description = "Run an agent with the installed tools."
    parser.epilog = _EPILOG
    parser.add_argument("prompt", metavar="PROMPT", nargs="?", help="the task; - reads it from standard input")
    text = "openai, openai-responses, anthropic or gemini, with a model; by default the session's, or $ASK_TOOLS_MODEL"
    parser.add_argument("--model", metavar="PROVIDER:NAME", help=text)
    text = "NAME, 'x_*', PACKAGE, PACKAGE:NAME, FILE.py or FILE.py:NAME; by default all installed tools"
    parser.add_argument("--tools", metavar="TOOL,...", action="append", help=text)
    parser.add_argument("--session", metavar="NAME", help="the session to continue; with --model also a new one")
    parser.add_argument("--instructions", metavar="TEXT", help="instructions of a new session")
    parser.add_argument("--max-steps", metavar="N", type=int, default=50, help="replies in this run; 50 by default")
    parser.add_argument("--workspace", metavar="DIR", help="the folder that file tools are confined to")
    text = "work in a copy of the workspace, and ask in the end whether to apply the changes; needs tools-workspace"
    parser.add_argument("--preview", action="store_true", help=text)
    parser.add_argument("--policy", metavar="FILE", action="append", help="rules instead of the user's policy file")
    parser.add_argument("--yes", "-y", action="store_true", help="approve all calls that need approval")
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

    from tools_agent import Agent, ProviderError, StoreError
    from tools_agent.approval import TerminalApprover, add_session_rules
    from tools_runtime import Policy, PolicyError

    prompt = sys.stdin.read() if options.prompt == "-" else options.prompt
    if prompt is None and options.session is None:
        raise CommandError("there is nothing to do: give a prompt, or --session NAME", "ask-tools run --help")
    with opened(options) as store:
        tools = load_tools(options.tools)
        try:
            policy = Policy(files=options.policy)
        except PolicyError as error:
            raise CommandError(str(error)) from error
        session, provider, workspace = _session(options, store, prompt)
        add_session_rules(policy, session)
        ask: Any = "all" if options.yes else TerminalApprover(policy, session)
        preview = Preview(workspace, ask) if options.preview else None
        if preview is not None:
            options.workspace = workspace = preview.path  # to continue the session there
            ask = ask if options.yes else preview.approve
        agent = Agent(
            session, model=provider, tools=tools, max_steps=options.max_steps, policy=policy,
            approve=ask, on_ask=answer_on_terminal,
            tool_timeout=120.0, workspace=workspace, output_budget=options.output_budget or None,
            loop_detection=not options.no_loop_detection,
        )  # fmt: skip
        resume = f"continue with: {_command(session, options)}"
        try:
            with _standard_output() as output, agent:
                response = asyncio.run(_show(agent, prompt, None if options.json else output))
        except KeyboardInterrupt:
            note(f"\ninterrupted; {resume}")
            return 130
        except (ProviderError, StoreError) as error:
            raise CommandError(str(error), resume, status=1) from error
        code = _report(response, session, resume, options)
        if preview is not None and response.outcome in ("completed", "halted"):
            preview.finish()
    return code


def _session(options: Namespace, store: Store, prompt: str | None) -> tuple[Session, Any, str]:
    """Return the session, its provider and its workspace. Create the session if the options name its model."""
    from tools_agent import Session, System

    name = options.session
    stored = {session.id: session.metadata for session in store.sessions()} if name else {}
    if name and name not in stored and (prompt is None or options.model is None):
        raise unknown_session(name, store)
    metadata = stored.get(name, {})
    model = options.model or metadata.get("model") or os.environ.get("ASK_TOOLS_MODEL")
    if not model:
        raise CommandError("which model? --model PROVIDER:NAME, such as anthropic:claude-sonnet-5-5 or scripted:demo")
    provider = _provider(model)  # raises before the session is created
    workspace = str(Path(options.workspace or metadata.get("workspace") or ".").absolute())
    if name in stored:
        return Session.open(store, name), provider, workspace
    if name and (suggestion := did_you_mean(name, stored)):
        note(f"new session {name}; {suggestion}")
    instructions = [System(content=options.instructions)] if options.instructions else []
    metadata = {"model": model, "title": short(prompt), "workspace": workspace}
    session = Session(instructions, id=name or uuid4().hex[:8], store=store, metadata=metadata)
    return session, provider, workspace


def _command(session: Session, options: Namespace) -> str:
    """Return the command that continues a session, with the options that a session does not store."""
    words = ["ask-tools", "run", "--session", session.id]
    for name in ("tools", "policy", "workspace", "store"):
        values = getattr(options, name) or []
        for value in [values] if isinstance(values, str) else values:
            words += [f"--{name}", value]
    return shlex.join(words)


def _provider(model: str) -> Any:
    from tools_agent import ProviderError, get_provider

    try:
        get_provider(model)
    except ProviderError as error:
        raise CommandError(str(error)) from error
    return model


@contextmanager
def _standard_output() -> Generator[TextIO]:
    """Yield standard output; tools print to standard error."""
    sys.stdout.flush()
    with os.fdopen(os.dup(1), "w", encoding="utf-8", errors="backslashreplace") as output, stdout_to_stderr():
        yield output


async def _show(agent: Agent, prompt: str | None, output: TextIO | None) -> Response:
    """Run the agent, and print each event as it happens; text only if there is an output."""
    from tools_agent import Retrying, TextDelta, ToolFinished, ToolStarted

    def write(text: str) -> None:
        if output is not None:
            output.write(visible(text, keep_layout=True) if is_terminal(output) else text)
            output.flush()

    last = ""  # the last text in the output
    async for event in (stream := agent.astream(prompt)):  # yields events while tools run
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
            note(f"retry in {event.delay:.0f} s: {event.reason}")
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
                "pending": [dict(request) for request in response.pending],
                "steps": response.steps,
                "usage": usage.model_dump(),
            }
        )
    for request in response.pending:
        note("\n".join(request_lines(request, session.id, options.store)))
    note(f"tokens: {usage.input_tokens:,} in, {usage.output_tokens:,} out; session {session.id}")
    if response.outcome in ("completed", "halted"):
        return 0
    reason = response.interrupt_reason or response.detail or (response.tripwire and response.tripwire.reason)
    note(f"{response.outcome}{f': {reason}' if reason else ''}; {resume}")
    return 1
