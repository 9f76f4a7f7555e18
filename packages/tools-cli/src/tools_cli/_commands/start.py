"""The start of `run` and `chat`: the session, its model and workspace, the system prompt, files and tools."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from tools_cli._commands.instructions import instructions
from tools_cli._commands.sessions import short, unknown_session
from tools_cli._settings import agent_setting
from tools_core.command import CommandError, add_grants, load_tools, note, use_grants, write
from tools_core.files import config_path

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Mapping

    from tools_agent import Session, Store
    from tools_core import Tool
    from tools_runtime import Policy

_DIGITS = re.compile(r"[-_.]?\d+")  # fix-1 and fix-2 are two names on purpose
_READ_ONLY = {"decision": "deny", "read_only": False, "reason": "this run is read-only"}


@dataclass(frozen=True, slots=True)
class Start:
    """The session that the options name, with its model and folder; it is opened later."""

    store: Store
    name: str | None
    """The name of the session; None for a new one without a name."""
    is_stored: bool
    model: str
    workspace: str
    system: str | None
    """The system prompt of a new session; None for the default."""
    has_instructions: bool = True
    """True if the default has the instructions of the user and the project."""

    def open(self, title: str, model: str | None = None) -> Session:
        """Open the session, or create it with a title."""
        from tools_agent import Session, System

        if self.is_stored and self.name:
            return Session.open(self.store, self.name)
        text = self.system
        if text is None:
            text = system_prompt(self.workspace, has_instructions=self.has_instructions)
        metadata = {"model": model or self.model, "title": short(title), "workspace": self.workspace}
        id = self.name or uuid4().hex[:8]
        return Session([System(content=text)] if text else [], id=id, store=self.store, metadata=metadata)


def add_session_options(parser: ArgumentParser) -> None:
    """Add the options that say who works where with what."""
    text = (
        "openai, anthropic, gemini, ..., with a model; by default the session's, $ASK_TOOLS_MODEL, or settings.toml's"
    )
    parser.add_argument("--model", metavar="PROVIDER:NAME", help=text)
    text = "NAME, 'x_*', PACKAGE, PACKAGE:NAME, FILE.py or FILE.py:NAME; by default all installed tools"
    parser.add_argument("--tools", metavar="TOOL,...", action="append", help=text)
    parser.add_argument("--read-only", action="store_true", help="only tools that are marked read-only")
    parser.add_argument("--skills", metavar="DIR", action="append", help="a folder with skills, or a skill")
    parser.add_argument("--file", metavar="FILE", action="append", help="a text, picture or PDF for the prompt")
    parser.add_argument("--workspace", metavar="DIR", help="the folder that file tools are confined to")
    text = "auto, ask or preview; by default the mode of settings.toml or auto on a terminal, and ask without one"
    parser.add_argument("--mode", metavar="MODE", choices=("auto", "ask", "preview"), help=text)
    text = "in the mode preview: do not copy this folder, such as node_modules; tools read the original"
    parser.add_argument("--ignore", metavar="DIR", action="append", default=[], help=text)
    parser.add_argument("--session", metavar="NAME", help="the session to continue; with --model also a new one")
    parser.add_argument("-c", "--continue", dest="latest", action="store_true", help="the last session of this folder")
    parser.add_argument("--new", action="store_true", help="a new session, even if --session is like another name")
    parser.add_argument("--system", metavar="TEXT", help="the system prompt of a new session; see --show-system")
    text = (
        "leave out AGENTS.md of the user and the project; always: instructions = false under [agent] in settings.toml"
    )
    parser.add_argument("--no-instructions", action="store_true", help=text)
    parser.add_argument("--show-system", action="store_true", help="print the default system prompt, and end")
    parser.add_argument("--policy", metavar="FILE", action="append", help="rules instead of the user's policy file")
    parser.add_argument("--yes", "-y", action="store_true", help="approve all calls that need approval")
    add_grants(parser)
    parser.add_argument("--max-cost", metavar="USD", type=float, help="the price after which the run is interrupted")


def find_start(options: Namespace, store: Store, *, may_create: bool) -> Start:
    """Find the session that the options name, and check its model and folder."""
    from tools_agent import ProviderError, get_provider

    name = _latest(options, store) if options.latest else options.session
    is_chosen_later = getattr(options, "resume", False)
    stored = {session.id: session.metadata for session in store.sessions()} if name or is_chosen_later else {}
    if name and name not in stored:
        may_create = may_create and options.model is not None
        others = [other for other in stored if _DIGITS.sub("", other) != _DIGITS.sub("", name)]
        if not may_create or (get_close_matches(name, others, cutoff=0.8) and not options.new):
            error = unknown_session(name, store)
            raise CommandError(str(error), *error.hints, "add --new to create it" if may_create else "")
    metadata = stored.get(name, {})
    model = options.model or metadata.get("model") or os.environ.get("ASK_TOOLS_MODEL") or agent_setting("model")
    if is_chosen_later and not model:
        model = next((data["model"] for data in stored.values() if data.get("model")), None)
    if not model:
        raise CommandError(
            "which model? --model PROVIDER:NAME, such as anthropic:claude-sonnet-5-5 or scripted:demo",
            f'always the same one: model = "PROVIDER:NAME" under [agent] in {config_path("settings.toml")}',
        )
    try:
        get_provider(model)
    except ProviderError as error:
        raise CommandError(str(error)) from error
    workspace = str(Path(options.workspace or metadata.get("workspace") or ".").resolve())
    if not Path(workspace).is_dir():
        raise CommandError(f"the workspace {workspace} is not a folder", "another one: --workspace DIR")
    return Start(store, name, name in stored, model, workspace, options.system, _has_instructions(options))


def _has_instructions(options: Namespace) -> bool:
    return not options.no_instructions and bool(agent_setting("instructions", True))


def _latest(options: Namespace, store: Store) -> str:
    """Return the session of this folder that changed last."""
    if options.session:
        raise CommandError("-c continues the last session, and --session another one: leave one out")
    workspace = str(Path(options.workspace or ".").resolve())
    sessions = store.sessions()
    name = next((session.id for session in sessions if session.metadata.get("workspace") == workspace), None)
    if name is None:
        others = [f"the last one elsewhere: --session {sessions[0].id}"] if sessions else []
        raise CommandError(f"there is no session of {workspace}", *others)
    return name


def close_calls(session: Session) -> None:
    """Close the calls of an interrupted reply that have not begun: a new prompt decides.

    Calls that wait for an answer continue to wait, and calls that ran when a process was killed keep their outcome.
    """
    waiting = {request["call_id"] for request in (*session.pending_approvals, *session.pending_questions)}
    calls = [call.id for call in session.pending_tool_calls if call.id is not None and call.id not in waiting]
    session.log.close_calls([id for id in calls if not session.log.state(id).attempts])


def show_system(options: Namespace) -> int:
    """Print the default system prompt, and return the exit code."""
    workspace = str(Path(options.workspace or ".").resolve())
    write(system_prompt(workspace, has_instructions=_has_instructions(options)))
    return 0


def system_prompt(workspace: str, *, has_instructions: bool = True) -> str:
    """Return the default system prompt: date, folder, state of git, and the instructions of user and project."""
    root, git = _git(workspace)
    facts = [
        f"Today is {time.strftime('%A, %d %B %Y')}.",
        f"You work in the folder {Path(workspace).name or '/'!r}; paths are relative to it. {git}",
        "Files that come with a prompt are complete: do not read them again.",
        "Use tools for facts instead of guessing. Change only what the task needs, and check the result.",
        "If a call is denied, do not work around it. End with a short summary for a person on a terminal.",
    ]
    return "\n".join((*facts, *(instructions(workspace, root) if has_instructions else ())))


def _git(workspace: str) -> tuple[str | None, str]:
    """Return the root of the repository, None without one, and a sentence about it. Nothing of it is run."""

    def git(*words: str) -> str:
        command = ["git", "-C", workspace, *words]
        return subprocess.run(command, check=False, capture_output=True, text=True, timeout=5).stdout.strip()

    try:
        root = git("rev-parse", "--show-toplevel")
        if not root:
            return None, "It is not in a git repository."
        branch = git("symbolic-ref", "-q", "--short", "HEAD")
        commit = git("rev-parse", "-q", "--verify", "--short", "HEAD")
    except (OSError, subprocess.TimeoutExpired):
        return None, ""
    place = f"at commit {commit}" if commit else "without commits"
    return root, f"It is in a git repository, {f'on branch {branch}, ' if branch else ''}{place}."


def piped_text() -> str:
    """Return what another program wrote to standard input; empty for a terminal, and for no input."""
    import select
    import stat

    if not sys.stdin or sys.stdin.closed:
        return ""
    mode = os.fstat(sys.stdin.fileno()).st_mode
    if not (stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode)):
        return ""
    if not select.select([sys.stdin], [], [], 2)[0]:
        note("reading standard input until it ends (Ctrl-D); to ignore it: </dev/null")
    text = sys.stdin.read()
    if sys.stderr.isatty():
        with suppress(OSError):  # the person who answers is on the terminal
            sys.stdin = open("/dev/tty", encoding="utf-8")  # noqa: PTH123, SIM115  (for the rest of the process)
    return text


def selected_tools(options: Namespace) -> Mapping[str, Tool]:
    """Return the tools that the options name."""
    use_grants(options)
    tools = load_tools(options.tools)
    if not options.read_only:
        return tools
    readers = {name: tool for name, tool in tools.items() if tool.annotations.get("read_only")}
    if not readers:
        raise CommandError("--read-only leaves no tool", "tools that only read: @tool(read_only=True)")
    return readers


def make_policy(options: Namespace) -> Policy:
    """Return the user's policy, or the rules that the options name."""
    from tools_runtime import Policy, PolicyError

    try:
        return Policy([_READ_ONLY] if options.read_only else None, files=options.policy)
    except PolicyError as error:
        raise CommandError(str(error)) from error
