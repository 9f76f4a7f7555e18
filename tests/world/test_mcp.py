"""MCP servers and clients as others write them."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest
import uvicorn
from mcp import Client
from mcp_types import ElicitResult, Implementation
from starlette.testclient import TestClient

from tools_core import Context as ToolContext
from tools_core import Registry, tool
from tools_core.command import main
from tools_mcp import McpToolset, Server
from tools_runtime import Executor, Policy
from tools_runtime.plugins import LoopDetector

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
def test_a_deny_rule_for_a_server_tool_binds_beside_other_servers(server, name, pattern, others):
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
        ("mcp:site:*", ["site_search"]),
        ("mcp:pri:search", []),
    ],
)
def test_a_rule_allows_only_the_server_that_it_names(pattern, allowed):
    accept(private=["search"], site=["search"])
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


@tool(requires_approval=True)
def publish(path: str) -> str:
    """Publish a file."""
    return f"published {path}"


@contextmanager
def serving(server):
    """Serve over HTTP in a thread, and yield the URL."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        http = uvicorn.Server(uvicorn.Config(server.http_app(), log_level="warning"))
        thread = threading.Thread(target=http.run, args=([listener],))
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
        http.should_exit = True
        thread.join()


def use(target, action, scope="once", calls=1, mode="auto", name="test", path="a"):
    """Call `publish` as a client whose user answers so; return the offered scopes of each question, and the results."""
    offered = []

    async def answer(_, params):
        offered.append([choice["const"] for choice in params.requested_schema["properties"]["scope"]["oneOf"]])
        return ElicitResult(action=action, content={"scope": scope} if action == "accept" else None)

    async def main():
        info = Implementation(name=name, version="1")
        async with Client(target, elicitation_callback=answer, mode=mode, client_info=info) as client:
            return [await client.call_tool("publish", {"path": path}) for _ in range(calls)]

    results = asyncio.run(main())
    return offered, results


@pytest.mark.parametrize("scope", ["run", "project"])
@pytest.mark.parametrize("mode", ["2026-07-28", "legacy"])
def test_an_approval_over_http_allows_no_call_of_another_client(mode, scope):
    with serving(Server([publish])) as url:
        offered, _ = use(url, "accept", scope, mode=mode)
        assert "project" not in offered[0]
        for other in ("2026-07-28", "legacy"):
            offered, [result] = use(url, "decline", mode=other)
            assert (len(offered), result.is_error) == (1, True)
    assert not list(Path.home().rglob("approvals.json"))


def test_a_yes_for_the_session_holds_in_this_session_over_http():
    with serving(Server([publish])) as url:
        offered, results = use(url, "accept", "run", calls=3, mode="legacy")
        assert offered == [["once", "run"]]
        assert not any(result.is_error for result in results)


@pytest.mark.parametrize("mode", ["2026-07-28", "legacy"])
def test_an_approval_of_the_owner_allows_no_call_over_http(mode):
    server = Server([publish])
    _, [result] = use(server.lowlevel, "accept", "project")
    assert not result.is_error
    assert use(server.lowlevel, "decline")[0] == []
    with serving(server) as url:
        offered, [result] = use(url, "decline", mode=mode)
        assert (offered[0][0], result.is_error) == ("once", True)


@pytest.mark.parametrize(
    ("client", "name"),
    [
        ("claude-code", "claude-code"),
        ("codex-mcp-client", "codex"),
        ("gemini-cli-mcp-client", "gemini-cli"),
        ("claude-ai", "claude-desktop"),
        ("Visual Studio Code", "vscode"),
        ("Zed", "zed"),
        ("my-editor", "CLIENT"),
    ],
)
@pytest.mark.parametrize("action", ["cancel", "decline"])
@pytest.mark.parametrize("mode", ["2026-07-28", "legacy"])
def test_a_client_that_answers_itself_learns_how_its_user_allows_the_call(client, name, action, mode):
    server = Server([publish], advice="Run `ask-tools mcp install {client} -- --allow {tool}`.")
    _, [result] = use(server.lowlevel, action, name=client, mode=mode)
    text = result.content[0].text
    assert result.is_error
    assert f"Run `ask-tools mcp install {name} -- --allow publish`" in text
    assert ("needs approval" if action == "cancel" else "was not approved") in text
    assert ".." not in text


@pytest.mark.parametrize("mode", ["2026-07-28", "legacy"])
def test_a_client_of_a_program_learns_how_its_owner_allows_the_call(mode):
    with serving(Server([publish])) as url:
        _, [result] = use(url, "cancel", name="claude-code", mode=mode)
    assert "`Server(allow=['publish'])`" in result.content[0].text
    assert "mcp install" not in result.content[0].text


@contextmanager
def toolset(timeout=20, **options):
    with McpToolset(command(**options), name="odd", timeout=timeout) as tools:
        yield tools


def called(timeout=20, **options):
    with toolset(timeout, **options) as tools:
        return tools.tool("echo").call({})


@pytest.mark.parametrize(
    ("first", "options"),
    [
        ("exit", {"status": 1}),
        ("exit", {"status": 0}),
        ("error, exit", {}),
        pytest.param("close", {}, marks=pytest.mark.slow),
        pytest.param("ignore", {"timeout": 8}, marks=pytest.mark.slow),
        pytest.param("ignore", {"timeout": 4}, marks=pytest.mark.slow),
        pytest.param("hang", {"timeout": 15}, marks=pytest.mark.slow),
        ("error", {"before": "Zw\xf6lf \xff\n"}),
        ("exit", {"before": "listening\n\n{\n"}),
    ],
    ids=str,
)
def test_a_server_that_expects_another_first_message_is_usable(first, options):
    assert called(first=first, **options).content == "done"


def text(value):
    return {"type": "text", "text": value}


HELLO = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "odd", "version": "1"}}


@pytest.mark.parametrize(
    "changes",
    [
        {"capabilities": None},
        {"capabilities": {"tools": True}},
        {"capabilities": {"tools": None, "logging": False}},
        {"serverInfo": None},
        {"serverInfo": {"name": "odd"}},
        {"serverInfo": {"name": "odd", "version": 1}},
        {"protocolVersion": "2024-11-05", "instructions": None},
        {"protocolVersion": None},
        {"capabilities": {"tools": []}},
    ],
    ids=str,
)
def test_a_server_that_introduces_itself_oddly_is_usable(changes):
    assert called(results={"initialize": {**HELLO, **changes}}).content == "done"


DEFINITIONS = [
    {"inputSchema": None},
    {"inputSchema": {}},
    {"inputSchema": {"properties": {"a": {"type": "string"}}}},
    {"inputSchema": {"type": ["object"]}},
    {"inputSchema": {"type": "object", "properties": None}},
    {"inputSchema": {"type": "object", "properties": {}, "required": None}},
    {"inputSchema": {"type": "object", "properties": {"a": None}}},
    {"inputSchema": {"type": "object", "properties": [], "required": {}}},
    {"inputSchema": [], "annotations": [], "outputSchema": [], "_meta": []},
    {"inputSchema": {"type": "object", "properties": {"a": {"type": "float"}}}},
    {"outputSchema": {}},
    {"outputSchema": {"type": "array"}},
    {"icons": [{"src": 5}], "title": 3},
    {"description": ["a", "b"], "annotations": "none"},
    {"annotations": {"readOnlyHint": None}, "_meta": None, "execution": None},
]


@pytest.mark.parametrize("changes", DEFINITIONS, ids=lambda value: json.dumps(value)[:60])
def test_a_tool_with_an_odd_definition_is_usable(changes):
    with toolset(tool=changes) as tools:
        assert (tools.problems, tools.tool("echo").call({}).content) == ([], "done")


@pytest.mark.parametrize(
    "listing",
    [
        {"nextCursor": ""},
        {"nextCursor": None},
        {"nextCursor": 0},
        {"nextCursor": "same"},
        {"tools": [{"name": None}, 3]},
        {"_meta": []},
    ],
    ids=str,
)
def test_a_list_with_odd_members_has_the_other_tools(listing):
    tools = [*listing.get("tools", ()), {"name": "echo", "inputSchema": {"type": "object"}}]
    with toolset(results={"tools/list": {**listing, "tools": tools}}) as tools_of_server:
        assert [tool.name for tool in tools_of_server] == ["echo"]
        assert [problem for problem in tools_of_server.problems if "two tools" in problem] == []


@pytest.mark.parametrize("cursor", ["", "2", 2])
def test_all_pages_of_a_list_are_read(cursor):
    pages = {
        name: {"tools": [{"name": name, "inputSchema": {"type": "object"}}]} for name in ("first", "second")
    }  # fmt: skip
    pages["first"]["nextCursor"] = cursor
    with toolset(results={"tools/list": pages["first"], f"tools/list {cursor}": pages["second"]}) as tools:
        assert [tool.name for tool in tools] == ["first", "second"]


REPLIES = [
    ({"result": "done"}, "done"),
    ({"result": ["done"]}, "done"),
    ({"result": {"toolResult": "done"}}, '{"toolResult": "done"}'),
    ({"result": {"content": [text("done")]}, "jsonrpc": "1.0"}, "done"),
    ({"result": {"content": [text("done")]}, "jsonrpc": None, "error": None}, "done"),
    ({"result": {"content": [text("done")]}, "id": None}, "done"),
    ({"error": "disk full"}, "disk full"),
    ({"error": {"code": -32000, "data": "disk full"}}, "disk full"),
    ({"error": {"code": "E_FULL", "message": "disk full"}}, "disk full"),
    ({"error": {"code": -32000, "message": "disk full"}, "id": None}, "disk full"),
    ({"error": {"message": {"reason": "disk full"}}}, '"disk full"'),
    ({"error": {"code": -32602, "message": "Invalid", "data": {"field": "path"}}}, 'Invalid: {"field": "path"}'),
]
NOTICE = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}}
DONE = {"jsonrpc": "2.0", "result": {"content": [text("done")]}}


@pytest.mark.parametrize("line", [DONE, [DONE | {"id": None}], [NOTICE, DONE], [3, NOTICE, DONE]], ids=str)
def test_an_answer_in_a_batch_or_without_an_id_reaches_the_model(line):
    assert called(line=line).content == "done"


@pytest.mark.parametrize(("reply", "words"), REPLIES, ids=lambda value: json.dumps(value)[:60])
def test_an_answer_in_another_form_than_that_of_json_rpc_reaches_the_model(reply, words):
    result = called(reply=reply)
    assert result.ok is not bool(reply.get("error"))
    assert words in str(result)


@pytest.mark.parametrize(
    "changes",
    [
        {"data": "data:image/png;base64,iVBORw0KGgr_"},
        {"data": "data:image/png;base64,iVBORw0KGgr/", "mimeType": None},
        {"data": "iVBO\nRw0K\r\nGgr/\n"},
        {"data": "iVBORw0KGgr_AA"},
        {"mimeType": "Image/PNG"},
        {"mimeType": None},
        {"mimeType": None, "mime_type": "image/png", "annotations": []},
        {"annotations": {"priority": 7, "audience": ["all"]}, "_meta": []},
    ],
    ids=str,
)
def test_a_picture_in_an_odd_form_is_a_picture(changes):
    picture = {"type": "image", "data": "iVBORw0KGgr/", "mimeType": "image/png", **changes}
    [image] = called(result={"content": [picture]}).content
    assert (image.mime_type, image.data[:9]) == ("image/png", b"\x89PNG\r\n\x1a\n\xff")


NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
RESULTS = [
    ({"structuredContent": {"id": 7}}, ["7"]),
    ({"structuredContent": {"id": 7}, "content": None}, ["7"]),
    ({"structuredContent": {"id": 7}, "content": []}, ["7"]),
    ({"structuredContent": {"rows": ["Ada"]}, "content": [text("1 row")]}, ["1 row", "Ada"]),
    ({"structuredContent": [1, 2], "content": [text("two")]}, ["two", "[1, 2]"]),
    ({"structuredContent": "plain"}, ["plain"]),
    ({"content": "plain"}, ["plain"]),
    ({"content": [text("half \ud83d of a character")]}, ["half \ufffd of a character"]),
    ({"content": text("one part")}, ["one part"]),
    ({"content": ["plain", text("part")]}, ["plain", "part"]),
    ({"content": [{"type": "video", "url": "x"}, text("part")]}, ["cannot be read", "video", "part"]),
    ({"content": [{"type": "text"}, text("part")]}, ["cannot be read", "part"]),
    ({"content": [{"type": "resource", "resource": {"uri": "a"}}, text("part")]}, ["cannot be read", "part"]),
    ({"content": [{"type": "text", "text": None}, text("part")]}, ["cannot be read", "part"]),
    ({"content": [{"type": "resource_link", "uri": "file:///a.md"}, text("part")]}, ["[resource file:///a.md", "part"]),
    ({"content": [text("part")], "isError": None}, ["part"]),
    ({"content": [text("part")], "_meta": []}, ["part"]),
    ({"content": [{"type": "image", "data": "%", "mimeType": "image/png"}, text("part")]}, ["cannot be read", "part"]),
    ({}, [""]),
]


@pytest.mark.parametrize(("result", "parts"), RESULTS, ids=lambda value: json.dumps(value)[:60])
def test_a_result_in_an_odd_form_reaches_the_model(result, parts):
    called_result = called(result=result)
    assert called_result.ok
    assert [part for part in parts if part not in called_result.content] == []


@pytest.mark.parametrize(
    "result",
    [
        {"content": [text("the answer is uno")], "structuredContent": {"n": "one"}},
        {"content": [text("the answer is uno")]},
        {"content": [text("the answer is uno")], "structuredContent": {}},
    ],
)
def test_a_result_that_contradicts_its_schema_reaches_the_model(result):
    result_of_call = called(tool={"outputSchema": NUMBER}, result=result)
    assert "the answer is uno" in result_of_call.content
    assert "output schema of the server" in result_of_call.content


NOTICE = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}'


@pytest.mark.parametrize(
    ("prefix", "suffix"),
    [("INFO: ", ""), ("\x1b[32m", "\x1b[0m"), (NOTICE, ""), ('{"a": {"result": ', " done"), ("", NOTICE)],
)
def test_an_answer_with_other_text_in_its_line_reaches_the_model(prefix, suffix):
    assert called(prefix=prefix, suffix=suffix).content == "done"


def test_an_error_of_a_tool_stays_an_error():
    result_of_call = called(tool={"outputSchema": NUMBER}, result={"content": [text("no such file")], "isError": True})
    assert (result_of_call.ok, result_of_call.error) == (False, "no such file")


@pytest.mark.parametrize(
    ("schema", "good"),
    [
        ({"properties": {"x": {"type": "string", "pattern": r"^\p{L}+$"}}}, {"x": "é"}),
        ({"properties": {"x": {"type": "number", "minimum": 0, "exclusiveMinimum": True}}}, {"x": 1}),
        ({"properties": {"x": {"type": "array", "items": [{"type": "string"}]}}}, {"x": ["a", 1]}),
        ({"properties": {"x": {"type": "array", "contains": {"type": "string"}}}}, {"x": ["a"]}),
        ({"properties": {"x": {"$ref": "#/definitions/X"}}, "definitions": {"X": {"type": "string"}}}, {"x": "a"}),
        ({"properties": {"x": {"$ref": "#/missing"}}}, {"x": "a"}),
        ({"properties": {"x": {"type": "string", "required": True}}}, {"x": "a"}),
        ({"$schema": "http://json-schema.org/draft-04/schema#", "id": "x", "properties": {"x": {}}}, {"x": "a"}),
        ({"properties": {"x": {"type": "any"}}}, {"x": "a"}),
    ],
    ids=str,
)
def test_a_tool_with_keywords_of_other_drafts_and_languages_is_usable(schema, good):
    with toolset(tool={"inputSchema": {"type": "object", **schema}}) as tools:
        assert [tool.name for tool in tools] == ["echo"]
        assert tools.tool("echo").call(good).ok


def test_of_two_tools_with_one_name_the_first_counts():
    tools = [{"name": "echo", "description": name, "inputSchema": {"type": "object"}} for name in ("first", "second")]
    with toolset(tools=tools) as listed:
        assert [tool.description for tool in listed] == ["first"]
        assert listed.problems == ["echo: two tools have this name; the first one counts"]


@pytest.mark.parametrize(
    ("entry", "document"),
    [
        ({"disabled": True}, {}),
        ({"disabled": "true"}, {}),
        ({"enabled": False}, {}),
        ({}, {"disabledMcpServers": ["off"]}),
        ({}, {"disabledMcpjsonServers": ["off"]}),
    ],
    ids=str,
)
@pytest.mark.parametrize("section", ["mcpServers", "servers"])
def test_a_server_that_a_client_has_disabled_is_not_started(workspace, capsys, entry, document, section):
    program = [sys.executable, "-c", "open('started', 'w')"]
    servers = {"off": {"command": program[0], "args": program[1:], **entry}}
    (workspace / "client.json").write_text(json.dumps({section: servers, **document}))
    for words in (["--from", "client.json"], ["off", "--from", "client.json"]):
        assert main(["mcp", "add", *words, "--yes"]) == 2
        assert "off is disabled in client.json" in capsys.readouterr().err
    assert not (workspace / "started").exists()


def test_a_server_that_the_user_has_disabled_has_no_tools(capsys):
    accept(on=["look"], off=["look"])
    path = Path("~/.config/ask-tools/mcp.json").expanduser()
    document = json.loads(path.read_text())
    document["mcpServers"]["off"]["disabled"] = True
    path.write_text(json.dumps(document))
    assert installed().select("mcp:*") == ["on_look"]
    assert main(["mcp", "list"]) == 0
    assert "off     disabled" in capsys.readouterr().out


def call_served(tools, name, times=1, mode="auto", **options):
    """Call a tool of a server, and return the results and the listed tool."""

    async def main():
        async with Client(Server(tools, **options).lowlevel, mode=mode) as client:
            [listed] = [tool for tool in (await client.list_tools()).tools if tool.name == name]
            return [await client.call_tool(name, {}) for _ in range(times)], listed

    return asyncio.run(main())


@pytest.mark.parametrize("mode", ["2026-07-28", "legacy"])
def test_a_client_may_ask_for_the_same_state_as_often_as_it_likes(mode):
    @tool(read_only=True)
    def status() -> dict:
        """Status."""
        return {"state": "running"}

    results, _ = call_served([status], "status", 8, mode)
    for result in results:
        assert result.structured_content == {"state": "running"}
        assert json.loads(result.content[0].text) == {"state": "running"}
    results, _ = call_served([status], "status", 8, mode, hooks=[LoopDetector()])
    assert "the same call" in results[-1].content[0].text


@pytest.mark.parametrize(
    ("value", "schema", "structured"),
    [
        (3, None, {"result": 3}),
        (0.5, None, {"result": 0.5}),
        (True, None, {"result": True}),
        ([1, 2], None, {"result": [1, 2]}),
        ([{"a": 1}], None, {"result": [{"a": 1}]}),
        ({"a": 1}, None, {"a": 1}),
        ("text", None, None),
        (None, None, None),
        (3, {"type": "integer"}, {"result": 3}),
        ([1], {"type": "array", "items": {"$ref": "#/$defs/N"}, "$defs": {"N": {"type": "integer"}}}, {"result": [1]}),
        ("x", {"enum": ["x"]}, {"result": "x"}),
    ],
)
def test_scalars_and_lists_are_structured_content(value, schema, structured):
    @tool(read_only=True, output_schema=schema)
    def find():
        """Find."""
        return value

    [result], listed = call_served([find], "find")  # the client validates the result by the schema
    assert (result.is_error, result.structured_content) == (False, structured)
    assert (listed.output_schema is not None) == (schema is not None)


BOOKING = {
    "name": {"type": "string", "description": "Name of the guest"},
    "seats": {"type": "integer"},
    "menu": {"type": "string", "enum": ["fish", "salad"], "enumNames": ["Fish", "Salad"]},
    "window": {"type": "boolean"},
    "note": {"type": "string"},
}
FORM = {"type": "object", "properties": BOOKING, "required": ["name", "seats", "menu", "window"]}
SCOPE = {
    "type": "object",
    "properties": {"scope": {"oneOf": [{"const": "once", "title": "this call"}], "type": "string"}},
}
EMPTY = {"type": "object", "properties": {}}
GUEST = {"name": "Ada", "seats": 2, "menu": "fish", "window": True}


@pytest.mark.parametrize(
    ("schema", "answers", "result"),
    [
        (FORM, ["Ada", "many", "2", "Fish", "yes"], {"action": "accept", "content": GUEST}),
        (FORM, ["Ada", "2", "decline"], {"action": "decline"}),
        (FORM, ["Ada", "2", "meat"], {"action": "decline"}),
        (FORM, ["Ada", None], {"action": "cancel"}),
        (FORM, None, {"action": "cancel"}),
        (SCOPE, ["this call"], {"action": "accept", "content": {"scope": "once"}}),
        (SCOPE, ["decline"], {"action": "decline"}),
        (EMPTY, ["yes"], {"action": "accept", "content": {}}),
        (EMPTY, ["no"], {"action": "decline"}),
    ],
)
def test_questions_of_a_server_reach_the_user_of_the_call(schema, answers, result):
    questions = []

    def answer(question):
        questions.append(question.text)
        return answers[len(questions) - 1]

    context = ToolContext(on_ask=answer if answers else None)
    with toolset(question={"message": "Book a table?", "requestedSchema": schema}) as tools:
        answer_sent = json.loads(tools.tool("echo").call({}, context).content)
    assert {key: answer_sent[key] for key in ("action", "content") if answer_sent.get(key) is not None} == result
    assert len(questions) == len(answers or ())
    assert all("Book a table?" in text for text in questions)


def test_questions_of_an_ask_tools_server_reach_the_user_of_the_call():
    @tool(read_only=True)
    def deploy(context: ToolContext) -> str:
        """Deploy."""
        return f"to {context.ask('Where to?', ['eu', 'us'])}"

    answers = {"deploy asks: Where to?": "us", "Allow publish?": "this call"}

    def answer(question):
        return next(answers[start] for start in answers if question.text.startswith(start))

    with serving(Server([deploy, publish])) as url, McpToolset(url, name="ours") as tools:
        assert tools.tool("deploy").call({}, ToolContext(on_ask=answer)).content == "to us"
        assert tools.tool("publish").call({"path": "a"}, ToolContext(on_ask=answer)).content == "published a"
        assert not tools.tool("publish").call({"path": "a"}).ok


def test_files_of_clients_and_of_variables_are_read_as_editors_write_them(workspace, capsys):
    (workspace / ".env").write_text("\ufeffexport KEY='a b'\n=x\n#A=1\n\n", encoding="utf-8")
    program, *arguments = command(before="$KEY is ignored\n")
    entry = {"command": program, "args": arguments, "envFile": str(workspace / ".env")}
    (workspace / "client.json").write_bytes(b"\xef\xbb\xbf" + json.dumps({"mcpServers": {"odd": entry}}).encode())
    assert main(["mcp", "add", "--from", "client.json", "--yes"]) == 0
    assert "added odd" in capsys.readouterr().out


PROGRAM, *ARGUMENTS = command()
STANDARD = {"command": PROGRAM, "args": ARGUMENTS}


@pytest.mark.parametrize(
    "document",
    [
        {"mcp": {"odd": {"type": "local", "command": command(), "environment": {"A": "1"}, "enabled": True}}},
        {"mcp": {"odd": STANDARD}},
        {"mcp": {"servers": {"odd": STANDARD}}, "editor.fontSize": 12},
        {
            "context_servers": {
                "odd": {"source": "custom", "command": {"path": PROGRAM, "args": ARGUMENTS, "env": None}}
            }
        },
        {"amp.mcpServers": {"odd": STANDARD}},
        {
            "mcpServers": {},
            "projects": {"$HERE": {"mcpServers": {"odd": STANDARD}}, "/other": {"mcpServers": {"x": {}}}},
        },
        {"odd": STANDARD},
    ],
    ids=["opencode", "Crush", "VS Code", "Zed", "Amp", "Claude Code", "page of a server"],
)
def test_servers_are_found_in_the_files_of_many_clients(workspace, capsys, document):
    (workspace / "client.json").write_text(json.dumps(document).replace("$HERE", str(workspace)))
    assert main(["mcp", "add", "--from", "client.json", "--yes"]) == 0
    assert "added odd" in capsys.readouterr().out


def test_the_file_of_a_client_may_begin_with_a_byte_order_mark(workspace, capsys):
    path = workspace / ".cursor/mcp.json"
    path.parent.mkdir()
    path.write_bytes(b'\xef\xbb\xbf{"mcpServers": {"other": {"command": "x"}}}')
    assert main(["mcp", "install", "cursor", "--project"]) == 0
    assert {*json.loads(path.read_text(encoding="utf-8"))["mcpServers"]} == {"other", "ask-tools"}


RESOURCES = {
    "resources/list": {
        "resources": [
            {"uri": "file:///notes.md", "name": "notes", "mimeType": "text/markdown", "description": "Of\n today."},
            {"uri": "x://logo", "name": "logo"},
        ]
    },
    "resources/templates/list": {"resourceTemplates": [{"uriTemplate": "user://{id}", "name": "user"}]},
    "resources/read file:///notes.md": {"contents": [{"uri": "file:///notes.md", "text": "# Notes"}]},
    "resources/read x://logo": {"contents": [{"uri": "x://logo", "mimeType": "image/png", "blob": "iVBORw0KGgo="}]},
    "resources/read user://7": {"contents": []},
    "prompts/list": {
        "prompts": [{"name": "review", "arguments": [{"name": "file", "required": True}, {"name": "tone"}]}]
    },
    "prompts/get review": {"messages": [{"role": "user", "content": {"type": "text", "text": "Review it."}}]},
}
CAPABILITIES = {"resources": {}, "prompts": {}}


def parts_of_a_server(capabilities=CAPABILITIES, **options):
    """A toolset that also has the resources and prompts of its server."""
    program, *arguments = command(capabilities=capabilities, results=RESOURCES, **options)
    address = {"command": program, "args": arguments, "resources": True, "prompts": True}
    return McpToolset(address, name="notes", prefix=True)


def test_resources_are_listed_and_read_as_a_tool():
    with parts_of_a_server() as toolset:
        resources = toolset.tool("resources")
        listed = resources.call()
        assert str(listed).splitlines() == [
            "file:///notes.md [text/markdown]: Of today.",
            "x://logo",
            "user://{id} (a template)",
        ]
        assert listed.output[2]["uriTemplate"] == "user://{id}"
        assert resources.call(uri="file:///notes.md").output == "# Notes"
        assert resources.call(uri="x://logo").content[0].mime_type == "image/png"
        assert str(resources.call(uri="user://7")) == "user://7 is empty"
        assert "unknown method" in resources.call(uri="nowhere://").error


def test_prompts_are_listed_and_read_as_a_tool():
    with parts_of_a_server() as toolset:
        prompts = toolset.tool("prompts")
        assert str(prompts.call()) == "review(file, tone?)"
        assert prompts.call(name="review", arguments={"file": "a.py"}).output == "Review it."
        assert "did you mean review?" in prompts.call(name="revew").error


@pytest.mark.parametrize(
    ("capabilities", "tools", "problem"),
    [
        ({"prompts": {}}, ["echo", "prompts"], "the resources: the server has no resources"),
        (CAPABILITIES, ["resources", "prompts"], "the resources: the server has a tool called resources"),
    ],
)
def test_resources_that_cannot_be_offered_are_named_and_the_tools_remain(capabilities, tools, problem):
    theirs = [{"name": tools[0], "inputSchema": {"type": "object"}}]
    with parts_of_a_server(capabilities, tools=theirs) as toolset:
        assert list(toolset.definitions) == tools
        assert toolset.problems == [problem]
        assert str(toolset.tool(tools[0]).call()) == "done"


def test_a_server_may_have_resources_alone():
    program, *arguments = command(capabilities={"tools": None, "resources": {}}, errors=["tools/list"])
    with McpToolset({"command": program, "args": arguments, "resources": True}, timeout=20) as tools:
        assert [tool.name for tool in tools] == ["resources"]


def test_resources_of_a_server_can_be_enabled_later(home, capfd):
    server = command(capabilities=CAPABILITIES, results=RESOURCES)
    assert main(["mcp", "add", "notes", "--yes", "--", *server]) == 0
    assert names_of("notes") == ["notes_echo"]
    assert main(["mcp", "update", "notes", "--resources", "--yes"]) == 0
    assert names_of("notes") == ["notes_echo", "notes_resources"]
    assert main(["mcp", "update", "notes", "--yes"]) == 0
    assert names_of("notes") == ["notes_echo", "notes_resources"]
    assert main(["call", "mcp:notes:resources", "uri=file:///notes.md", "--yes"]) == 0
    assert capfd.readouterr().out.endswith("# Notes\n")
    assert main(["mcp", "list"]) == 0
    assert "2 tools" in capfd.readouterr().out


@pytest.fixture
def post():
    """Send a message of a client of 2025-11-25 to a server with the tool `double`, and return the answer."""

    @tool(read_only=True)
    def double(n: int = 1) -> int:
        """Double a number."""
        return 2 * n

    headers = {"Accept": "application/json, text/event-stream", "Host": "localhost"}
    with TestClient(Server([double]).http_app()) as client:

        def post(method, params):
            message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            response = client.post("/mcp", headers=headers, json=message)
            headers.setdefault("Mcp-Session-Id", response.headers.get("mcp-session-id", ""))
            return json.loads(response.text.partition("data: ")[2])

        yield post


INTRODUCTION = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"capabilities": None},
        {"capabilities": {"sampling": True, "elicitation": {}}},
        {"capabilities": {"experimental": {"x": 1}, "extensions": {"a/b": True}}},
        {"clientInfo": None},
        {"clientInfo": {"name": "raw"}},
        {"clientInfo": {"name": "raw", "version": 2}},
        {"protocolVersion": None},
        {"protocolVersion": "2024-11-05", "more": 1},
    ],
    ids=str,
)
def test_a_client_that_introduces_itself_oddly_is_served(post, changes):
    assert post("initialize", INTRODUCTION | changes)["result"]["serverInfo"]["name"] == "ask-tools"
    assert post("tools/call", {"name": "double", "arguments": {"n": 4}})["result"]["content"][0]["text"] == "8"


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"name": "double"}, '"text": "2"'),
        ({"name": "double", "arguments": None}, '"text": "2"'),
        ({"name": "double", "arguments": ""}, '"text": "2"'),
        ({"name": "double", "arguments": []}, '"text": "2"'),
        ({"name": "double", "_meta": {"progressToken": None}}, '"text": "2"'),
        ({"name": "double", "_meta": {"progressToken": 1.5}}, '"text": "2"'),
        ({"name": "double", "arguments": '{"n": 4}'}, '"text": "8"'),
        ({"name": "double", "arguments": {"n": "4"}}, '"text": "8"'),
        ({"name": "double", "arguments": "{n: 4"}, "arguments is a text that is not JSON"),
        ({"name": "double", "arguments": [4]}, "arguments: Input should be a valid dictionary"),
        ({"name": "dubble"}, "did you mean double?"),
        ({"name": 5}, "name: Input should be a valid string"),
        ({}, "name: Field required"),
    ],
    ids=str,
)
def test_an_odd_call_runs_or_is_refused_with_the_reason(post, params, words):
    post("initialize", INTRODUCTION)
    assert words in json.dumps(post("tools/call", params))


@pytest.mark.parametrize("kind", ["resources", "prompts"])
def test_a_client_that_asks_for_all_parts_of_a_server_gets_no_error(post, kind):
    post("initialize", INTRODUCTION)
    assert post(f"{kind}/list", {})["result"] == {kind: []}
    assert post("resources/templates/list", {})["result"] == {"resourceTemplates": []}


REQUEST = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
INITIALIZE = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": INTRODUCTION}


def served(*messages):
    """Return the answers of a server on standard streams, by id, and those without an id."""
    lines = "".join(json.dumps(message) + "\n" for message in messages)
    line = [sys.executable, "-m", "tools_core", "serve"]
    done = subprocess.run(line, input=lines, capture_output=True, text=True, timeout=60, check=True)
    answers = [answer for answer in map(json.loads, done.stdout.splitlines()) if "id" in answer]
    named = {answer["id"]: answer for answer in answers if answer["id"] is not None}
    return named, [answer for answer in answers if answer["id"] is None]


@pytest.mark.slow
def test_messages_of_clients_in_other_forms_are_answered_or_refused_with_the_reason():
    odd = [
        {**REQUEST, "id": 2.0},
        {"id": 3, "method": "ping"},
        {**REQUEST, "id": 4, "params": []},
        [{**REQUEST, "id": 5}, {**REQUEST, "id": 6}, {"jsonrpc": "2.0", "method": "notifications/other"}],
        {"jsonrpc": "2.0", "id": None, "method": "notifications/initialized"},
        {**REQUEST, "id": 7, "method": "tools/list"},
    ]
    invalid = [{**REQUEST, "id": id} for id in (None, True, 1.5, [1], {"a": 1})]
    answers, refusals = served({**REQUEST, "method": "tools/list"}, INITIALIZE, *invalid, *odd)
    assert "initialize" in answers.pop(1)["error"]["message"]
    assert [id for id, answer in sorted(answers.items()) if "result" in answer] == [0, 2, 3, 4, 5, 6, 7]
    assert ["as id" in refusal["error"]["message"] for refusal in refusals] == [True] * len(invalid)
