"""Ask for approval: the conversation with a person, over the lines of any front end or on a terminal."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from tools_agent.approval import carry_out
from tools_cli._terminal._bell import signal_after_wait
from tools_cli._terminal._screen import has_color, width_of
from tools_core import Approval, ApprovalRequest, Context, Denial, InvalidArguments
from tools_core.command import json_text, reserved_terminal
from tools_runtime import PolicyError
from tools_runtime.approval import Answer, Line, PendingCall, answers_to, block, draw

if TYPE_CHECKING:
    from tools_agent import Session
    from tools_runtime import Policy

_KEYS = {"once": "y", "session": "s", "always": "a", "edit": "e", "deny": "n"}


class Dialog(Protocol):
    """A front end: shows lines, asks for a line, and lets a person edit a text.

    `ask` and `edit` return None at the end of the input, and if the run no longer waits.
    """

    def show(self, lines: Sequence[Line]) -> None: ...
    def ask(self, prompt: str) -> str | None: ...
    def edit(self, name: str, text: str) -> str | None: ...


def ask_person(
    request: ApprovalRequest, dialog: Dialog, *, policy: Policy | None = None, session: Session | None = None
) -> Approval | Denial | None:
    """Show a request, ask until there is an answer, and carry it out; None without an answer."""
    call, answers = PendingCall(request), answers_to(request, policy)
    menu = [Line.of("text", f"{key}  {label}", "  ") for key, label in _menu(answers, is_long=call.is_long)]
    dialog.show([Line("text", ""), *call.lines(whole=False), *menu])
    while (line := dialog.ask("answer: ")) is not None:
        key, _, reason = line.strip().partition(" ")
        choices = [answer for answer in answers if _KEYS[answer.kind] == key.lower()]
        if not choices:
            dialog.show(call.lines() if key.lower() == "v" else menu)
            continue
        answer = _choose(choices, dialog) if choices[0].kind == "always" else choices[0]
        if answer is None:
            continue
        try:
            arguments = _edited(call.arguments, dialog) if answer.kind == "edit" else None
            if answer.kind == "deny" and not reason:
                reason = (dialog.ask("reason for the model (Enter for none): ") or "").strip()
            return carry_out(answer, request, policy=policy, session=session, arguments=arguments, reason=reason)
        except (InvalidArguments, PolicyError, OSError, subprocess.SubprocessError, ValueError) as error:
            dialog.show([Line.of("error", str(error))])
    return None


class TerminalApprover:
    """Asks a person on the terminal: `Agent(approve=TerminalApprover(policy, session))`.

    Its answer is None without a terminal, and if the run no longer waits, so that the call stays pending.
    """

    def __init__(self, policy: Policy | None = None, session: Session | None = None) -> None:
        self._policy, self._session = policy, session

    def __call__(self, request: ApprovalRequest) -> Approval | Denial | None:
        with terminal_dialog(request.context) as dialog:
            if dialog is None:
                return None
            return ask_person(request, dialog, policy=self._policy, session=self._session)


@contextmanager
def terminal_dialog(context: Context) -> Generator[TerminalDialog | None]:
    """Reserve the terminal for questions to the user; None without a terminal."""
    with reserved_terminal(context) as ask:
        yield TerminalDialog(ask) if ask is not None else None


class TerminalDialog:
    """Plain lines on standard error, and the editor of the environment."""

    def __init__(self, ask: Callable[[str], str | None]) -> None:
        self._ask = ask

    def show(self, lines: Sequence[Line]) -> None:
        """Print lines."""
        show(lines)

    def ask(self, prompt: str) -> str | None:
        """Return the line that the person types; None at the end of the input."""
        with signal_after_wait(_write):
            line = self._ask(prompt)
        if line == "":
            sys.stderr.write("\n")
        return line or None

    def edit(self, name: str, text: str) -> str | None:
        """Open `$VISUAL` or `$EDITOR`; without them ask for a line."""
        editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
        if not editor:
            line = self._ask(f"{name}: ")
            return line.removesuffix("\n") if line and line.strip() else None
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, f"{name}.txt")
            path.write_bytes(text.encode("utf-8", "surrogateescape"))
            subprocess.run([*shlex.split(editor), path], check=True)
            changed = path.read_bytes().decode("utf-8", "surrogateescape")
        return changed if text.endswith("\n") else changed.removesuffix("\n")


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


def show(lines: Sequence[Line]) -> None:
    """Print lines to standard error, with colors and margins if it is a terminal."""
    sys.stderr.write(draw(lines, color=has_color(sys.stderr), width=width_of(sys.stderr)) + "\n")
    sys.stderr.flush()


def _menu(answers: Sequence[Answer], *, is_long: bool) -> list[tuple[str, str]]:
    """Return the letters to type with their effects; one letter for all rules."""
    labels = {_KEYS[answer.kind]: answer.label for answer in answers}
    if "a" in labels:
        labels["a"] = "always: choose a rule for the policy"
    labels["n"] = "no; a reason for the model may follow: n use git mv"
    return [*labels.items(), *([("v", "view all of it")] if is_long else [])]


def _choose(answers: Sequence[Answer], dialog: Dialog) -> Answer | None:
    """Show the rules that would be written, and return the chosen one."""
    for number, answer in enumerate(answers, 1):
        dialog.show([Line.of("text", f"{number}  {answer.label}", "  "), *block(answer.toml, "     ", "added")])
    dialog.show([Line.of("note", f"The rule is added to {answers[0].file}.", "  ")])
    numbers = "1" if len(answers) == 1 else f"1 to {len(answers)}"
    line = (dialog.ask(f"rule ({numbers}, Enter for none): ") or "").strip()
    return answers[int(line) - 1] if line.isdecimal() and 0 < int(line) <= len(answers) else None


def _edited(arguments: Mapping[str, Any], dialog: Dialog) -> dict[str, Any]:
    """Let a person edit one argument, as text or JSON, and return all arguments."""
    names = ", ".join(arguments)
    name = next(iter(arguments), "")
    if len(arguments) != 1:
        name = (dialog.ask(f"which argument? ({names}): ") or "").strip()
    if name not in arguments:
        raise ValueError(f"there is no argument {name!r}; there are {names}" if names else "there is no argument")
    value = arguments[name]
    changed = dialog.edit(name, value if isinstance(value, str) else json_text(value, pretty=True))
    if changed is None:
        raise ValueError("nothing was changed")
    try:
        return {**arguments, name: changed if isinstance(value, str) else json.loads(changed)}
    except ValueError as error:
        raise ValueError(f"{name} is not valid JSON: {error}") from error
