"""`Policy`: which calls are allowed, denied or asked about, by rules and by earlier approvals."""

from __future__ import annotations

import copy
import os
from dataclasses import replace
from glob import has_magic
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from tools_core import InvalidArguments, Registry, Tool
from tools_core.files import config_path
from tools_runtime._events import PolicyError
from tools_runtime._policy._approvals import StoredApprovals, check_owner, read_guarded
from tools_runtime._policy._facts import STRICTNESS, Decision, ServerTool, facts_of, server_tool
from tools_runtime._policy._rules import examine_rules, near, read_rules, rule_as_toml
from tools_runtime.hookspecs import hookimpl

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tools_core import ApprovalRequest, Context, ToolCall
    from tools_runtime._policy._facts import Facts, Outcome, Scope
    from tools_runtime._policy._rules import Rule

PROJECT_FILE = "ask-tools.toml"


class Evaluation(NamedTuple):
    """The result of the rules for one call, before approvals; `rule` is None if the default decides."""

    outcome: Outcome
    rule: Rule | None
    reasons: Sequence[str]
    facts: Facts

    @property
    def stays_inside(self) -> bool:
        """Whether the call states that it changes nothing but its workspace, and no rule decides or may deny it.

        Paths in the arguments prove nothing: a tool may publish the file. Nor do the claims of an MCP server.
        """
        effects = self.facts.effects
        is_open = effects.annotations.get("open_world", False)
        return self.rule is None and len(self.reasons) == 1 and effects.confined and not is_open


class Policy:
    """Decide which calls run: `Executor(tools, policy=Policy(), approve=...)`.

    The first matching rule decides: a rule of `rules`, then of the user's file, then of the project's `ask-tools.toml`.
    If no rule matches, a call is allowed if it only reads, reaches no open world, and its tool does not require
    approval; other calls need approval. The project's rules may restrict the user's rules. They may allow calls only
    after the user ran `ask-tools policy trust`.

    Rules match the arguments as the tool receives them, and the paths and commands that `Tool.effects` reports. A path
    may be replaced before it is opened: the tool has to prevent that, as the file tools do.

    Args:
        rules: Rules as in a file: `{"decision": "allow", "tool": "read_*", "paths": ["src/**"]}`.
        files: The user's policy files; by default `$XDG_CONFIG_HOME/ask-tools/policy.toml`, if it exists.
        project: The project's folder; by default the nearest parent of the current folder that has an `ask-tools.toml`
            or is a repository. False ignores the project's file.
        default: The decision if no rule matches and the call is not marked read-only. Use `"allow"` if a user typed
            the call.

    Raises: PolicyError for an invalid file or rule; the message names it, the key, and a valid form.
    """

    def __init__(
        self,
        rules: Sequence[Mapping[str, Any]] | None = None,
        *,
        files: Sequence[str | os.PathLike[str]] | None = None,
        project: str | os.PathLike[str] | Literal[False] | None = None,
        default: Outcome = "ask",
    ) -> None:
        if default not in STRICTNESS:
            raise PolicyError(f"default is {default!r}; it is one of {', '.join(STRICTNESS)}")
        self.project = find_project(project or None)
        self.approvals = StoredApprovals(self.project)
        self.rules: Sequence[Rule] = (*read_rules(rules or (), "Policy(rules)"), *user_rules(files))
        self.user_file = os.path.abspath(files[-1]) if files else config_path("policy.toml")
        self.project_file = os.path.join(self.project, PROJECT_FILE)
        self._data, self.project_rules = (b"", []) if project is False else read_policy(self.project_file)
        self.is_trusted = bool(self.project_rules) and self.approvals.file.trusts(self.project, self._data)
        self._default: Outcome = default

    @hookimpl
    def decide_tool_call(self, call: ToolCall, tool: Tool | None, context: Context) -> Decision | None:
        """Decide about a call by the rules."""
        if tool is None:  # nothing will run
            return None
        try:
            outcome, rule, reasons, facts = self.evaluate(call, tool, context)
        except InvalidArguments as error:
            if type(tool).call is Tool.call:  # it refuses them itself
                return None
            return Decision("deny", (error.message,), "the policy")
        except Exception as error:  # noqa: BLE001  (a call that cannot be evaluated, for any reason, does not run)
            return Decision("deny", (f"it cannot be evaluated: {type(error).__name__}: {error}",), "the policy")
        return Decision(outcome, reasons, str(rule or "the default"), facts)

    def approve(self, key: str, scope: Scope = "once", by: str = "") -> None:
        """Approve a pending request from any process of the same user; `by` defaults to the user's name.

        "once" allows the next equal call of the run, "run" all of them, "project" equal calls of all runs in the
        project. Raises PolicyError if the approval cannot be stored.
        """
        self.approvals.approve(key, scope, by)

    def deny(self, key: str, reason: str = "", by: str = "") -> None:
        """Deny a pending request from any process; the same call is denied for the rest of the run."""
        self.approvals.deny(key, reason, by)

    def trust(self) -> None:
        """Let the rules of the project's file allow calls until the file changes."""
        if not self._data:
            raise PolicyError(f"{self.project_file}: there is no such file, or it is empty")
        self.approvals.file.trust(self.project, self._data)
        self.is_trusted = True

    def try_rule(self, rule: Mapping[str, Any], request: ApprovalRequest) -> str | None:
        """Return a rule as TOML; None if it would not allow a call, since it does not match or another rule decides.

        Raises PolicyError for an invalid rule.
        """
        changed = copy.copy(self)
        changed.rules = (*self.rules, *read_rules([rule], self.user_file))
        is_allowed = changed.evaluate(request.call, request.tool, request.context).outcome == "allow"
        return rule_as_toml(rule) if is_allowed else None

    def add_rule(self, rule: Mapping[str, Any], *, save: bool = True) -> None:
        """Add a rule after the user's other rules; with `save` also to `user_file`, for later processes.

        Raises PolicyError for an invalid rule, and if the file cannot be written or is invalid.
        """
        added = read_rules([rule], self.user_file)
        if save:
            append_rule(self.user_file, rule)
        self.rules = (*self.rules, *added)

    def problems(self, tools: Iterable[Tool] = ()) -> list[str]:
        """Return probable typos in rules that deny or ask: names that neither these tools nor installed ones have."""
        rules = [rule for rule in (*self.rules, *self.project_rules) if rule.tools and rule.decision != "allow"]
        registry = Registry(auto=bool(rules))
        for tool in tools:
            if tool.name not in registry:
                registry.register(tool)
        return [f"{rule}: {text}" for rule in rules for text in problems_of(rule, registry, only_typos=True)]

    def evaluate(self, call: ToolCall, tool: Tool, context: Context) -> Evaluation:
        """Apply the rules to a call. Raises InvalidArguments for invalid arguments."""
        facts = facts_of(call, tool, context, self.project)
        reasons: list[str] = []
        rule, is_unclear = _first(self.rules, facts, reasons)
        theirs, is_theirs_unclear = _first(self.project_rules, facts, reasons)
        if theirs is not None and theirs.decision == "allow" and not self.is_trusted:
            reasons.append(f"{theirs} would allow it, but is not trusted: ask-tools policy trust")
            theirs = None
        if rule is None or (theirs is not None and STRICTNESS[theirs.decision] > STRICTNESS[rule.decision]):
            rule = theirs
        outcome, reason = self._by_default(facts) if rule is None else (rule.decision, rule.reason or rule.text)
        reasons.insert(0, f"no rule matches; {reason}" if rule is None else reason)
        if outcome == "allow" and (is_unclear or is_theirs_unclear):
            outcome = "ask"
        return Evaluation(outcome, rule, tuple(reasons), facts)

    def _by_default(self, facts: Facts) -> tuple[Outcome, str]:
        """Return the decision if no rule matches, and why."""
        if facts.tool.requires_approval:
            return "ask" if self._default == "allow" else self._default, "the tool requires approval"
        if not facts.hints["read_only"]:
            return self._default, "the call is not marked read-only"
        if facts.hints["open_world"]:
            return self._default, "the call reads from an open world"
        return "allow", "the call only reads"


def _first(rules: Sequence[Rule], facts: Facts, reasons: list[str]) -> tuple[Rule | None, bool]:
    """Return the first rule that matches a call, and whether an earlier rule may deny it."""
    is_unclear = False
    for rule in rules:
        match = rule.match(facts)
        if match == "perhaps":
            folder, missing = rule.folder_above(facts), " and ".join(facts.effects.missing)
            advice = f"; install {missing} to evaluate it" if missing else ""
            why = f"the call may reach below {folder}" if folder else "the effects of the call are only partly known"
            reasons.append(f"{rule} may apply: {why}{advice}")
            is_unclear |= rule.decision == "deny"
        if match == "yes" or (match == "perhaps" and rule.decision == "ask"):
            return rule, is_unclear
    return None, is_unclear


def problems_of(rule: Rule, tools: Registry, *, only_typos: bool = False) -> Iterator[str]:
    """Yield the names in a rule that no tool has, and the extras that its tools need to evaluate it."""
    pairs = {key: (key.rpartition(":")[2], _server_tool(tools, key)) for key in tools}
    for pattern in rule.tools:
        if not any(replace(rule, tools=[pattern]).concerns_tool(*pair) for pair in pairs.values()):
            parts = pattern.count(":") + 1  # of mcp:SERVER:TOOL, or of a name
            full = [("mcp", *server) if server and parts > 1 else (name,) for name, server in pairs.values()]
            similar = near(pattern, [":".join(names[:parts]) for names in full])
            if similar or not only_typos:
                yield f"no installed tool is called {pattern!r}{similar}"
    parameters: set[str] = set()
    missing: set[str] = set()
    # For typos only the named tools are imported.
    is_relevant = not only_typos or (rule.arguments and not any(map(has_magic, rule.tools)))
    for key in (key for key, pair in pairs.items() if is_relevant and rule.concerns_tool(*pair)):
        try:
            parameters.update(tools[key].input_schema.get("properties", {}))
            if not only_typos:
                missing.update(tools[key].effects(_sample(tools[key].input_schema)).missing)
        except Exception:  # noqa: BLE001  (a tool that cannot be loaded may have any parameter; `doctor` reports it)
            parameters.update(rule.arguments)
    for argument in rule.arguments.keys() - parameters if parameters else ():
        yield f"no tool that it is for has an argument {argument!r}{near(argument, parameters)}"
    for extra in sorted(missing) if rule.paths or rule.commands else ():
        yield f"it cannot be evaluated without {extra}; install it"


def _server_tool(tools: Registry, key: str) -> ServerTool | None:
    if (point := tools.origin(key)) is None:
        return server_tool(tools[key])
    source, _, server = point.distribution.partition(":")
    return ServerTool(server, point.remote) if source == "mcp" else None


def _sample(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments of the right types."""
    values = {"string": "x", "integer": 1, "number": 1, "boolean": False, "array": [], "object": {}}
    properties = schema.get("properties", {})
    return {name: values.get(properties[name].get("type"), "x") for name in schema.get("required", ())}


def user_rules(files: Sequence[str | os.PathLike[str]] | None) -> list[Rule]:
    """Read the rules of these files, or of the user's own; a file that is named explicitly must exist."""
    if files is None:
        return read_policy(config_path("policy.toml"))[1]
    rules: list[Rule] = []
    for file in files:
        if not os.path.lexists(file):
            raise PolicyError(f"{os.fspath(file)}: there is no such file")
        rules += read_policy(os.fspath(file))[1]
    return rules


def find_project(path: str | os.PathLike[str] | None) -> str:
    """Return the real path of the project's folder: the nearest one with an `ask-tools.toml` or a repository."""
    if path is not None:
        if not os.path.isdir(path):
            raise PolicyError(f"project {os.fspath(path)!r} is not a folder")
        return os.path.realpath(path)
    folder = here = os.path.realpath(os.curdir)
    while not any(os.path.lexists(os.path.join(folder, name)) for name in (PROJECT_FILE, ".git")):
        if folder == (folder := os.path.dirname(folder)):
            return here
    return folder


def read_policy(path: str) -> tuple[bytes, list[Rule]]:
    """Return the bytes of a policy file and its rules; empty without a file."""
    data = read_guarded(path)
    return data, parse_policy(path, data)


def append_rule(path: str, rule: Mapping[str, Any]) -> None:
    """Append a rule to a policy file, which stays unchanged if it would not be valid."""
    data = read_guarded(path)
    text = ("" if data.endswith(b"\n\n") or not data else "\n" if data.endswith(b"\n") else "\n\n") + rule_as_toml(rule)
    parse_policy(path, data + text.encode())
    folder = os.path.dirname(path)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        check_owner(os.stat(folder), folder)
        with open(path, "ab", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:  # keeps a link
            file.write(text.encode())
    except OSError as error:
        raise PolicyError(f"{path}: cannot be written: {error.strerror}") from error


def parse_policy(path: str, data: bytes) -> list[Rule]:
    """Return the rules in the content of a policy file. PolicyError names all that is wrong."""
    rules, problems = examine_policy(path, data)
    if problems:
        raise PolicyError("\n".join(problems))
    return rules


def examine_policy(path: str, data: bytes) -> tuple[list[Rule], list[str]]:
    """Return the valid rules in the content of a policy file, and all that is wrong with it."""
    if not data:
        return [], []
    import tomllib  # 3 ms, only if there is a policy

    try:
        document = tomllib.loads(data.decode("utf-8-sig"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        return [], [f"{path}: not valid TOML: {error}"]
    unknown = [key for key in document if key != "rule"]
    problems = [f"{path}: unknown key {key!r}{near(key, ['rule'])}; a policy has [[rule]] tables" for key in unknown]
    rules, wrong = examine_rules(document.get("rule", []), path)
    return rules, problems + wrong
