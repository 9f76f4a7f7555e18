"""The modes of an agent in the terminal: where it works, and which calls run without a question.

In `auto`, calls that stay in the workspace run, as there is a checkpoint to undo them. In `ask`, a person is asked
about each call that may change something. In `preview`, the agent works in a copy, whose changes a person applies.
"""

from __future__ import annotations

import os
import sys
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Literal, TypeAlias

from tools_cli._commands.start import selected_tools
from tools_cli._settings import agent_setting
from tools_core import Context
from tools_core.command import CommandError, did_you_mean, is_terminal, note
from tools_core.files import is_inside

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Mapping

    from tools_core import ApprovalRequest, Tool
    from tools_runtime import Policy

Mode: TypeAlias = Literal["auto", "ask", "preview"]

MODES: Mapping[Mode, str] = {
    "auto": "calls that stay in the workspace run without a question; /undo and ask-tools undo take them back",
    "ask": "every call that may change something needs your approval",
    "preview": "work in a copy of the workspace; you look at the changes, and apply them",
}
_VARIABLE = "ASK_TOOLS_ISOLATION"
_OPEN = ("contained", "none")  # levels at which commands can leave the workspace


def chosen_mode(option: Mode | None) -> Mode:
    """Return the mode of the option; on a terminal that of the user's settings or `auto`, without one `ask`."""
    if option is not None:
        return option
    if not has_person():
        return "ask"
    mode: Mode = agent_setting("mode", "auto")
    return mode


def find_mode(name: str) -> Mode:
    """Return the mode with a name; CommandError for another name."""
    for mode in MODES:
        if mode == name:
            return mode
    raise CommandError(f"there is no mode {name!r}", did_you_mean(name, MODES), f"modes: {', '.join(MODES)}")


def has_person() -> bool:
    """Return whether a person can answer on the terminal."""
    return bool(sys.stdin) and is_terminal(sys.stdin) and is_terminal(sys.stderr)


def stays_inside(request: ApprovalRequest, policy: Policy, folder: str) -> bool:
    """Return whether a call states that it changes nothing but a folder, and no rule of the user decides about it."""
    evaluation = policy.evaluate(request.call, request.tool, request.context)
    return evaluation.stays_inside and is_inside(evaluation.facts.workspace, [os.path.realpath(folder)])


def tools_for(mode: Mode, options: Namespace) -> tuple[Mapping[str, Tool], Mode]:
    """Load the tools that the options name for a mode, and return the mode that this machine allows.

    Without a sandbox, commands could leave the workspace: then `auto` is `ask`.
    """
    if mode == "ask":
        return selected_tools(options), mode
    level = os.environ.get(_VARIABLE, "")
    if not level:
        os.environ[_VARIABLE] = "required"
        try:
            tools = selected_tools(options)
            with TemporaryDirectory() as folder:
                if "bash" not in tools or tools["bash"].call({"command": "true"}, Context(workspace=folder)).ok:
                    return tools, mode
        finally:
            del os.environ[_VARIABLE]
    elif level not in _OPEN:
        return selected_tools(options), mode
    reason = f"{_VARIABLE} is {level}" if level else "there is no sandbox on this machine"
    note(f"{reason}: {'every change' if mode == 'auto' else 'every command'} needs approval")
    return selected_tools(options), "ask" if mode == "auto" else mode
