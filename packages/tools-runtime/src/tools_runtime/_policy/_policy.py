"""`Policy`: what tools may be called with, by rules, and by asking."""

from __future__ import annotations

import os
import threading
from functools import partial
from inspect import isawaitable
from typing import TYPE_CHECKING, Any

from tools_core import InvalidArguments, Result, ToolCall
from tools_runtime._effects import Blocking
from tools_runtime._log import log
from tools_runtime._policy._approvals import Approvals, Scope, key_of
from tools_runtime._policy._ask import Request, ask_on_terminal
from tools_runtime._policy._errors import NobodyToAskError, PolicyError
from tools_runtime._policy._facts import facts_of, is_read_by_core, own_copy
from tools_runtime._policy._files import find_project, project_rules, user_file, user_rules
from tools_runtime._policy._read import read_rules
from tools_runtime._policy._rule import STRICTNESS, Decision, Outcome, Rule
from tools_runtime._policy._warnings import warning_of, warnings_of
from tools_runtime.hookspecs import hookimpl

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence

    from tools_core import Context, Tool
    from tools_runtime._policy._facts import Facts

    Answer = Scope | bool | None
    Ask = Callable[[Request], Answer | Awaitable[Answer]]
    Steps = Generator[Any, Any, Any]

_SCOPES: Sequence[Scope] = ("once", "session", "project")
_one_at_a_time = threading.Lock()  # questions on the terminal, which this process has one of


class Policy:
    """Decides which calls are made: `Executor(policy=Policy())`.

    The first rule that holds decides: of `rules` and the user's files, or else of the project's file, or else the
    default, by which calls that only read are allowed (unless their tool requires approval) and all others asked about.
    A rule of the project may be stricter than the user's, never laxer; and none of its rules allows anything until the
    user has said `ask-tools policy trust`. Where nobody can be asked, the call is denied.

    Rules see the arguments as the tool gets them, and paths where they lead at that moment. Whether a link leads
    elsewhere a moment later, and what is found below a folder, the tool has to watch itself, as the file tools do.
    Of commands they see the words: where `> build/x` leads, if `build` is a link, is for the command's sandbox.

    Args:
        rules: Rules as in a file: `{"decision": "allow", "tool": "read_*", "paths": ["src/**"]}`.
        files: The user's policy files; by default `$XDG_CONFIG_HOME/ask-tools/policy.toml`, if there is one.
        project: The folder of the project; by default the nearest one, from the current folder up, that has an
            `ask-tools.toml` or is the top of a repository. Its `ask-tools.toml` is the project's policy.
        ask: Called with a `Request`; returns (or is a coroutine that returns) "once", "session", "project", True for
            once, or False or None for no. By default it asks on the terminal.
        remember: How long an answer may hold at most.

    Raises: PolicyError for a file or rule that is not understood, naming it, the key, and what would work.
    """

    def __init__(
        self,
        rules: Sequence[Mapping[str, Any]] | None = None,
        *,
        files: Sequence[str | os.PathLike[str]] | None = None,
        project: str | os.PathLike[str] | None = None,
        ask: Ask | None = None,
        remember: Scope = "project",
    ) -> None:
        if remember not in _SCOPES:
            raise PolicyError(f"remember is {remember!r}; it is one of {', '.join(_SCOPES)}")
        if ask is not None and not callable(ask):
            raise PolicyError(f"ask is {ask!r}; it is a function that is called with a Request")
        self.project = find_project(project)
        self._approvals = Approvals(self.project)
        own = read_rules(rules or (), "Policy(rules)")
        self.rules: Sequence[Rule] = (*own, *user_rules(files))
        file = project_rules(self.project)
        self.project_rules: Sequence[Rule] = file.rules
        self.is_trusted = not file.rules or self._trusts(file.data)
        self.warnings = warnings_of((*self.rules, *self.project_rules))
        if not self.is_trusted and any(rule.decision == "allow" for rule in file.rules):
            self.warnings.append(
                f"{file.path}: its rules that allow something do not count, because nobody here has trusted them; "
                "after reading it: ask-tools policy trust"
            )
        for text in self.warnings:
            log().warning("policy: %s", text)
        self._ask = ask
        self._scopes = _SCOPES[: _SCOPES.index(remember) + 1]
        self._session: set[str] = set()

    @hookimpl(trylast=True)
    def around_tool_call(self, call: ToolCall, tool: Tool | None, context: Context) -> Steps:
        """Make the call if it is allowed, or if whoever is asked approves it."""
        if tool is None:  # nothing will run
            return (yield)
        try:
            call = own_copy(call)
            decision = self.decide(call, tool, context)
        except InvalidArguments as error:
            if is_read_by_core(tool):  # which comes to the same end
                return (yield call)
            return Result.error(error.message, type=error.type)
        except RecursionError:
            return Result.error("the arguments are nested too deeply; send a flatter object", type="validation_error")
        if decision.outcome == "deny":
            return _denied(decision, tool, "")
        if decision.outcome == "ask":
            refusal = yield from self._approve(call, tool, context, decision)
            if refusal is not None:
                return refusal
        elif decision.rule is not None:
            self._warn(warning_of(decision.rule, tool, decision.facts.annotations))
        return (yield call)

    def _approve(self, call: ToolCall, tool: Tool, context: Context, decision: Decision) -> Steps:
        """Have a call approved; the result where it is not."""
        key = key_of(tool, decision.facts)
        if self.is_approved(key):
            return None
        request = Request(call, tool, decision.facts.arguments, decision, self._scopes, key)
        has_left = threading.Event()
        try:
            answer = yield Blocking(partial(self._question, request, lambda: has_left.is_set() or context.cancelled))
            if isawaitable(answer):
                answer = yield answer
        except NobodyToAskError:
            return _denied(decision, tool, "it needs approval, and there is no terminal to ask on")
        finally:  # also when the caller is cancelled, and this generator closed
            has_left.set()
        scope = self._scope(answer)
        if context.cancelled:
            return Result.error("the call was cancelled before it was approved", type="cancelled")
        if scope is None:
            return _denied(decision, tool, "it was not approved")
        # Links may lead elsewhere by now: what was approved is what was shown.
        if key_of(tool, self._facts(call, tool, context)) != key:
            return _denied(decision, tool, "what it would touch changed while it was being approved")
        self._remember(request, scope)
        return None

    def decide(self, call: ToolCall, tool: Tool, context: Context | None = None) -> Decision:
        """What the rules say of a call, without asking anybody or remembering anything.

        Raises InvalidArguments for a call that its tool would refuse.
        """
        facts = self._facts(call, tool, context)
        reasons: list[str] = []
        rule, is_unclear = _first(self.rules, facts, reasons)
        theirs, is_theirs_unclear = _first(self.project_rules, facts, reasons)
        if theirs is not None and theirs.decision == "allow" and not self.is_trusted:
            reasons.append(f"{theirs} would allow it, and is not trusted: ask-tools policy trust")
            theirs = None
        if rule is None or (theirs is not None and STRICTNESS[theirs.decision] > STRICTNESS[rule.decision]):
            rule = theirs
        outcome = rule.decision if rule is not None else _default(facts, reasons)
        if rule is not None:
            reasons.insert(0, rule.reason or rule.text)
        if outcome == "allow" and (is_unclear or is_theirs_unclear):
            outcome = "ask"
        if outcome == "allow" and len(facts.names) > 1:
            outcome = "ask"
            reasons.append(f"the call names {call.name}, and the tool is {tool.name}")
        return Decision(outcome, rule, tuple(reasons), facts)

    def is_approved(self, key: str) -> bool:
        """Whether the call of this hash was approved before, in this session or for this project."""
        return key in self._session or ("project" in self._scopes and self._reads(lambda: self._approvals.holds(key)))

    def _facts(self, call: ToolCall, tool: Tool, context: Context | None) -> Facts:
        chosen = None if context is None else context.workspace
        return facts_of(call, tool, context, self.project if chosen is None else os.path.realpath(chosen))

    def _question(self, request: Request, is_over: Callable[[], bool]) -> Answer | Awaitable[Answer]:
        if self._ask is not None:
            return self._ask(request)
        with _one_at_a_time:
            if is_over():
                return None
            if self.is_approved(request.key):  # by the answer to the question before
                return "once"
            scope = ask_on_terminal(request, is_over)
            if scope in ("session", "project"):  # before the next question, which may be the same
                self._session.add(request.key)
            return scope

    def _scope(self, answer: Any) -> Scope | None:
        if answer is None or answer is False or answer == "no":
            return None
        if answer is True:
            return "once"
        for scope in self._scopes:
            if answer == scope:
                return scope
        raise PolicyError(f"ask returned {answer!r}; it returns one of {', '.join(self._scopes)}, or None for no")

    def _remember(self, request: Request, scope: Scope) -> None:
        if scope == "once":
            return
        self._session.add(request.key)
        if scope == "project":
            try:
                self._approvals.add(request.key, request.tool.name, request.arguments)
            except (PolicyError, ImportError) as error:
                log().warning("policy: the approval holds for this session only: %s", error)

    def _warn(self, text: str | None) -> None:
        if text is not None and text not in self.warnings:
            self.warnings.append(text)
            log().warning("policy: %s", text)

    def _trusts(self, data: bytes) -> bool:
        return self._reads(lambda: self._approvals.trusts(data))

    def _reads(self, look: Callable[[], bool]) -> bool:
        try:
            return look()
        except PolicyError as error:
            log().warning("policy: %s", error)
            return False


def _first(rules: Sequence[Rule], facts: Facts, reasons: list[str]) -> tuple[Rule | None, bool]:
    """The first rule that holds of a call, and whether one before it may hold that would have been stricter."""
    is_unclear = False
    for rule in rules:
        match = rule.match(facts)
        if match == "yes" or (match == "perhaps" and rule.decision == "ask"):
            return rule, is_unclear
        if match == "perhaps" and rule.decision == "deny":
            is_unclear = True
            reasons.append(f"{rule} may forbid it: what the call comes to cannot be known")
    return None, is_unclear


def _default(facts: Facts, reasons: list[str]) -> Outcome:
    if facts.requires_approval:
        reasons.append("no rule holds, and the tool requires approval")
    elif facts.annotations.get("read_only") is True:
        reasons.append("no rule holds, and the call only reads")
        return "allow"
    else:
        reasons.append("no rule holds, and the call is not known to only read")
    return "ask"


def _denied(decision: Decision, tool: Tool, why: str) -> Result:
    """What the model is told: by whom it was decided, and that this is final."""
    because = why or "; ".join(decision.reasons)
    message = f"{tool.name} was not called: {because} ({decision.by})."
    if decision.outcome == "ask":
        message += f" Who runs this program can allow it with a rule in {user_file()} (see: ask-tools policy explain)."
    message += " Do not try to reach the same by other means; tell the user, or go on without it."
    metadata = {"policy": {"decision": decision.outcome, "by": decision.by}}
    return Result.error(message, type="denied", metadata=metadata)
