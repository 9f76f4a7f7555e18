"""What the tools `python` and `repl` say of a piece of code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tools_core import Result
from tools_shell._facts import isolation_of, last_words, streams_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools_shell._code._reply import Reply
    from tools_shell._output import Kept
    from tools_shell._sandbox._isolation import Isolation
    from tools_shell._secrets import Redactor


def facts_of(reply: Reply | None, stdout: Kept, stderr: Kept, redactor: Redactor) -> dict[str, Any]:
    """The facts, without secrets; those that are rare are there only when they apply."""
    value = None if reply is None or reply.value is None else redactor.clean_text(reply.value)
    facts: dict[str, Any] = {"value": value, **streams_of(stdout, stderr, redactor)}
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


def success(facts: Mapping[str, Any], reply: Reply | None, isolation: Isolation) -> Result:
    """A result that shows the pictures, too, where there are any."""
    images = () if reply is None else reply.images
    content = [dict(facts), *images] if images else None
    return Result.ok(dict(facts), metadata=isolation_of(isolation), content=content)


def failure(message: str, kind: str, facts: Mapping[str, Any], isolation: Isolation) -> Result:
    """An error that says where the code was, and what it had printed."""
    if error := facts.get("error"):
        message += f"\n{error['traceback']}"
    return Result.error(message + last_words(facts), type=kind, metadata={**facts, **isolation_of(isolation)})
