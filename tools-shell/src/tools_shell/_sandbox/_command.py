"""`Command`: a command to run and its isolation."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tools_core.files import Copied
    from tools_shell._process._network import Network
    from tools_shell._sandbox._isolation import Isolation
    from tools_shell._settings import Resources


class Command(NamedTuple):
    """A command to run.

    `directory` is a descriptor of the folder to start in, `workdir` its path. `extra` are descriptors to pass on under
    their own numbers; `start` closes them. `network` is that of the run. `copy` is the workspace with its original, if
    it is a copy.
    """

    arguments: Sequence[str]
    environment: Mapping[str, str]
    directory: int
    workdir: str
    isolation: Isolation
    resources: Resources
    has_stdin: bool = False
    terminal: bool = False
    extra: Sequence[int] = ()
    network: Network | None = None
    copy: tuple[str, Copied] | None = None
