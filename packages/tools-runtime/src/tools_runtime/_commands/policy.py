"""`ask-tools policy`: what a policy decides about a call and why, what is wrong with it, and what was approved."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from tools_core.text import visible
from tools_runtime._commands._arguments import read_arguments

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable, Sequence

    from tools_core import Tool, ToolCall
    from tools_runtime._policy import Decision, Policy

_EPILOG = """\
Policies are ~/.config/ask-tools/policy.toml, which is the user's own, and ask-tools.toml in the folder of the project:

  [[rule]]
  decision = "allow"                  # or "ask", or "deny"; the first rule that holds decides
  tool = ["write_file", "edit_file"]  # names, with * and ?
  paths = ["src/**", "~/notes/*.md"]  # below the workspace, or absolute; links and .. are resolved before
  reason = "sources are under version control"

  [[rule]]
  decision = "allow"
  tool = "bash"
  commands = ["git status", "git diff *", "ls *"]  # each command of a script must be one of these

  [[rule]]
  decision = "deny"
  destructive = true                  # also read_only, idempotent, open_world: what the tool says of this very call
  arguments = { branch = "main", limit = { max = 100 }, url = { glob = "https://*" } }

All conditions of a rule must hold. To allow, it must cover every path and command of a call; to deny or ask, any one.
An argument that is left out is its default; where the tool does not tell that one, it may be any value.
In commands, * stands for any words, but for options by which a program that reads comes to write: spell these out.
What a file is redirected from or to is a command of its own, as in "> build/*"; variables stand in front: "CI=1 make".
Without a rule, calls that only read are allowed, and all others asked about. A rule of the project may be stricter
than the user's, never laxer, and what it allows holds once its user has said `ask-tools policy trust`.
Exit codes: 0 done, or allowed; 1 asked about, denied, or a policy that is not understood; 2 wrong usage.

examples:
  ask-tools policy explain bash command='git diff; rm -rf build'
  ask-tools policy explain write_file '{"path": "src/app.py", "content": ""}' --json
  ask-tools policy check
  ask-tools policy trust
  ask-tools policy approvals --forget all
"""


def configure(parser: ArgumentParser) -> None:
    """Add the arguments of `policy`."""
    parser.description = "Say what the policy decides about a call and why, and what is wrong with it."
    parser.epilog = _EPILOG
    actions = "explain says which rule decides about a call, and runs nothing; check what is wrong or loosens much"
    more = "trust lets the project's ask-tools.toml allow calls; approvals lists what was approved for the project"
    parser.add_argument("action", choices=sorted(_ACTIONS), metavar="ACTION", help=f"{actions}; {more}")
    parser.add_argument("name", metavar="TOOL", nargs="?", help="explain: the tool, or DISTRIBUTION:NAME")
    text = "explain: its arguments, key:=JSON for any value, or one JSON object"
    parser.add_argument("words", metavar="key=value", nargs="*", help=text)
    parser.add_argument("--workspace", metavar="DIR", help="explain: the folder that relative paths are below")
    parser.add_argument("--forget", metavar="HASH", help="approvals: forget one, by the beginning of its hash, or all")
    parser.add_argument("--project", metavar="DIR", help="the folder of the project; by default found from here up")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run, intermixed=True)


def run(options: Namespace) -> int:
    """Do what the action says."""
    if options.action == "explain" and options.name is None:
        return _fail("explain takes a tool and its arguments: ask-tools policy explain TOOL key=value", 2)
    if options.action != "explain" and options.name is not None:
        return _fail(f"{options.action} takes no {options.name!r}", 2)
    return _ACTIONS[options.action](options)


def _explain(options: Namespace) -> int:
    from tools_core import Context, DefinitionError, InvalidArguments, Registry, ToolCall, ToolError, UnknownToolError

    policy = _policy(options)
    if policy is None:
        return 1
    registry = Registry()
    try:
        registry.discover()
        tool = registry[options.name]
    except (DefinitionError, ToolError, UnknownToolError, ValueError) as error:
        return _fail(str(error), 2)
    try:
        call = ToolCall(None, tool.name, read_arguments(options.words, tool))
        decision = policy.decide(call, tool, Context(workspace=options.workspace))
        is_approved = decision.outcome == "ask" and policy.is_approved(_key(tool, decision))
    except InvalidArguments as error:
        return _fail(error.message, 2)
    except ValueError as error:
        return _fail(str(error), 2)
    if options.json:
        _print_json(_as_json(decision, call, is_approved=is_approved))
    else:
        _print_decision(decision, tool, is_approved=is_approved)
    return 0 if decision.outcome == "allow" or is_approved else 1


def _key(tool: Tool, decision: Decision) -> str:
    from tools_runtime._policy._approvals import key_of  # loaded already, with the policy

    return key_of(tool, decision.facts)


def _as_json(decision: Decision, call: ToolCall, *, is_approved: bool) -> dict[str, Any]:
    facts, rule = decision.facts, decision.rule
    said = (
        None if rule is None else {"file": rule.source, "number": rule.number, "text": rule.text, "reason": rule.reason}
    )
    return {
        "decision": decision.outcome,
        "approved": is_approved,
        "rule": said,
        "reasons": list(decision.reasons),
        "tool": call.name,
        "arguments": facts.arguments,
        "annotations": facts.annotations,
        "requires_approval": facts.requires_approval,
        "paths": facts.paths,
        "commands": facts.commands,
        "workspace": facts.workspace,
    }


def _print_decision(decision: Decision, tool: Tool, *, is_approved: bool) -> None:
    from tools_runtime._policy._ask import shown  # loaded already, with the policy

    facts, rule = decision.facts, decision.rule
    lines = [f"{decision.outcome}: {tool.name}, by {decision.by}"]
    if is_approved:
        lines[0] += "; this very call was approved before"
    if rule is not None:
        lines.append(f"rule: {rule.text}")
    lines += [f"because {reason}" for reason in decision.reasons if rule is None or reason != rule.text]
    lines.append(f"arguments: {shown(facts.arguments)}")
    hints = [*facts.hints, *(["requires approval"] if facts.requires_approval else [])]
    lines.append(f"annotations: {', '.join(hints) or 'none'}")
    for name, told in (("paths", facts.paths), ("commands", facts.commands)):
        if told is None:
            lines.append(f"{name}: cannot be known")
        elif told:
            lines += [f"{name}: {shown(each)}" for each in told]
    _print(lines)


def _check(options: Namespace) -> int:
    policy = _policy(options)
    if policy is None:
        return 1
    from tools_core import Registry, ToolError
    from tools_runtime._policy._warnings import strangers_of  # loaded already, with the policy

    rules = [*policy.rules, *policy.project_rules]
    registry = Registry()
    try:
        registry.discover()
    except (ToolError, ValueError) as error:
        return _fail(str(error), 2)
    warnings = [*policy.warnings, *strangers_of(rules, registry)]
    if options.json:
        told = {"rules": len(rules), "project": policy.project, "trusted": policy.is_trusted, "warnings": warnings}
        _print_json(told)
    else:
        _print([f"{len(rules)} rules, project {policy.project}", *(f"warning: {each}" for each in warnings)])
    return 0


def _trust(options: Namespace) -> int:
    from tools_runtime._policy import PolicyError
    from tools_runtime._policy._approvals import Approvals
    from tools_runtime._policy._files import find_project, project_rules

    try:
        project = find_project(options.project)
        file = project_rules(project)
        if not file.data:
            return _fail(f"{file.path}: there is no such file", 1)
        Approvals(project).trust(file.data)
    except PolicyError as error:
        return _fail(str(error), 1)
    texts = [f"{rule.number}. {rule.text}" for rule in file.rules]
    if options.json:
        _print_json({"trusted": file.path, "rules": texts})
    else:
        _print([f"trusted, as long as it stays as it is: {file.path}", *(f"  {text}" for text in texts)])
    return 0


def _approvals(options: Namespace) -> int:
    from tools_runtime._policy import PolicyError
    from tools_runtime._policy._approvals import Approvals
    from tools_runtime._policy._files import find_project

    try:
        approvals = Approvals(find_project(options.project))
        if options.forget is not None:
            if not options.forget:
                return _fail("--forget takes the beginning of a hash, or all", 2)
            count = approvals.forget("" if options.forget == "all" else options.forget)
            _print_json({"forgotten": count}) if options.json else _print([f"{count} forgotten"])
            return 0 if count or options.forget == "all" else 1
        found = approvals.all()
    except PolicyError as error:
        return _fail(str(error), 1)
    if options.json:
        _print_json(found)
    elif not found:
        _print(["nothing was approved"])
    else:
        _print(
            [f"{key[:16]}  {each.get('at')}  {each.get('tool')} {each.get('arguments')}" for key, each in found.items()]
        )
    return 0


def _policy(options: Namespace) -> Policy | None:
    """The policy that an executor would load here; None after saying what is wrong with it."""
    import logging

    from tools_runtime._policy import Policy, PolicyError

    logging.getLogger("tools_runtime").addHandler(logging.NullHandler())  # `check` prints them itself
    try:
        return Policy(project=options.project)
    except PolicyError as error:
        _fail(str(error), 1)
        return None


def _print(lines: Sequence[str]) -> None:
    sys.stdout.write("".join(f"{visible(line)}\n" for line in lines))


def _print_json(value: Any) -> None:
    sys.stdout.write(json.dumps(value) + "\n")


def _fail(message: str, status: int) -> int:
    sys.stdout.flush()
    sys.stderr.write(f"error: {visible(message)}\n")
    return status


_ACTIONS: dict[str, Callable[[Namespace], int]] = {
    "approvals": _approvals,
    "check": _check,
    "explain": _explain,
    "trust": _trust,
}
