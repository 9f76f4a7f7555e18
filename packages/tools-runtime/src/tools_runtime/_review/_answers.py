"""The answers to a request for approval, and what each of them does."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tools_core import Approval, Denial, ToolCall
from tools_core.files import is_inside
from tools_runtime._events import PolicyError
from tools_runtime._policy import user_name
from tools_runtime._review._diff import short_path

if TYPE_CHECKING:
    from tools_core import ApprovalRequest
    from tools_runtime._policy import Policy

Kind = Literal["once", "session", "always", "edit", "deny"]
_ALWAYS = "always: "
# Hints of a call that a rule for other calls keeps.
_HARMLESS = {"read_only": True, "destructive": False, "open_world": False}
_WORD = re.compile(r"[\w./:=@%+,-]+|\d*>{1,2}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer that a person may choose.

    - "once" runs the call.
    - "session" runs the call, and the calls that `rule` covers, while the policy lives; without a rule equal calls.
    - "always" adds `rule` to the user's policy file; `toml` is what will be written, and `file` where.
    - "edit" runs the call with other arguments.
    - "deny" refuses the call, with a reason for the model.
    """

    kind: Kind
    label: str
    rule: Mapping[str, Any] | None = None
    toml: str = ""
    file: str = ""


def answers_to(request: ApprovalRequest, policy: Policy | None = None) -> list[Answer]:
    """Return the possible answers to a request; rules only if they would decide about the call."""
    answers = [Answer(kind="once", label="yes, once")]
    rules = list(_rule_answers(request, policy)) if policy is not None else []
    narrow = [answer for answer in rules if answer.rule is not None and _is_for_a_session(answer.rule, request)]
    if narrow:
        label = f"yes, in this session: {narrow[0].label.removeprefix(_ALWAYS)}"
        answers.append(Answer(kind="session", label=label, rule=narrow[0].rule))
    elif "run" in request.scopes:
        answers.append(Answer(kind="session", label="yes, in this session: exactly this call"))
    return [*answers, *rules, Answer(kind="edit", label="edit the arguments"), Answer(kind="deny", label="no")]


def carry_out(
    answer: Answer,
    request: ApprovalRequest,
    *,
    policy: Policy | None = None,
    arguments: Mapping[str, Any] | None = None,
    reason: str = "",
) -> Approval | Denial:
    """Do what an answer says, and return the value that `approve=` returns.

    Args:
        answer: One of `answers_to(request, policy)`.
        request: The request.
        policy: Receives the rule of an answer.
        arguments: The edited arguments.
        reason: Why the call is denied, for the model.

    Raises: InvalidArguments for edited arguments that the tool does not accept, PolicyError if the policy file cannot
    be written; the request can be answered again.
    """
    if answer.kind == "deny":
        return Denial(user_name(), reason)
    if answer.kind == "edit":
        call = ToolCall(request.call.id, request.call.name, dict(arguments or {}))
        request.tool.valid_arguments(call)
        return Approval("once", user_name(), request.key, arguments)
    if answer.rule is None or policy is None:
        return Approval("run" if answer.kind == "session" else "once", user_name(), request.key)
    policy.add_rule(answer.rule, save=answer.kind == "always")
    return Approval("once", user_name(), request.key)


def _rule_answers(request: ApprovalRequest, policy: Policy) -> Iterator[Answer]:
    """Yield an answer for each rule that would decide about the call."""
    for label, rule in _rules_for(request):
        try:
            toml = policy.try_rule(rule, request)
        except PolicyError:  # such as a path that no rule can express
            continue
        if toml is not None:
            yield Answer(kind="always", label=_ALWAYS + label, rule=rule, toml=toml, file=policy.user_file)


def _is_for_a_session(rule: Mapping[str, Any], request: ApprovalRequest) -> bool:
    """Return whether a rule is narrow enough: for some paths, or for calls that read, of some commands if they run any.

    A command that writes is approved alone: in another folder, or with one more word, it is another deed.
    """
    if "paths" in rule:
        return True
    reads = rule.get("read_only", False) and not request.effects.paths
    return reads and ("commands" in rule or request.effects.commands == ())


def _rules_for(request: ApprovalRequest) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield rules that would allow a call, with their labels; the most useful one first.

    They keep the hints that make a call harmless: the approval of a call that reads allows no call that writes.
    """
    name, effects = request.tool.name, request.effects
    reads = effects.annotations.get("read_only", False)
    kept = {hint: value for hint, value in _HARMLESS.items() if effects.annotations.get(hint) is value}
    rule = {"decision": "allow", "tool": name, **kept}
    only = ", to read" if reads else ""
    if effects.commands:
        patterns = [_pattern(words, reads=reads) for words in effects.commands]
        if None not in patterns:
            commands = list(dict.fromkeys(patterns))
            yield f"{name} with {', '.join(map(str, commands))}{only}", {**rule, "commands": commands}
    elif effects.paths and effects.commands == () and request.context.workspace is not None:
        workspace = os.path.realpath(request.context.workspace)
        folder = os.path.commonpath([Path(path).parent for path in effects.paths])
        folders = [workspace] if is_inside(folder, [workspace]) else []
        for place in dict.fromkeys([*folders, folder]):
            if place != "/":
                label = f"{name} below {short_path(place, workspace)}{only}"
                yield label, {**rule, "paths": [f"{escape(place)}/**"]}
    yield f"{name}, {'any command' if effects.commands != () else 'any arguments'}{only}", rule


def _pattern(words: Sequence[str | None], *, reads: bool) -> str | None:
    """Return a pattern for a command: `git diff *` if it only reads, else for these words alone.

    The effect of further words is unknown: an option of the same program writes, deletes or sends.
    """
    head: list[str] = []
    for place, word in enumerate(words):
        if word is None or not _WORD.fullmatch(word):
            return None
        head.append(word)
        if reads and place and not word.startswith("-"):
            break
    return " ".join([*head, "*"] if reads and ">" not in head[0] else head)
