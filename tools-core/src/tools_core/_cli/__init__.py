"""The `ask-tools` command: finds the sub-command that is asked for, and loads nothing else.

Its own sub-commands and those of other packages (entry points `ask_tools.commands`) have one interface:
`configure(parser)` adds arguments to an `argparse` parser and sets the default `run`, a function of the
parsed arguments that returns the exit code (0 or None is ok, 1 a tool failed, 2 wrong usage).
"""

from __future__ import annotations

import sys

from tools_core._version import __version__

INTERRUPTED = 130  # 128 + SIGINT, as a shell has it
PIPE_CLOSED = 141  # 128 + SIGPIPE


def main(argv: list[str] | None = None) -> int:
    """Run the command line `argv` (the process's own by default) and return the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words in (["--version"], ["-V"]):
        print(f"ask-tools {__version__}")
        return 0
    from tools_core._cli._dispatch import dispatch  # the version alone needs none of it

    try:
        status = dispatch(words)
        sys.stdout.flush()  # a closed pipe is noticed here and not when the interpreter ends
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as failure:
        import errno
        import os

        if failure.errno not in (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EIO):
            raise
        # What is still buffered goes nowhere, silently.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if failure.errno == errno.EPIPE:  # the reader has seen enough
            return PIPE_CLOSED
        print(f"error: the output cannot be written: {failure.strerror}", file=sys.stderr)
        return 1
    return status
