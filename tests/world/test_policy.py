"""`ask-tools policy` explains what really happens to calls from each place, and finds each mistake in a file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools_agent import Agent, ScriptedProvider, Session, open_store
from tools_core import ToolCall, tool
from tools_core.command import load_tools, main
from tools_mcp import McpToolset
from tools_runtime import Decision, Executor, Policy, hookimpl

COMMAND = [sys.executable, "-m", "tools_core"]
OUTCOMES = {None: "allow", "approval_required": "ask", "denied": "deny"}
TOOLS = """
from tools_core import tool


def record(name: str) -> str:
    with open("ran.txt", "a") as file:
        file.write(f"{name}\\n")
    return name
"""
NAMES = {  # the options of each tool
    "reads": "read_only=True",
    "reads_the_web": "read_only=True, open_world=True",
    "reads_a_secret": "read_only=True, requires_approval=True",
    "changes": "",
    "deletes": "destructive=True, requires_approval=True",
    "granted": "destructive=True, requires_approval=True",
    "questioned": "read_only=True",
    "forbidden": "read_only=True",
}
RULES = "".join(
    f'[[rule]]\ndecision = "{decision}"\ntool = "{name}"\n'
    for name, decision in (("granted", "allow"), ("questioned", "ask"), ("forbidden", "deny"))
)


@pytest.fixture
def place(home, tmp_path, monkeypatch):
    """A folder with tools.py, and the user's policy."""
    folder = tmp_path / "folder"
    folder.mkdir()
    text = TOOLS + "".join(
        f'\n\n@tool({options})\ndef {name}() -> str:\n    """Do it."""\n    return record("{name}")\n'
        for name, options in NAMES.items()
    )
    (folder / "tools.py").write_text(text)
    policy = Path(home, ".config/ask-tools/policy.toml")
    policy.parent.mkdir(parents=True, exist_ok=True)
    policy.write_text(RULES)
    monkeypatch.chdir(folder)
    return folder


def explained(front, capsys):
    """What the command explains, by tool."""
    decisions = {}
    for name in NAMES:
        main(["policy", "explain", f"./tools.py:{name}", "--for", front, "--json"])
        decisions[name] = json.loads(capsys.readouterr().out)["decision"]
    return decisions


def through_call(capsys, _server):
    outcomes = {}
    for name in NAMES:
        main(["call", f"./tools.py:{name}", "--json"])
        result = json.loads(capsys.readouterr().out)
        outcomes[name] = OUTCOMES[result.get("error_type")]
    return outcomes


def through_session(command, *more):
    def run(_capsys, server):
        words = [*COMMAND, command, "--model", "openai:m", "--tools", "tools.py", "--store", "sessions.db", *more]
        environment = {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "none"}
        process = subprocess.run(
            [*words, *["go"] * (command == "run")], input="go\n" * (command == "chat"), capture_output=True, text=True,
            timeout=60, env={**os.environ, **environment}, check=False,
        )  # fmt: skip
        with open_store("sessions.db") as store:
            session = Session.open(store, store.sessions()[0].id)
            outcomes = {message.name: OUTCOMES[message.error_type] for message in session if message.role == "tool"}
            outcomes |= {request["tool"]: "ask" for request in session.pending_approvals}
        assert outcomes, process.stderr
        return outcomes

    return run


def through_server(_capsys, _server):
    command = [*COMMAND, "serve", "--tools", "tools.py"]
    with McpToolset(command, name="s") as tools:  # a client that cannot ask its user
        results = {name: tools.tool(name).call() for name in NAMES}
    return {
        name: "allow" if result.ok else "deny" if "rule 3" in result.error else "ask"
        for name, result in results.items()
    }


def through_agent(_capsys, _server):
    model = ScriptedProvider([ToolCall(name, name) for name in NAMES], "done")
    agent = Agent(model=model, tools=load_tools("tools.py"))
    agent.generate("go")
    pending = {request["tool"] for request in agent.session.pending_approvals}
    return {name: "ask" if name in pending else "allow" for name in NAMES}


def through_executor(_capsys, _server):
    with Executor(load_tools("tools.py")) as executor:
        return {name: OUTCOMES[executor.call_tool(name).error_type] for name in NAMES}


FRONTS = {
    "call": through_call,
    "run": through_session("run"),
    "chat": through_session("chat"),
    "serve": through_server,
    "agent": through_agent,
    "executor": through_executor,
}


SLOW = {"run", "chat", "serve"}  # they start processes


@pytest.mark.parametrize(
    "front", [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in FRONTS]
)
def test_policy_explains_the_decision_for_each_caller(front, place, capsys, model_server):
    def reply(_path, body):
        if body["messages"][-1]["role"] == "tool":
            return [{"choices": [{"index": 0, "delta": {"content": "Done."}, "finish_reason": "stop"}]}]
        calls = [
            {"index": number, "id": f"c{number}", "type": "function", "function": {"name": name, "arguments": "{}"}}
            for number, name in enumerate(NAMES)
        ]
        return [{"choices": [{"index": 0, "delta": {"tool_calls": calls}, "finish_reason": "tool_calls"}]}]

    decisions = explained(front, capsys)
    assert FRONTS[front](capsys, model_server(reply)) == decisions
    ran = set((place / "ran.txt").read_text().split())
    assert ran == {name for name, decision in decisions.items() if decision == "allow"}


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["auto", "preview"])
def test_policy_explains_the_effect_of_a_mode(mode, place, capsys, model_server):
    arguments = {"write_file": {"path": "new.txt", "content": "x"}, "changes": {}, "forbidden": {}}

    def reply(_path, body):
        if body["messages"][-1]["role"] == "tool":
            return [{"choices": [{"index": 0, "delta": {"content": "Done."}, "finish_reason": "stop"}]}]
        functions = [{"name": name, "arguments": json.dumps(value)} for name, value in arguments.items()]
        calls = [
            {"index": n, "id": f"c{n}", "type": "function", "function": function}
            for n, function in enumerate(functions)
        ]
        return [{"choices": [{"index": 0, "delta": {"tool_calls": calls}, "finish_reason": "tool_calls"}]}]

    decisions = {}
    for name, values in arguments.items():
        tool_name = name if name == "write_file" else f"./tools.py:{name}"
        main(["policy", "explain", tool_name, json.dumps(values), "--json"])
        decisions[name] = json.loads(capsys.readouterr().out)["modes"][mode]
    assert decisions == {"write_file": "allow", "changes": "ask", "forbidden": "deny"}
    run = through_session("run", "--mode", mode, "--tools", "write_file")
    assert run(capsys, model_server(reply)) == decisions


def test_policy_explains_the_decision_of_installed_plugins():
    class Office:
        @hookimpl
        def decide_tool_call(self, call):
            return Decision("deny", ("the office is closed",)) if call.name == "reads" else None

    def see() -> str:
        """See."""
        return "seen"

    tools = [tool(see, name=name, read_only=True) for name in ("reads", "looks")]
    executor = Executor(tools, hooks=[Office()], policy=Policy(files=[]))
    for name, outcome in (("reads", "deny"), ("looks", "allow")):
        decision = executor.decide(ToolCall(None, name))
        assert decision.outcome == outcome
        assert (executor.call_tool(name).error_type == "denied") == (outcome == "deny")


BAD = """
colour = "red"
[[rule]]
decision = "alow"
tol = "x"
tool = ["a b", "read_file"]
[[rule]]
decision = "deny"
tool = "read_fil"
[[rule]]
decision = "deny"
paths = ["../x"]
arguments = { limit = { min = 3, max = 1 }, url = "https://*" }
"""


def test_policy_check_names_every_problem_of_a_file_and_fails(place, capsys):
    Path("bad.toml").write_text(BAD)
    Path("good.toml").write_text(
        RULES.replace("granted", "read_file").replace("questioned", "*").replace("forbidden", "*")
    )
    assert main(["policy", "check", "good.toml"]) == 0
    assert "problems" not in capsys.readouterr().out
    assert main(["policy", "check", "good.toml", "bad.toml", "missing.toml", "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    expected = [
        "unknown key 'colour'", "rule 1: unknown key 'tol'", "rule 1: decision is 'alow'", "rule 1: tool has 'a b'",
        "rule 3: paths has '../x'", "rule 3: arguments.limit is", "rule 3: arguments.url is",
        "no installed tool is called 'read_fil'", "missing.toml: No such file",
    ]  # fmt: skip
    assert [problem for problem in report["problems"] if not any(text in problem for text in expected)] == []
    assert len(report["problems"]) == len(expected)


@pytest.mark.parametrize("content", [b"[[rule]", b"\xff", b"rule = 3", b"[rule]\ndecision = 'deny'"])
def test_policy_check_rejects_a_file_without_a_policy(content, place, capsys):
    Path("bad.toml").write_bytes(content)
    assert main(["policy", "check", "bad.toml"]) == 1
    assert "problems: bad.toml: " in capsys.readouterr().out


TYPOS = {  # in a rule, and its fix in the warning
    'tool = "forbiden"': "did you mean forbidden?",
    'tool = ["grep", "Forbidden"]': "did you mean forbidden?",
    'tool = "ReadFile"': "did you mean read_file?",
    'tool = "mcp:things:ad"': "did you mean mcp:things:add?",
    'tool = "mcp:thing"': "did you mean mcp:things?",
    'tool = "read_file"\narguments = { pth = "a" }': "has an argument 'pth' (did you mean path?)",
}


@pytest.mark.parametrize(
    "words",
    [
        ("call", "./tools.py:forbidden"),
        pytest.param(("run", "x", "--model", "scripted:demo", "--tools", "./tools.py"), marks=pytest.mark.slow),
        pytest.param(("chat", "--model", "scripted:demo", "--tools", "./tools.py"), marks=pytest.mark.slow),
        pytest.param(("serve", "--tools", "./tools.py"), marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("decision", ["deny", "ask", "allow"])
def test_each_command_warns_of_typos_in_rules_that_deny(words, decision, place, home):
    policy = Path(home, ".config/ask-tools/policy.toml")
    server = {"command": "x", "tools": [{"name": "add", "inputSchema": {"type": "object"}}]}
    (policy.parent / "mcp.json").write_text(json.dumps({"mcpServers": {"things": server}}))
    policy.write_text("".join(f'[[rule]]\ndecision = "{decision}"\n{rule}\n' for rule in TYPOS))
    done = subprocess.run([*COMMAND, *words], input="/quit\n", capture_output=True, text=True, check=False)
    text = done.stdout + done.stderr
    warnings = [
        f"rule {number} of {policy}: no " in text and fix in text for number, fix in enumerate(TYPOS.values(), 1)
    ]
    assert warnings == [decision != "allow"] * len(TYPOS), text


def test_a_rule_for_a_missing_tool_causes_no_warning(place, capsys):
    assert main(["call", "./tools.py:reads"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("pattern", ["keys", "./keys", "**/keys", "~/keys", "keys/deep/b.txt"])
def test_denying_a_folder_denies_its_content(pattern, place, monkeypatch):
    monkeypatch.setenv("HOME", str(place))
    Path("keys/deep").mkdir(parents=True)
    for path in ("keys/deep/b.txt", "keys.txt"):
        Path(path).write_text("x")

    def outcomes(decision, default):
        policy = Policy([{"decision": decision, "paths": [pattern]}], files=[], project=place, default=default)
        with Executor(load_tools(["read_file", "delete_path"]), policy=policy) as executor:
            calls = [ToolCall(None, "read_file", {"path": path}) for path in ("keys/deep/b.txt", "keys.txt")]
            calls.append(ToolCall(None, "delete_path", {"path": "keys/deep/b.txt"}))
            return [executor.decide(call).outcome for call in calls]

    assert outcomes("deny", "ask") == ["deny", "allow", "deny"]
    assert outcomes("ask", "ask") == ["ask", "allow", "ask"]
    is_file = pattern.endswith(".txt")
    assert outcomes("allow", "deny") == ["allow", "allow", "allow" if is_file else "deny"]
