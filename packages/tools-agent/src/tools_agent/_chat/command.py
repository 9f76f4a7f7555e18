"""`ask-tools chat`: its options, and the parts of a chat."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from tools_agent._commands.sessions import add_store, opened, short, unknown_session
from tools_core.command import CommandError, load_tools, note

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from tools_agent import Store
    from tools_runtime import Policy

_EPILOG = """\
Calls that do more than read need approval, unless a rule of the policy decides (ask-tools policy). Ctrl-C interrupts a
turn, pressed twice it ends the chat. Shift-Tab starts a preview: the next turns work in a copy, and /changes shows and
applies what they changed. /help lists the commands and keys. `ask-tools sessions` lists the sessions.

examples:
  ask-tools chat --model anthropic:claude-sonnet-5-5
  ask-tools chat --model openai:gpt-5 --preview
  ask-tools chat --continue
  ask-tools chat --model scripted:demo      (needs no key and no network)
"""


def configure(parser: ArgumentParser) -> None:
    """Add the arguments of `chat`."""
    parser.description = "Chat with an agent that has the installed tools; needs the extra `chat` of tools-agent."
    parser.epilog = _EPILOG
    parser.add_argument("prompt", metavar="PROMPT", nargs="?", help="the first prompt")
    text = "openai, openai-responses, anthropic or gemini, with a model; by default the session's, or $ASK_TOOLS_MODEL"
    parser.add_argument("--model", metavar="PROVIDER:NAME", help=text)
    text = "NAME, 'x_*', PACKAGE, PACKAGE:NAME, FILE.py or FILE.py:NAME; by default all installed tools"
    parser.add_argument("--tools", metavar="TOOL,...", action="append", help=text)
    parser.add_argument("--session", metavar="NAME", help="the session to continue")
    parser.add_argument("--continue", "-c", dest="is_continued", action="store_true", help="continue the last session")
    parser.add_argument("--instructions", metavar="TEXT", help="instructions of a new session")
    parser.add_argument("--workspace", metavar="DIR", help="the folder that file tools are confined to")
    text = "work in a copy of the workspace; Shift-Tab toggles; needs tools-workspace"
    parser.add_argument("--preview", action="store_true", help=text)
    parser.add_argument("--policy", metavar="FILE", action="append", help="rules instead of the user's policy file")
    add_store(parser)
    parser.set_defaults(run=run, intermixed=True)


def run(options: Namespace) -> int:
    """Run the chat until the user ends it."""
    import asyncio  # not needed for --help

    for module in ("prompt_toolkit", "rich"):
        try:
            import_module(module)
        except ImportError as error:
            raise CommandError(f"chat needs {module}", "pip install 'tools-agent[chat]'") from error
    with opened(options) as store:
        settings = _settings(options, store)
        return asyncio.run(_chat(options, store, *settings))


def _settings(options: Namespace, store: Store) -> tuple[str | None, str, str, Policy]:
    """Return the session to continue, the model, the workspace and the policy."""
    from tools_agent import get_provider
    from tools_runtime import Policy, PolicyError

    sessions = {info.id: info.metadata for info in store.sessions()}
    name = options.session or (next(iter(sessions), None) if options.is_continued else None)
    if name and name not in sessions:
        raise unknown_session(name, store)
    metadata = sessions.get(name or "", {})
    model = options.model or metadata.get("model") or os.environ.get("ASK_TOOLS_MODEL")
    if not model:
        raise CommandError("which model? --model PROVIDER:NAME, such as anthropic:claude-sonnet-5-5 or scripted:demo")
    get_provider(model)  # raises for an unknown one
    workspace = str(Path(options.workspace or metadata.get("workspace") or ".").absolute())
    try:
        return name, model, workspace, Policy(files=options.policy)
    except PolicyError as error:
        raise CommandError(str(error)) from error


async def _chat(options: Namespace, store: Store, name: str | None, model: str, workspace: str, policy: Policy) -> int:
    from prompt_toolkit.completion import merge_completers

    from tools_agent import Agent, Session, System, Window
    from tools_agent._chat.attachments import PathCompleter
    from tools_agent._chat.chat import Chat
    from tools_agent._chat.prompt_screen import PromptScreen
    from tools_agent._chat.screens import LineScreen, Terminal
    from tools_agent._chat.slash_commands import CommandCompleter, run_command
    from tools_agent._chat.working_copy import WorkingCopy

    def new_session(model: str, prompt: str) -> Session:
        instructions = [System(content=options.instructions)] if options.instructions else []
        metadata = {"model": model, "title": short(prompt), "workspace": workspace}
        return Session(instructions, id=uuid4().hex[:8], store=store, metadata=metadata)

    copy = WorkingCopy(workspace, is_preview=False)
    if options.preview:
        copy.toggle()
    agent: Agent[Any, Any] = Agent(
        store=store, model=model, tools=load_tools(options.tools), max_steps=50, policy=policy,
        tool_timeout=120.0, window=Window(150_000, summarize=True),
    )  # fmt: skip
    terminal = Terminal()
    screen = PromptScreen(terminal) if terminal.is_capable else LineScreen(terminal)
    chat = Chat(screen, agent, copy, new_session=new_session, run_command=run_command)
    if isinstance(screen, PromptScreen):
        screen.completer = merge_completers([CommandCompleter(chat), PathCompleter(lambda: copy.folder)])
    with terminal.reserved(chat.show.note):
        chat.greet()
        if name:
            await chat.open_session(name)
        if options.prompt:
            chat.submit(options.prompt)
        async with agent:
            await screen.run(chat)
            await chat.close()
        apply = await copy.close()
    if chat.session is not None:
        note(f"continue with: ask-tools chat --session {chat.session.id}")
    if apply:
        note(f"the preview has changes; apply them: {apply}")
    return 0
