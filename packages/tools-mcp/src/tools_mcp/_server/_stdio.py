"""Standard input and output as a channel that nothing else in the process can reach."""

from __future__ import annotations

import os
import sys


def claim_streams() -> tuple[int, int]:
    """Return descriptors of standard input and output that the process no longer has under their usual numbers.

    From now on, and until the process ends, what tools and their child processes print goes to standard error, and
    what they read is empty: a line of theirs between two messages would break the channel.
    """
    sys.stdout.flush()
    incoming, outgoing = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    return incoming, outgoing
