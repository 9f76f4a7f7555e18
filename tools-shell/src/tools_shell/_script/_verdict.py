"""What one part of a script does."""

from __future__ import annotations

from typing import NamedTuple


class Verdict(NamedTuple):
    """The hints that a part of a script proves; None for what is uncertain."""

    read_only: bool | None
    destructive: bool | None
    open_world: bool | None


READS = Verdict(True, False, False)
REACHES_OUT = Verdict(None, None, True)
UNKNOWN = Verdict(None, None, None)
