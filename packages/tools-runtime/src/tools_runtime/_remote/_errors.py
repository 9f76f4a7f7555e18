"""Errors of tools in other processes: what one raised, told without unpickling anything, and that one cannot go."""

from __future__ import annotations

from typing import Any

from tools_runtime._bugs import BUGS, bug_in

_LONGEST = 1 << 16  # characters of a traceback


class Unsendable(Exception):
    """A tool cannot go to another process; the message says why and what would help."""


class RemoteError(Exception):
    """What a tool raised in a worker process; only text comes back from there.

    `kind` is the name of its class with its module, `traceback` the worker's own.
    """

    def __init__(self, kind: str, message: str, traceback: str) -> None:
        super().__init__(kind, message, traceback)
        self.kind = kind
        self.message = message
        self.traceback = traceback

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}\n\n{self.traceback.rstrip()}"


def describe(error: BaseException) -> dict[str, Any]:
    """An exception as JSON."""
    from traceback import format_exception  # only errors have any

    kind = type(error)
    try:
        message = str(error)
    except Exception:  # noqa: BLE001  (anybody's class)
        message = ""
    try:
        text = "".join(format_exception(error))
    except Exception:  # noqa: BLE001  (as above)
        text = "(no traceback: the exception cannot be shown)"
    return {
        "kind": f"{kind.__module__}.{kind.__qualname__}",
        "message": message[:_LONGEST],
        "traceback": text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]}\n...\n{text[-_LONGEST // 2 :]}",
        "builtins": [base.__name__ for base in type(bug_in(error) or error).__mro__ if base.__module__ == "builtins"],
    }


def rebuild(told: Any) -> Exception:
    """The exception for the developer, of what a worker tells; ValueError for what is not of `describe`'s form.

    A mistake in a program is the builtin exception of that name, with the RemoteError as its cause.
    """
    if not isinstance(told, dict):
        raise ValueError("an exception is told as an object")  # noqa: TRY004  (the data came from outside)
    texts = [text for name in ("kind", "message", "traceback") if isinstance(text := told.get(name), str)]
    names = told.get("builtins")
    if len(texts) < 3 or not isinstance(names, list):
        raise ValueError("an exception has kind, message, traceback and builtins")
    error = RemoteError(*texts)
    known = {bug.__name__: bug for bug in BUGS}
    for name in names:
        if isinstance(name, str) and name in known:
            bug = known[name](error.message)
            bug.__cause__ = error
            return bug
    return error
