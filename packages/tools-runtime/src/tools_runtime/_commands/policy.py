"""`ask-tools policy`: explain decisions, check rules, and manage trust and approvals."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tools_core import Context, Registry, ToolCall, ToolError, UnknownToolError
from tools_core.command import CommandError, json_text, load_tool, one_line, read_arguments, write, write_json
from tools_core.files import config_path
from tools_runtime import Executor, Policy, PolicyError
from tools_runtime._policy._approvals import read_guarded
from tools_runtime._policy._facts import facts_of
from tools_runtime._policy._policy import PROJECT_FILE, examine_policy, find_project, problems_of

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable, Mapping

    Facts = tuple[int, Mapping[str, Any]]  # the exit code, and facts to print

# Where calls come from, and whether rules count there.
_FRONTS = {"call": True, "run": True, "chat": True, "serve": True, "agent": False, "executor": False}
_WITHOUT = "the tool requires no approval, and rules count only with policy=Policy()"
_EPILOG = """\
Policies are ~/.config/ask-tools/policy.toml, which is the user's, and ask-tools.toml in the project's folder:

  [[rule]]
  decision = "allow"                  # or "ask", or "deny"; the first matching rule decides
  tool = ["write_file", "edit_file"]  # names, with * and ?
  paths = ["src/**", "~/notes/*.md"]  # below the workspace, or absolute; compared with links and .. resolved

  [[rule]]
  decision = "allow"
  commands = ["git status", "git diff *"]  # each command of a script must be one of these
  read_only = true                    # and the script only reads: also destructive, idempotent, open_world

  [[rule]]
  decision = "deny"
  arguments = { branch = "main", limit = { max = 100 }, url = { glob = "https://*" } }
  reason = "read by the model"

All conditions of a rule must hold. To allow, a rule must cover every path and command of a call; to deny or ask, any
one. A call that names a folder may reach the files below it, so it needs approval if a rule denies one of them. In
commands, * stands for any words, options included; no rule covers a word that is known only at run time.
A redirection is a separate command: "> build/*". If no rule matches, a call is allowed if it only reads, reaches no
open world, and its tool does not require approval; other calls need approval. A project's rules may restrict the
user's rules; they may allow calls only after `ask-tools policy trust`.

actions:
  explain TOOL key=value   show which rule decides about a call, and why; runs nothing. --for names where the call comes
                           from: a rule counts everywhere but in an agent or executor of yours without policy=.
                           `decision` is that of the mode ask; `modes` has those of run and chat
  check [FILE...]          find all that is wrong with these policies, by default the user's and the project's: invalid
                           rules, names that no tool has, and extras to install so that a rule can be evaluated
  trust                    let the rules of the project's ask-tools.toml allow calls, as long as it stays the same
  approvals                list the stored answers; --forget KEY removes those whose keys begin with KEY, or all
  approve KEY, deny KEY    answer the pending call of this key
Exit codes: 0 done or allowed; 1 needs approval, denied, or a problem in a policy; 2 usage error.

examples:
  ask-tools policy explain bash command='git diff; rm -rf build'
  ask-tools policy explain write_file path=a.txt content=hi --for call
  ask-tools policy check deploy/policy.toml
"""


def configure(parser: ArgumentParser) -> None:
    """Add the arguments of `policy`."""
    parser.description = "Explain and check the policy, and manage approvals."
    parser.epilog = _EPILOG
    parser.add_argument("action", choices=sorted(_ACTIONS), metavar="ACTION", help="see below")
    text = "explain: the tool; approve, deny: the key; check: a policy"
    parser.add_argument("name", metavar="TOOL|KEY|FILE", nargs="?", help=text)
    parser.add_argument("words", metavar="key=value", nargs="*", help="explain: arguments, key:=JSON, or a JSON object")
    text = f"explain: where the call comes from: {', '.join(_FRONTS)}; by default run"
    parser.add_argument("--for", dest="front", choices=_FRONTS, default="run", metavar="WHERE", help=text)
    text = "explain: rules instead of the user's policy file, as for `run` and `serve`"
    parser.add_argument("--policy", metavar="FILE", action="append", help=text)
    parser.add_argument("--workspace", metavar="DIR", help="explain: the folder that relative paths are below")
    parser.add_argument("--scope", choices=("once", "run", "project"), default="once", help="approve: for how long")
    parser.add_argument("--reason", metavar="TEXT", default="", help="deny: text for the model")
    parser.add_argument("--forget", metavar="KEY", help="approvals: remove answers whose keys begin with KEY, or all")
    parser.add_argument("--project", metavar="DIR", help="the project's folder; by default found from here up")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run, intermixed=True)


def run(options: Namespace) -> int:
    """Run the action, and print its facts as JSON, or each on a line."""
    if options.action != "check" and (options.name is not None) != (options.action in ("approve", "deny", "explain")):
        raise CommandError(f"{options.action} {'takes no' if options.name else 'needs a'} TOOL or KEY: --help has all")
    try:
        status, facts = _ACTIONS[options.action](options)
    except PolicyError as error:
        raise CommandError(str(error), status=1) from error
    except (ToolError, UnknownToolError, ValueError) as error:
        raise CommandError(str(error)) from error
    if options.json:
        write_json(facts)
        return status
    lines = [(name, line) for name, value in facts.items() for line in (value if type(value) is list else [value])]
    write("\n".join(f"{name}: {_text(value)}" for name, value in lines if value not in ({}, "")))
    return status


def _policy(options: Namespace, **more: Any) -> Policy:
    return Policy(project=options.project, files=options.policy, **more)


def _explain(options: Namespace) -> Facts:
    tool = load_tool(options.name)
    call = ToolCall(None, tool.name, read_arguments(options.words, tool.definition["input_schema"]))
    context = Context(workspace=options.workspace)
    loaded = _policy(options, default="allow" if options.front == "call" else "ask")
    policy = loaded if _FRONTS[options.front] else None
    facts = facts_of(call, tool, context, loaded.project)
    decision = Executor([tool], policy=policy).decide(call, context)
    modes = {}
    if options.front in ("run", "chat"):
        is_free = decision.outcome == "ask" and loaded.evaluate(call, tool, context).stays_inside
        modes = {
            "ask": decision.outcome,
            **dict.fromkeys(("auto", "preview"), "allow" if is_free else decision.outcome),
        }
    rules = [*loaded.rules, *loaded.project_rules] if policy else []
    answer = loaded.approvals.file.find(f"any.{facts.hash}") if policy and decision.outcome == "ask" else None
    return 0 if decision.outcome == "allow" or answer is not None else 1, {
        "decision": decision.outcome,
        "for": options.front,
        "modes": modes,
        "approved_by": answer["by"] if answer else "",
        "by": decision.by,
        "rule": next((rule.text for rule in rules if str(rule) == decision.by), ""),
        "reasons": list(decision.reasons) or [_WITHOUT],
        "tool": tool.name,
        "arguments": facts.arguments,
        "workspace": facts.workspace,
        **facts.effects.to_dict(),
    }


def _check(options: Namespace) -> Facts:
    named = [options.name, *options.words] if options.name else []
    standard = [config_path("policy.toml"), f"{find_project(options.project)}/{PROJECT_FILE}"]
    files = named or [path for path in standard if Path(path).exists()]
    tools, count, problems = Registry(auto=True), 0, []
    for path in files:
        try:
            # A file that is named is only checked, so it may belong to anyone.
            rules, wrong = examine_policy(path, Path(path).read_bytes() if named else read_guarded(path))
        except (OSError, PolicyError) as error:
            problems.append(f"{path}: {error.strerror}" if isinstance(error, OSError) else str(error))
            continue
        count += len(rules)
        problems += wrong
        problems += [f"{rule}: {text}" for rule in rules for text in problems_of(rule, tools)]
    notes = [] if named or problems else _notes(options)
    return 1 if problems else 0, {"rules": count, "files": files, "problems": problems, "notes": notes}


def _notes(options: Namespace) -> list[str]:
    policy = _policy(options)
    if policy.is_trusted or not any(rule.decision == "allow" for rule in policy.project_rules):
        return []
    return ["the project's rules that allow calls do not count before: ask-tools policy trust"]


def _trust(options: Namespace) -> Facts:
    policy = _policy(options)
    policy.trust()
    return 0, {"trusted": policy.project_file, "rules": [rule.text for rule in policy.project_rules]}


def _approvals(options: Namespace) -> Facts:
    policy = _policy(options)
    if options.forget is None:
        return 0, dict(policy.approvals.file.all())
    count = policy.approvals.file.forget("" if options.forget == "all" else options.forget or "none")
    return 0 if count or options.forget == "all" else 1, {"forgotten": count}


def _approve(options: Namespace) -> Facts:
    _policy(options).approve(options.name, options.scope)
    return 0, {"approved": options.name, "scope": options.scope}


def _deny(options: Namespace) -> Facts:
    _policy(options).deny(options.name, options.reason)
    return 0, {"denied": options.name}


def _text(value: Any) -> str:
    if value is None:
        return "not known"
    return one_line(value if isinstance(value, str) else json_text(value, pretty=False))


_ACTIONS: dict[str, Callable[[Namespace], Facts]] = {
    "approvals": _approvals,
    "approve": _approve,
    "check": _check,
    "deny": _deny,
    "explain": _explain,
    "trust": _trust,
}
