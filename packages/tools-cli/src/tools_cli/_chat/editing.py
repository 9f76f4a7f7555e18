"""Keys that change the text of the input: completion, pastes, pictures and new lines."""

from __future__ import annotations

import re
from collections.abc import Callable

from prompt_toolkit.application.current import get_app
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.filters import Condition
from prompt_toolkit.input.ansi_escape_sequences import ANSI_SEQUENCES
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys

from tools_cli._commands.attachments import Attachments
from tools_core.command import CommandError

_NEW_LINE = (Keys.Escape, Keys.ControlM)
# As terminals send keys with modifiers and reports of the focus, which are no text.
ANSI_SEQUENCES.update({
    "\x1b[13;2u": _NEW_LINE, "\x1b[13;3u": _NEW_LINE, "\x1b[13;5u": _NEW_LINE, "\x1b[27;2;13~": _NEW_LINE,
    "\x1b[27;5;13~": _NEW_LINE, "\x1b[106;5u": Keys.ControlJ, "\x1b[99;5u": Keys.ControlC, "\x1b[100;5u": Keys.ControlD,
    "\x1b[27u": Keys.Escape, "\x1b[I": Keys.Ignore, "\x1b[O": Keys.Ignore,
})  # fmt: skip
_ENCODED_KEY = re.compile(r"\x1b\[(\d+)(?:;(\d+))?u")  # tmux sends line ends of a paste so, with extended keys


def editing_bindings(
    attachments: Attachments, is_question: Callable[[], bool], show_error: Callable[[str], object]
) -> KeyBindings:
    """Return the bindings; a paste is text in the answer to a question, else it may become an attachment."""
    bindings = KeyBindings()

    def label() -> str:
        return attachments.label_before(get_app().current_buffer.document.text_before_cursor)

    @bindings.add("tab", eager=True)
    def _(event: KeyPressEvent) -> None:
        _complete(event.current_buffer)

    @bindings.add("escape", "enter", eager=True)
    @bindings.add("c-j", eager=True)
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    @bindings.add("backspace", filter=Condition(lambda: bool(label())), eager=True)
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.delete_before_cursor(len(label()))

    @bindings.add(Keys.BracketedPaste)
    def _(event: KeyPressEvent) -> None:
        text = _ENCODED_KEY.sub(_decoded, event.data).replace("\r\n", "\n").replace("\r", "\n")
        event.current_buffer.insert_text(text if is_question() else attachments.paste(text))

    @bindings.add("c-v", eager=True)
    def _(event: KeyPressEvent) -> None:
        try:
            event.current_buffer.insert_text(attachments.paste_picture())
        except CommandError as error:
            show_error("\n".join([str(error), *error.hints]))

    return bindings


def _complete(buffer: Buffer) -> None:
    """Insert the first completion, then the next one; also if the menu has not appeared yet."""
    if buffer.complete_state is not None:
        buffer.complete_next()
        return
    event = CompleteEvent(completion_requested=True)
    for completion in buffer.completer.get_completions(buffer.document, event):
        buffer.apply_completion(completion)
        return


def _decoded(match: re.Match[str]) -> str:
    """Return the character of a key; the letters j and m with Ctrl are line ends."""
    character = chr(min(int(match[1]), 0x10FFFF))
    is_control = match[2] in ("5", "6")
    return "\n" if character in "\r\n" or (is_control and character in "jm") else "" if is_control else character
