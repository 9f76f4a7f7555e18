"""Exceptions of tools on their way from a worker process to the host."""

from __future__ import annotations

import pickle

_LONGEST_TRACEBACK = 1 << 16  # characters


class RemoteError(Exception):
    """An exception that a tool raised in another process, as text.

    `kind` is the name of its class with its module, `traceback` the traceback in the other process. Where the exception
    itself could be pickled, it is `result.exception`, and the RemoteError is its `__cause__`.
    """

    def __init__(self, kind: str, message: str, traceback: str) -> None:
        super().__init__(kind, message, traceback)
        self.kind = kind
        self.message = message
        self.traceback = traceback

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}\n\n{self.traceback.rstrip()}"


def pack_error(error: BaseException) -> tuple[RemoteError, bytes | None]:
    """Describe an exception for the host, and pickle it where that is possible."""
    from traceback import format_exception  # 3 ms, only for errors

    try:
        text = "".join(format_exception(error))
    except Exception:  # noqa: BLE001  (a user's class may fail to format)
        text = "(the exception cannot be formatted)\n"
    if len(text) > _LONGEST_TRACEBACK:
        text = f"{text[: _LONGEST_TRACEBACK // 2]}\n...\n{text[-_LONGEST_TRACEBACK // 2 :]}"
    try:
        message = str(error)
    except Exception:  # noqa: BLE001  (as above)
        message = ""
    try:
        pickled = pickle.dumps(error)
    except Exception:  # noqa: BLE001  (as above)
        pickled = None
    return RemoteError(f"{type(error).__module__}.{type(error).__qualname__}", message, text), pickled


def unpack_error(remote: RemoteError, pickled: bytes | None) -> BaseException:
    """Return the exception with the RemoteError as its cause, or the RemoteError where it cannot be unpickled."""
    try:
        error: BaseException = pickle.loads(pickled or b"")  # noqa: S301  (a worker has the rights of its host)
        error.__cause__ = remote
    except Exception:  # noqa: BLE001  (a class that this process lacks, or whose __init__ wants other arguments)
        return remote
    return error
