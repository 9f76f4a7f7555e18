"""The commands of the chat, which `/help` lists, and their completion."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from tools_agent import ProviderError, Session, ToolCallDone, compact, get_provider
from tools_cli._chat.chat import Chat
from tools_cli._commands.preview import workspace_module
from tools_core import Context
from tools_core.command import CommandError, counted, did_you_mean, json_text
from tools_runtime.approval import Line, block

_KEYS = (
    ("Enter during a turn", "send a message that the model reads before its next step"),
    ("Ctrl-C", "interrupt the turn; twice, or Ctrl-D: end the chat"),
    ("Shift-Tab", "work in a copy of the workspace, or not (/preview)"),
    ("Ctrl-O", "show the last tool call in full (/show)"),
    ("Alt-Enter, or \\ Enter", "a new line"),
    ("@path", "attach a text, picture or PDF"),
)


class SlashCommand(NamedTuple):
    """A command, its purpose, and the words that complete its argument."""

    run: Callable[[Chat, str], Awaitable[None]]
    purpose: str
    argument: str = ""
    words: Callable[[Chat], Iterable[tuple[str, str]]] = lambda _: ()


def is_command(line: str) -> bool:
    """Return whether a line is a command, such as `/undo`; a path is not."""
    return re.match(r"/[a-z]+( |$)", line) is not None


def is_immediate(line: str) -> bool:
    """Return whether a line is a command that may run during a turn."""
    return line.partition(" ")[0] in ("/cost", "/help", "/preview", "/show", "/tools")


async def handle(chat: Chat, line: str) -> None:
    """Run a command, or send a prompt to the model."""
    if not chat.screen.echoes:
        chat.show_prompt(line)
    await chat.run(_run_command(chat, line) if is_command(line) else chat.turn(line))


async def _run_command(chat: Chat, line: str) -> None:
    name, _, argument = line.partition(" ")
    command = COMMANDS.get(name)
    if command is None:
        raise CommandError(f"{name} is not a command", did_you_mean(name, COMMANDS) or "list of commands: /help")
    await command.run(chat, argument.strip())


def completions(chat: Chat, line: str) -> list[tuple[str, str]]:
    """Return the commands that begin with a line, or the arguments that contain its last word, with their meaning."""
    name, space, argument = line.partition(" ")
    if not space:
        return [(word, command.purpose) for word, command in COMMANDS.items() if word.startswith(name)]
    words = COMMANDS[name].words(chat) if name in COMMANDS else ()
    return [(word, text) for word, text in words if argument.casefold() in f"{word} {text}".casefold()]


# ---------------------------------------------------------------------------------------------------- the commands


async def _help(chat: Chat, _: str) -> None:
    _show_table(chat, [(f"{name} {command.argument}".rstrip(), command.purpose) for name, command in COMMANDS.items()])
    _show_table(chat, _KEYS)


async def _tools(chat: Chat, _: str) -> None:
    tools = chat.agent.parts.tools[0]
    _show_table(chat, [(name, tool.description.partition("\n")[0]) for name, tool in sorted(tools.items())])


async def _model(chat: Chat, name: str) -> None:
    if name:
        try:
            get_provider(name)
        except ProviderError as error:
            raise CommandError(str(error)) from error
        chat.agent.model = name
    chat.note(f"the model is {chat.model}")


async def _resume(chat: Chat, id: str) -> None:
    if not id:
        _show_table(chat, _sessions(chat)[:20] or [("no sessions yet", "")])
        return
    try:
        session = await asyncio.to_thread(Session.open, chat.start.store, id)
    except KeyError as error:
        suggestion = did_you_mean(id, [name for name, _ in _sessions(chat)])
        raise CommandError(f"there is no session {id}", suggestion) from error
    chat.use(session, is_shown=True)


async def _fork(chat: Chat, id: str) -> None:
    session = _session(chat)
    chat.use(await asyncio.to_thread(session.fork, id or None))
    chat.note(f"this chat continues in {_session(chat).id}; {session.id} has the conversation up to here")


async def _undo(chat: Chat, _: str) -> None:
    module = workspace_module()
    try:
        changeset = await asyncio.to_thread(module.Workspace(chat.start.workspace).undo)
    except module.WorkspaceError as error:
        raise CommandError(str(error)) from error
    chat.note("\n".join([*changeset.changes, f"undone {counted(len(changeset.changes), 'change')}"]))


async def _changes(chat: Chat, _: str) -> None:
    preview = chat.preview
    if preview is None:
        raise CommandError("there is no copy with changes", "to let the next turns work in a copy: Shift-Tab, /preview")

    context = Context()

    def decide() -> str | None:
        with chat.screen.dialog(context) as dialog:
            return preview.decide(dialog) if dialog is not None else None

    try:
        prompt = await asyncio.to_thread(decide)
    finally:
        context.cancel()  # after Ctrl-C there are no other questions
    await asyncio.to_thread(chat.compare)
    if prompt is not None:
        chat.show_prompt(prompt)
        await chat.turn(prompt)


async def _compact(chat: Chat, instructions: str) -> None:
    session = _session(chat)
    chat.screen.report("summarizing")
    summary = await compact(chat.agent, instructions, session=session)
    chat.screen.report("")
    chat.note("there is nothing to summarize" if summary is None else f"the summary: {summary}")


async def _show(chat: Chat, number: str) -> None:
    messages = _session(chat).messages
    results = [message for message in messages if message.role == "tool"]
    index = int(number) if number.isdecimal() else 1
    if not 0 < index <= len(results):
        raise CommandError(f"there are {counted(len(results), 'tool call')}")
    result = results[-index]
    calls = [call for message in messages if message.role == "assistant" for call in message.tool_calls]
    call = next(call for call in calls if call.id == result.tool_call_id)
    arguments = ToolCallDone(call).arguments
    lines = [Line.of("title", f"→ {call.name}")]
    for name, value in arguments.items() if isinstance(arguments, Mapping) else [("arguments", arguments)]:
        text = value if isinstance(value, str) else json_text(value, pretty=True)
        lines += [Line.of("note", f"{name}:", "  "), *block(text)]
    chat.screen.show([*lines, Line("text", "←"), *block(str(result.result))])


async def _continue(chat: Chat, _: str) -> None:
    _session(chat)
    await chat.turn(None)


async def _cost(chat: Chat, _: str) -> None:
    chat.note(chat.usage or "no tokens yet")


async def _preview(chat: Chat, _: str) -> None:
    chat.toggle_preview()
    chat.note(f"the next turns work in {'a copy of ' * chat.is_preview}the workspace")


def _session(chat: Chat) -> Session:
    if chat.session is None:
        raise CommandError("the session is empty")
    return chat.session


def _sessions(chat: Chat) -> list[tuple[str, str]]:
    return [(info.id, str(info.metadata.get("title", ""))) for info in chat.start.store.sessions()]


def _models(chat: Chat) -> list[tuple[str, str]]:
    """Return the models that the user has chosen before, and the demo."""
    names = [str(info.metadata.get("model", "")) for info in chat.start.store.sessions()]
    return [(name, "") for name in dict.fromkeys(filter(None, [*names, "scripted:demo"]))]


def _show_table(chat: Chat, rows: Sequence[tuple[str, str]]) -> None:
    width = max(len(name) for name, _ in rows)
    lines = [Line.of("text", f"{name.ljust(width)}  {text}".rstrip(), "  ") for name, text in rows]
    chat.screen.show([Line("text", ""), *lines])


COMMANDS = {
    "/changes": SlashCommand(_changes, "show what changed in the copy; apply or discard it"),
    "/compact": SlashCommand(_compact, "replace old messages by a summary, for the model", "[INSTRUCTIONS]"),
    "/continue": SlashCommand(_continue, "continue an interrupted turn"),
    "/cost": SlashCommand(_cost, "show tokens and dollars of this session"),
    "/fork": SlashCommand(_fork, "continue in a copy of this session", "[NAME]"),
    "/help": SlashCommand(_help, "list commands and keys"),
    "/model": SlashCommand(_model, "show or change the model", "[PROVIDER:NAME]", _models),
    "/preview": SlashCommand(_preview, "work in a copy of the workspace, or not"),
    "/resume": SlashCommand(_resume, "continue an earlier session", "[NAME]", _sessions),
    "/show": SlashCommand(_show, "show the last tool call in full, or the Nth last", "[N]"),
    "/tools": SlashCommand(_tools, "list the tools of the model"),
    "/undo": SlashCommand(_undo, "restore the files from before the last applied changes"),
}
