"""The commands of the chat, which `/help` lists, and their completion."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from tools_agent import ProviderError, Session, ToolCallDone, compact, get_provider, list_models
from tools_cli._chat.chat import Chat
from tools_cli._chat.custom_commands import custom_commands
from tools_cli._chat.going_back import prompts, rewind, undo
from tools_cli._commands.modes import MODES, find_mode
from tools_core.command import CommandError, counted, did_you_mean, json_text
from tools_runtime.approval import Line, block

_MAX_ROWS = 50
_KEYS = (
    ("Enter during a turn", "send a message that the model reads before its next step"),
    ("Ctrl-C, Escape", "interrupt the turn; Ctrl-C twice, or Ctrl-D: end the chat"),
    ("Shift-Tab", "the next mode: auto, ask, preview (/mode)"),
    ("Ctrl-O", "show the last tool call in full (/show)"),
    ("Ctrl-J, or \\ Enter", "a new line"),
    ("Ctrl-X Ctrl-E", "write the prompt in $EDITOR"),
    ("Ctrl-R", "search your earlier prompts"),
    ("Ctrl-V", "attach the picture in the clipboard"),
    ("@path", "attach a text, picture or PDF, or the list of the files in a folder"),
    ("!command", "run a command in your shell; the next prompt tells the model its output"),
    ("!!command", "the same, and the model is not told"),
)


class SlashCommand(NamedTuple):
    """A command, its purpose, and the words that complete its argument."""

    run: Callable[[Chat, str], Awaitable[None]]
    purpose: str
    argument: str = ""
    words: Callable[[Chat], Iterable[tuple[str, str]]] = lambda _: ()


def is_command(line: str) -> bool:
    """Return whether a line is a command, such as `/undo` or `!ls`; a path is not."""
    return re.match(r"!|/[a-z][a-z0-9_-]*( |$)", line) is not None


def is_immediate(line: str) -> bool:
    """Return whether a line is a command that may run during a turn."""
    return line.partition(" ")[0] in ("/cost", "/help", "/mode", "/show", "/tools")


async def handle(chat: Chat, line: str) -> None:
    """Run a command, or send a prompt to the model."""
    if not chat.screen.echoes:
        chat.show_prompt(line)
    await chat.run(_run_command(chat, chat.attachments.expand(line)) if is_command(line) else chat.turn(line))


async def _run_command(chat: Chat, line: str) -> None:
    if line.startswith("!"):
        await chat.shell(line[1:])
        return
    name, _, argument = line.partition(" ")
    if command := COMMANDS.get(name):
        await command.run(chat, argument.strip())
    elif custom := (commands := custom_commands(chat.start.workspace)).get(name):
        chat.attachments.is_confined = custom.home == "project"
        await chat.turn(custom.prompt(argument.strip()))
    else:
        suggestion = did_you_mean(name, [*COMMANDS, *commands])
        raise CommandError(f"{name} is not a command", suggestion or "list of commands: /help")


def completions(chat: Chat, line: str) -> list[tuple[str, str]]:
    """Return the commands that begin with a line, or the arguments that contain its last word, with their meaning."""
    name, space, argument = line.partition(" ")
    if not space:
        purposes = {word: command.purpose for word, command in custom_commands(chat.start.workspace).items()}
        purposes |= {word: builtin.purpose for word, builtin in COMMANDS.items()}
        return [(word, purpose) for word, purpose in purposes.items() if word.startswith(name)]
    words = COMMANDS[name].words(chat) if name in COMMANDS else ()
    return [(word, text) for word, text in words if argument.casefold() in f"{word} {text}".casefold()]


# ---------------------------------------------------------------------------------------------------- the commands


async def _help(chat: Chat, _: str) -> None:
    _show_table(chat, [(f"{name} {command.argument}".rstrip(), command.purpose) for name, command in COMMANDS.items()])
    for name, custom in (commands := custom_commands(chat.start.workspace)).items():
        if name in COMMANDS:
            chat.note(f"{custom.path} is not used: {name} is built in")
    if commands:
        _show_table(chat, [(name, custom.purpose) for name, custom in commands.items() if name not in COMMANDS])
    _show_table(chat, _KEYS)


async def _exit(chat: Chat, _: str) -> None:
    chat.screen.end()


async def _tools(chat: Chat, _: str) -> None:
    tools = chat.agent.parts.tools[0]
    _show_table(chat, [(name, tool.description.partition("\n")[0]) for name, tool in sorted(tools.items())])


async def _model(chat: Chat, name: str) -> None:
    if not name:
        chat.note(f"the model is {chat.model}")
        chat.screen.report("asking the servers")
        offers = await list_models()
        chat.screen.report("")
        for error in offers.values():
            if isinstance(error, ProviderError):
                chat.note(str(error))
        names = [f"{server}:{name}" for server, names in offers.items() if isinstance(names, list) for name in names]
        chat.models = [(name, "") for name in names]
    if choice := _choose(chat, "/model", name, _models(chat), may_be_other=True):
        try:
            get_provider(choice)
        except ProviderError as error:
            raise CommandError(str(error)) from error
        chat.agent.model = choice
        chat.note(f"the model is {chat.model}")


async def _resume(chat: Chat, id: str) -> None:
    if choice := _choose(chat, "/resume", id, _sessions(chat)):
        chat.resume(choice)


async def _clear(chat: Chat, _: str) -> None:
    name = chat.session.id if chat.session is not None else ""
    chat.clear()
    chat.note(f"the next prompt begins a new session{f'; back to this one: /resume {name}' if name else ''}")


async def _fork(chat: Chat, id: str) -> None:
    session = _session(chat)
    chat.use(await asyncio.to_thread(session.fork, id or None))
    chat.note(f"this chat continues in {_session(chat).id}; {session.id} has the conversation up to here")


async def _changes(chat: Chat, _: str) -> None:
    preview = chat.preview
    if preview is None:
        raise CommandError("there is no copy with changes", "to let the next turns work in a copy: /mode preview")

    prompt = await chat.ask(preview.decide)
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


async def _mode(chat: Chat, name: str) -> None:
    names = list(MODES)
    if name == "next":
        name = names[(names.index(chat.mode) + 1) % len(names)]
    if name:
        chat.set_mode(find_mode(name))
    else:
        _show_table(chat, [(f"{mode} *" if mode == chat.mode else mode, text) for mode, text in MODES.items()])


def _choose(
    chat: Chat, command: str, text: str, rows: Sequence[tuple[str, str]], *, may_be_other: bool = False
) -> str | None:
    """Return the row that a text names, or the only one that contains it; else let the user choose."""
    if not rows:
        raise CommandError("there is nothing to choose from yet")
    matches = [row for row in rows if text.casefold() in f"{row[0]} {row[1]}".casefold()]
    if any(name == text for name, _ in rows) or (not matches and may_be_other):
        return text
    if len(matches) == 1 and text:
        return matches[0][0]
    if not matches:
        suggestion = did_you_mean(text, [name for name, _ in rows])
        raise CommandError(f"nothing matches {text!r}", suggestion or f"{command} lists all")
    if not chat.screen.offer(f"{command} {text}"):
        _show_table(chat, matches[:_MAX_ROWS])
        more = f"{len(matches) - _MAX_ROWS} more; " if len(matches) > _MAX_ROWS else ""
        chat.note(f"{more}{command} WORDS chooses the one that contains the words")
    return None


async def _plan(chat: Chat, task: str) -> None:
    chat.is_planning = bool(task) or not chat.is_planning
    text = "only read, and end with a plan that you accept" if chat.is_planning else f"work in mode {chat.mode}"
    chat.note(f"the next turns {text}")
    if task:
        await chat.turn(task)


def _session(chat: Chat) -> Session:
    if chat.session is None:
        raise CommandError("the session is empty")
    return chat.session


def _sessions(chat: Chat) -> list[tuple[str, str]]:
    """Return the sessions with their time and first prompt: sessions of this folder first, the latest first."""
    now, here = time.time(), chat.start.workspace
    rows = []
    for info in sorted(chat.start.store.sessions(), key=lambda info: info.metadata.get("workspace") != here):
        folder = info.metadata.get("workspace", "")
        place = f"  ({folder})" if folder not in (here, "") else ""
        rows.append((info.id, f"{_age(now - info.updated_at)}  {info.metadata.get('title', '')}{place}"))
    return rows


def _age(seconds: float) -> str:
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= size:
            return f"{seconds // size:.0f} {unit} ago"
    return "just now"


def _models(chat: Chat) -> list[tuple[str, str]]:
    """Return the earlier models of the user, the demo, and the models that servers offer."""
    names = [str(info.metadata.get("model", "")) for info in chat.start.store.sessions()]
    return [
        *dict.fromkeys(
            [*((name, "used before") for name in names if name), ("scripted:demo", "no model"), *chat.models]
        )
    ]


def _show_table(chat: Chat, rows: Sequence[tuple[str, str]]) -> None:
    width = max(len(name) for name, _ in rows)
    lines = [Line.of("text", f"{name.ljust(width)}  {text}".rstrip(), "  ") for name, text in rows]
    chat.screen.show([Line("text", ""), *lines])


COMMANDS = {
    "/changes": SlashCommand(_changes, "show what changed in the copy; apply or discard it"),
    "/clear": SlashCommand(_clear, "begin a new session; this one stays in the list of /resume"),
    "/compact": SlashCommand(_compact, "replace old messages by a summary, for the model", "[INSTRUCTIONS]"),
    "/continue": SlashCommand(_continue, "continue an interrupted turn"),
    "/cost": SlashCommand(_cost, "show tokens and dollars of this session"),
    "/exit": SlashCommand(_exit, "end the chat, as Ctrl-D"),
    "/fork": SlashCommand(_fork, "continue in a copy of this session", "[NAME]"),
    "/help": SlashCommand(_help, "list commands and keys"),
    "/mode": SlashCommand(_mode, "show or change the mode", "[auto|ask|preview]", lambda _: MODES.items()),
    "/model": SlashCommand(_model, "show or change the model", "[PROVIDER:NAME]", _models),
    "/quit": SlashCommand(_exit, "the same as /exit"),
    "/rewind": SlashCommand(rewind, "go back to before a prompt: conversation and files", "[N]", prompts),
    "/plan": SlashCommand(_plan, "let the next turns only read, and end with a plan; or not", "[TASK]"),
    "/resume": SlashCommand(_resume, "continue an earlier session", "[NAME]", _sessions),
    "/show": SlashCommand(_show, "show the last tool call in full, or the Nth last", "[N]"),
    "/tools": SlashCommand(_tools, "list the tools of the model"),
    "/undo": SlashCommand(undo, "restore the files from before the last turn, or the last N", "[N]"),
}
