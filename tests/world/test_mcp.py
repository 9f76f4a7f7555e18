"""MCP servers and clients as others write them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tools_core import Registry
from tools_runtime import Executor, Policy

SERVER = str(Path(__file__).with_name("mcp_server.py"))


def command(**options):
    return [sys.executable, SERVER, json.dumps(options)]


def accept(**servers):
    """Write the servers that the user has added, each with its tools."""
    path = Path("~/.config/ask-tools/mcp.json").expanduser()
    path.parent.mkdir(parents=True, exist_ok=True)
    entries = {}
    for server, names in servers.items():
        tools = [{"name": name, "inputSchema": {"type": "object"}, "description": f"Of {server}."} for name in names]
        program, *arguments = command(tools=tools, result={"content": [{"type": "text", "text": f"ran {server}"}]})
        entries[server] = {"command": program, "args": arguments, "tools": tools}
    path.write_text(json.dumps({"mcpServers": entries}))


def installed():
    registry = Registry()
    registry.discover()
    return registry


def names_of(server):
    return installed().select(f"mcp:{server}")


@pytest.mark.parametrize(
    "others",
    [
        {"web": ["search"]},
        {"a": ["search"], "web": ["search", "read_file"]},
        {"privat": ["e_search"], "private_x": ["search"]},
        {"web": ["private_search"]},
    ],
    ids=str,
)
def test_another_server_never_renames_a_tool(others):
    accept(private=["search", "read_file", "bash"])
    before = names_of("private")
    assert before == ["private_bash", "private_read_file", "private_search"]
    accept(**others, private=["search", "read_file", "bash"])
    assert names_of("private") == before
    accept(private=["search", "read_file", "bash"], **others)
    assert names_of("private") == before


RULES = [
    ("My_Server", "delete_repo", "delete_repo"),
    ("My_Server", "delete_repo", "delete_*"),
    ("My_Server", "delete_repo", "My_Server_delete_repo"),
    ("My_Server", "delete_repo", "mcp:My_Server:delete_repo"),
    ("My_Server", "delete_repo", "mcp:my-server:delete_repo"),
    ("My_Server", "delete_repo", "mcp:my_server"),
    ("My_Server", "delete_repo", "mcp:*:delete_*"),
    ("github", "repo.delete", "mcp:github:repo.delete"),
    ("github", "repo.delete", "mcp:github:repo_delete"),
    ("github", "repo.delete", "repo.delete"),
    ("github", "repo/delete all", "mcp:github:repo/delete all"),
    ("github", "a:b", "mcp:github:a:b"),
    ("github", "löschen", "mcp:github:löschen"),
    ("github", "x" * 80, "x" * 80),
]


@pytest.mark.parametrize(("server", "name", "pattern"), RULES)
@pytest.mark.parametrize(
    "others", [{}, {"web": ["delete_repo", "repo.delete", "repo_delete"]}], ids=["alone", "beside"]
)
def test_a_deny_rule_for_a_tool_of_a_server_binds_whatever_else_is_added(server, name, pattern, others):
    accept(**{server: [name]}, **others)
    policy = Policy([{"decision": "deny", "tool": pattern}, {"decision": "allow"}], files=[], project=False)
    with Executor(installed(), policy=policy) as executor:
        for tool in names_of(server):
            assert executor.call_tool(tool, {}).error_type == "denied"


@pytest.mark.parametrize(
    ("pattern", "allowed"),
    [
        ("search", []),
        ("private_search", ["private_search"]),
        ("mcp:private:search", ["private_search"]),
        ("mcp:private", ["private_search"]),
        ("mcp:web:*", ["web_search"]),
        ("mcp:pri:search", []),
    ],
)
def test_a_rule_allows_only_the_server_that_it_names(pattern, allowed):
    accept(private=["search"], web=["search"])
    policy = Policy([{"decision": "allow", "tool": pattern}], files=[], project=False)
    with Executor(tools := installed(), policy=policy) as executor:
        names = [name for name in tools.select("mcp:*") if executor.call_tool(name, {}).ok]
    assert names == allowed


def test_a_deny_rule_binds_under_another_name():
    accept(private=["search"])
    renamed = installed().subset(only=["mcp:private"], rename={"private_search": "look"})
    rules = [{"decision": "deny", "tool": "mcp:private:search"}, {"decision": "allow"}]
    with Executor(renamed, policy=Policy(rules, files=[], project=False)) as executor:
        assert executor.call_tool("look", {}).error_type == "denied"


@pytest.mark.parametrize("pattern", ["mcp:", "mcp::search", "mcp:github:", "github:search", "mcp:a:b\n"])
def test_a_malformed_pattern_of_a_server_is_refused(pattern):
    with pytest.raises(ValueError, match="mcp:github:search"):
        Policy([{"decision": "deny", "tool": pattern}], files=[], project=False)
