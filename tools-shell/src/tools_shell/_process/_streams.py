"""What a command reads from and writes to."""

from __future__ import annotations

import os

_SIZE = (24, 80)  # of a terminal: rows and columns


class Streams:
    """The pipes, or the terminal, between us and a command: `theirs` are its standard input, output and error."""

    def __init__(self, *, has_stdin: bool, terminal: bool) -> None:
        self.stdin: int | None = None
        self.stderr: int | None = None
        self.theirs: list[int] = []
        if terminal:
            import termios  # not on Windows

            self.stdout, end = os.openpty()
            termios.tcsetwinsize(end, _SIZE)
            self.stdin, self.theirs = self.stdout, [end, end, end]
        else:
            self.stdout, out = os.pipe()
            self.theirs = [out]
            try:
                self.stderr, error = os.pipe()
                self.theirs.append(error)
                if has_stdin:
                    source, self.stdin = os.pipe()
                else:
                    source = os.open(os.devnull, os.O_RDONLY)
            except OSError:  # too many are open
                self.close()
                raise
            self.theirs = [source, out, error]
        for descriptor in self.ours:
            os.set_blocking(descriptor, False)

    @property
    def ours(self) -> set[int]:
        return {descriptor for descriptor in (self.stdin, self.stdout, self.stderr) if descriptor is not None}

    def close_stdin(self) -> None:
        """Close our end of the standard input, unless that is the terminal."""
        if self.stdin is not None and self.stdin != self.stdout:
            os.close(self.stdin)
            self.stdin = None

    def release(self) -> None:
        """Close the command's ends, so that ours end with it."""
        for descriptor in set(self.theirs):
            os.close(descriptor)
        self.theirs = []

    def close(self) -> None:
        """Close everything."""
        self.release()
        for descriptor in self.ours:
            os.close(descriptor)
