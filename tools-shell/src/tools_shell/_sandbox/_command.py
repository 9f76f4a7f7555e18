"""`Command`: what is to run, and in which isolation."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tools_shell._sandbox._guard import Guard
    from tools_shell._sandbox._isolation import Isolation
    from tools_shell._settings import Resources


class Command(NamedTuple):
    """What is to run, and how.

    `directory` is a descriptor of the folder to start in, `workdir` its path. `extra` are more descriptors to pass on
    under their own numbers, which `start` closes. `guard` keeps protected places from being changed.
    """

    arguments: Sequence[str]
    environment: Mapping[str, str]
    directory: int
    workdir: str
    isolation: Isolation
    resources: Resources
    has_stdin: bool = False
    terminal: bool = False
    merged: bool = False  # standard error is standard output
    extra: Sequence[int] = ()
    guard: Guard | None = None
