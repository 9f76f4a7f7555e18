"""What is known of one call of a shell before it is made."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


def hints_of(shell: str | None, arguments: Mapping[str, Any], usual: Mapping[str, bool]) -> Mapping[str, bool]:
    """The hints that the parts of a script prove, else the `usual` ones.

    Nothing is proved in a session, where earlier scripts may have changed what words mean, and for another shell than
    bash; nor without `tools-shell[parser]`. The arguments need not be valid.
    """
    command, env = arguments.get("command"), arguments.get("env") or {}
    is_bash = shell is None or os.path.basename(shell) == "bash"
    if not isinstance(command, str) or not _is_environment(env) or arguments.get("session") or not is_bash:
        return usual
    from tools_shell._script._effects import effects_of  # only for who asks
    from tools_shell._script._parse import parse_script

    proved = asdict(effects_of(parse_script(command), environment=env))
    return {**usual, **{name: value for name, value in proved.items() if value is not None}}


def _is_environment(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(part, str) for item in value.items() for part in item)
