"""What the tools `python` and `repl` say of a piece of code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tools_shell._facts import streams_of

if TYPE_CHECKING:
    from tools_shell._code._reply import Reply
    from tools_shell._process._run import Ended
    from tools_shell._secrets import Redactor


def facts_of(ended: Ended, reply: Reply | None, redactor: Redactor) -> dict[str, Any]:
    """The facts, without secrets; those that are rare are there only when they apply."""
    value = None if reply is None or reply.value is None else redactor.clean_text(reply.value)
    facts: dict[str, Any] = {"value": value, **streams_of(ended, redactor)}
    return facts if reply is None or not any(reply[1:]) else facts | _rare(reply, redactor)


def _rare(reply: Reply, redactor: Redactor) -> dict[str, Any]:
    found: dict[str, Any] = {
        "value_truncated": reply.is_cut,
        "markdown": reply.markdown and redactor.clean_text(reply.markdown),
        "error": reply.error and {name: redactor.clean_text(text) for name, text in reply.error.items()},
        "images": [str(image) for image in reply.images],
        "notes": [redactor.clean_text(note) for note in reply.notes],
    }
    return {name: value for name, value in found.items() if value}
