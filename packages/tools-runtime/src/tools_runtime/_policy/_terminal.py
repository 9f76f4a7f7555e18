"""Ask a user on the terminal; text of a model cannot control it or imitate the prompt."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Literal

from tools_core.text import visible
from tools_runtime._policy._approvals import clip, json_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tools_core import ApprovalRequest
    from tools_runtime._policy._facts import Scope

_LONGEST = 2_000  # characters of one line that are shown at first
_MAX_ARGUMENTS = 20  # that are shown at first
_ANSWERS: Mapping[str, Scope] = {
    **dict.fromkeys(("o", "once", "y", "yes"), "once"),
    **dict.fromkeys(("r", "run"), "run"),
    **dict.fromkeys(("p", "project"), "project"),
}


def ask_on_terminal(request: ApprovalRequest) -> Scope | Literal[False] | None:
    """Ask on the terminal whether a call may run: `Executor(approve=ask_on_terminal)`.

    Returns the scope of the approval, or False for no; None without a terminal, and if the caller stops waiting.
    """
    from tools_core.command import reserved_terminal  # 30 ms, for programs on a terminal

    with reserved_terminal(request.context) as ask:
        return None if ask is None else _ask(request, ask)


def _ask(request: ApprovalRequest, ask: Callable[[str], str | None]) -> Scope | Literal[False] | None:
    question = "".join(f"[{scope[0]}]{scope[1:]}, " for scope in request.scopes) + "[N]o"
    is_cut = _show(request, is_whole=False)
    while True:
        line = ask(f"approve? {question}{', [v]iew all of it' if is_cut else ''}: ")
        if line is None:
            return None
        answer = line.strip().lower()
        if _ANSWERS.get(answer) in request.scopes:
            return _ANSWERS[answer]
        if answer in ("", "n", "no"):
            return False
        if is_cut and answer in ("v", "view"):
            is_cut = _show(request, is_whole=True)


def _show(request: ApprovalRequest, *, is_whole: bool) -> bool:
    """Print the request, and return whether parts of it are hidden."""
    hints = ", ".join(name if value else f"not {name}" for name, value in request.effects.annotations.items())
    names = [name for name in request.tool.input_schema.get("properties", {}) if name in request.arguments]
    names += [name for name in request.arguments if name not in names]  # the model's own names hide none of the tool's
    visible_names = names if is_whole else names[:_MAX_ARGUMENTS]
    hidden = len(names) - len(visible_names)
    lines = [
        f"{visible(request.tool.name)} wants to run ({hints or 'no hints declared'})",
        *(f"  {visible(name)} = {_json(request.arguments[name])}" for name in visible_names),
        *([f"  <<< {hidden:,} more arguments are not shown >>>"] if hidden else []),
        f"files: {_json(request.effects.paths)}",
        f"workspace: {_json(str(request.context.workspace or ''))}, run: {_json(request.run_id)}",
        f"asked because: {visible('; '.join(request.reasons))}",
    ]
    clipped = lines if is_whole else [clip(line, _LONGEST) for line in lines]
    sys.stderr.write("\n" + "".join(f"{line}\n" for line in clipped))
    return hidden > 0 or clipped != lines


def _json(value: Any) -> str:
    return visible(json_text(value))
