"""The commands of the chat: `/help` lists them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from rich.table import Table
from rich.text import Text

from tools_agent._chat.chat import Chat, short_number
from tools_agent._chat.rendering import diff_lines, indented
from tools_agent._loop._drive import Do, adrive
from tools_agent._messages import Assistant, Message
from tools_agent._providers._provider import Request
from tools_agent._session._session import Session
from tools_agent._window import Window
from tools_core.command import CommandError, counted, did_you_mean
from tools_core.text import visible

_KEYS = (
    ("Ctrl-C", "interrupt the turn; twice: end the chat (as Ctrl-D)"),
    ("Enter during a turn", "send a message that the model reads before its next step"),
    ("Shift-Tab", "preview: let the next turns work in a copy of the workspace"),
    ("Ctrl-O", "show the last tool call uncut; again: the call before it"),
    ("Alt-Enter or \\ Enter", "a new line"),
    ("@path", "attach a picture or a text file"),
)


class SlashCommand(NamedTuple):
    """A command, its purpose, and the words that complete its argument."""

    run: Callable[[Chat, str], Awaitable[None]]
    purpose: str
    argument: str = ""
    words: Callable[[Chat], Iterable[tuple[str, str]]] = lambda _: ()


async def run_command(chat: Chat, line: str) -> None:
    """Run a line such as `/model openai:gpt-5`."""
    name, _, argument = line.partition(" ")
    command = COMMANDS.get(name)
    if command is None:
        hint = did_you_mean(name, COMMANDS) or "/help lists the commands"
        chat.show.note(f"{visible(name)} is not a command; {hint}", "bad")
        return
    if not chat.screen.echoes:
        chat.show.prompt(line)
    try:
        await command.run(chat, argument.strip())
    except CommandError as error:
        chat.show.note("\n".join([str(error), *error.hints]), "bad")


class CommandCompleter(Completer):
    """Completes commands and their arguments."""

    def __init__(self, chat: Chat) -> None:
        self._chat = chat

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:  # noqa: ARG002
        """Yield commands after a slash, and arguments after a command."""
        name, space, argument = document.text_before_cursor.partition(" ")
        if not name.startswith("/"):
            return
        if space:
            words = COMMANDS[name].words(self._chat) if name in COMMANDS else ()
            matches = [(word, text) for word, text in words if argument.casefold() in f"{word} {text}".casefold()]
        else:
            matches = [(word, command.purpose) for word, command in COMMANDS.items() if word.startswith(name)]
        for word, text in matches:
            yield Completion(word, start_position=-len(argument if space else name), display_meta=visible(text)[:60])


# ---------------------------------------------------------------------------------------------------- the commands


async def _help(chat: Chat, _: str) -> None:
    rows = [(f"{name} {command.argument}".rstrip(), command.purpose) for name, command in COMMANDS.items()]
    _print_table(chat, [*rows, ("", ""), *_KEYS])


async def _tools(chat: Chat, _: str) -> None:
    tools = chat.agent.parts.tools[0]
    _print_table(chat, [(name, tool.description.partition("\n")[0]) for name, tool in sorted(tools.items())])


async def _model(chat: Chat, name: str) -> None:
    if name:
        chat.set_model(name)
    chat.show.note(f"the model is {chat.model}")


async def _resume(chat: Chat, id: str) -> None:
    sessions = chat.sessions()
    if not id:
        rows = [(info.id, str(info.metadata.get("title", ""))) for info in sessions[:20]]
        _print_table(chat, rows or [("no sessions yet", "")])
        return
    if id not in [info.id for info in sessions]:
        raise CommandError(f"there is no session {id}", did_you_mean(id, [info.id for info in sessions]))
    await chat.open_session(id)


async def _fork(chat: Chat, id: str) -> None:
    session = _session(chat)
    new = await asyncio.to_thread(session.fork, id or None)
    await chat.open_session(new.id, is_shown=False)
    chat.show.note(f"this chat continues in {new.id}; {session.id} keeps the conversation up to here")


async def _undo(chat: Chat, _: str) -> None:
    changeset = await chat.copy.undo()
    chat.show.note("\n".join([*changeset.changes, f"undone {counted(len(changeset.changes), 'change')}"]))


async def _changes(chat: Chat, _: str) -> None:
    changes = await chat.copy.compare()
    if not changes:
        chat.show.note("no changes in a preview; Shift-Tab lets the next turns work in a copy")
        return
    chat.show.lines(diff_lines(changes.diff()))
    for number, change in enumerate(changes, 1):
        chat.show.note(f"{number}  {change}", "preview")
    answer = await chat.questions.ask("apply? [a]ll, [s]ome, [k]eep, [d]iscard:", ["all", "some", "keep", "discard"])
    letter = (answer or "k")[:1].lower()
    if letter == "d":
        await chat.copy.discard()
        chat.show.note("discarded")
    elif letter in ("a", "s"):
        paths = await _selection(chat, changes) if letter == "s" else None
        if paths == []:
            return
        changeset = await chat.copy.apply(paths, f"ask-tools chat {_session(chat).id}")
        chat.show.note(f"applied {counted(len(changeset.changes), 'change')}; /undo restores the old content", "good")


async def _selection(chat: Chat, changes: Any) -> list[str]:
    paths = [change.path for change in changes]
    answer = await chat.questions.ask("which changes (numbers or paths)?", paths)
    words = (answer or "").replace(",", " ").split()
    return [paths[int(word) - 1] if word.isdecimal() and 0 < int(word) <= len(paths) else word for word in words]


async def _compact(chat: Chat, instructions: str) -> None:
    session = _session(chat)
    provider, model = chat.agent.parts.provider

    async def summary(messages: Sequence[Message]) -> Assistant:
        pieces = provider.astream(Request(model=model, messages=messages))
        return [piece async for piece in pieces if isinstance(piece, Assistant)][-1]

    def ask(messages: Sequence[Message]) -> Any:
        return (yield Do(summary, (messages,)))

    before = session.log.summary
    chat.show.note("summarizing ...")
    async for _ in adrive(Window(1, summarize=instructions or True).fit(session, ask)):
        pass
    chat.show.note(
        "nothing to summarize" if session.log.summary == before else str((session.log.summary or {})["text"])
    )


async def _cost(chat: Chat, _: str) -> None:
    table = Table(box=None, pad_edge=False)
    for title in ("model", "replies", "input", "cached", "output", "cost"):
        table.add_column(title, justify="left" if title == "model" else "right", header_style="note")
    for name, (replies, usage, cost) in chat.usage.items():
        counts = [usage.input_tokens, usage.cache_read_tokens, usage.output_tokens]
        price = "not known" if cost is None else f"${cost:.4f}"
        table.add_row(visible(name), str(replies), *map(short_number, counts), price)
    if chat.usage:
        chat.show.print(indented(table))
    else:
        chat.show.note("no replies with a number of tokens yet")


async def _continue(chat: Chat, _: str) -> None:
    _session(chat)
    await chat.turn(None)


async def _preview(chat: Chat, _: str) -> None:
    chat.toggle_preview()


COMMANDS = {
    "/changes": SlashCommand(_changes, "show what the preview changed; apply, keep or discard it"),
    "/compact": SlashCommand(_compact, "replace old messages by a summary, for the model", "[INSTRUCTIONS]"),
    "/continue": SlashCommand(_continue, "continue an interrupted turn"),
    "/cost": SlashCommand(_cost, "tokens and dollars of this session"),
    "/fork": SlashCommand(_fork, "continue in a copy of this session", "[NAME]"),
    "/help": SlashCommand(_help, "this list"),
    "/model": SlashCommand(_model, "show or change the model", "[PROVIDER:NAME]", lambda chat: chat.models()),
    "/preview": SlashCommand(_preview, "let the next turns work in a copy of the workspace, or not"),
    "/resume": SlashCommand(
        _resume, "continue an earlier session", "[NAME]",
        lambda chat: [(info.id, str(info.metadata.get("title", ""))) for info in chat.sessions()],
    ),
    "/tools": SlashCommand(_tools, "list the tools of the model"),
    "/undo": SlashCommand(_undo, "restore the files from before the last applied changes"),
}  # fmt: skip


def _session(chat: Chat) -> Session:
    if chat.session is None:
        raise CommandError("the session is empty")
    return chat.session


def _print_table(chat: Chat, rows: Iterable[tuple[str, str]]) -> None:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, style="bold", max_width=max(chat.screen.width // 3, 24))
    table.add_column(style="note")
    for name, text in rows:
        table.add_row(Text(visible(name)), Text(visible(text)))
    chat.show.print(indented(table))
