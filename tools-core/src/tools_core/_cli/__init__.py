"""The `ask-tools` command: finds the sub-command and imports no other.

The sub-commands of this package and of others (entry points `ask_tools.commands`) have one interface:
`configure(parser)` adds arguments to an `argparse` parser and sets the default `run`, a function of the parsed
arguments that returns the exit code: 0 or None for success, 1 if a tool failed, 2 for wrong usage.
"""

from __future__ import annotations

import sys

from tools_core._version import __version__

INTERRUPTED = 130  # 128 + SIGINT, as in a shell
PIPE_CLOSED = 141  # 128 + SIGPIPE


def main(argv: list[str] | None = None) -> int:
    """Run the command line `argv` (by default that of the process) and return the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    _open_closed_streams()
    try:
        status = _run(words)
        sys.stdout.flush()  # reports a closed pipe here and not when the interpreter ends
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as failure:
        import errno
        import os

        if failure.errno not in (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EIO):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # discards what is still buffered
        if failure.errno == errno.EPIPE:  # the reader has ended, such as `head`
            return PIPE_CLOSED
        print(f"error: the output cannot be written: {failure.strerror}", file=sys.stderr)
        return 1
    return status


def _run(words: list[str]) -> int:
    if words in (["--version"], ["-V"]):
        print(f"ask-tools {__version__}")
        return 0
    from tools_core._cli._main import run  # not needed for the version

    return run(words)


def _open_closed_streams() -> None:
    """Open the null device for each closed standard stream; else the next open file would get its number."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            import os

            descriptor = os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(descriptor, True)
            setattr(sys, name, open(descriptor, "r" if name == "stdin" else "w", closefd=False))  # noqa: SIM115
