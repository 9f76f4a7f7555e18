"""Servers that lie, hang, flood or die: each gives one clear and bounded error."""

from __future__ import annotations

import pytest

from tools_core import ToolError
from tools_mcp import McpToolset


@pytest.mark.parametrize(
    ("mode", "error"),
    [
        ("dies at start", "it ended with exit code 4; it reports: fatal: no key"),
        ("dies in list", "the connection was lost: Connection closed; it ended with exit code 9$"),
        ("old", "Unsupported protocol version from the server: 1999-01-01"),
        ("no schema", "it sent what the protocol does not have: tools.0.inputSchema: Field required"),
        ("pages without end", "the list of tools has no end"),
    ],
)
def test_a_server_that_cannot_be_used_is_an_error_that_says_why(odd, mode, error):
    with pytest.raises(ToolError, match=error) as caught:
        _ = odd(mode).tools
    assert str(caught.value).startswith("odd: ")


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["hangs", "floods", "hangs in list"])
def test_a_server_that_does_not_get_ready_is_an_error_at_the_limit(odd, mode):
    with pytest.raises(ToolError, match=r"odd: .*answer within 2 s"):
        _ = odd(mode, timeout=2).tools


def test_a_program_that_does_not_exist_is_named():
    with pytest.raises(ToolError, match="No such file or directory: 'nonesuch'"):
        _ = McpToolset("nonesuch --now").tools


def test_megabytes_on_standard_error_do_no_harm(odd):
    assert len(odd("floods stderr").tools) == 3


def test_lines_that_are_no_messages_do_no_harm(odd):
    assert odd("garbage").tool("echo").call(text="x").output == "x"


def test_a_tool_with_an_invalid_schema_is_left_out_and_the_others_work(odd):
    toolset = odd("invalid schema")
    assert [tool.name for tool in toolset] == ["look"]
    (problem,) = toolset.problems
    assert problem.startswith("echo: ")
    with pytest.raises(ToolError, match=r"odd: echo: .*strin"):
        toolset.tool("echo")


@pytest.mark.parametrize(
    ("mode", "tool", "error"),
    [
        ("wrong shape", "echo", "odd: it sent what the protocol does not have: content: Input should be a valid list"),
        ("bad picture", "echo", "odd: its result cannot be read: Only base64 data is allowed"),
        ("contradicts", "count", "odd: Invalid structured content returned by tool count: 'seven' is not of type"),
    ],
)
def test_a_wrong_result_is_an_error(odd, mode, tool, error):
    result = odd(mode).tool(tool).call({} if tool == "count" else {"text": "a"})
    assert not result.ok
    assert result.error.startswith(error)
    assert len(result.error) < 1_200


@pytest.mark.slow
def test_a_server_that_dies_is_noticed_though_a_child_of_it_holds_its_output(odd):
    assert "it ended with exit code 5" in odd("leaves a child").tool("echo").call(text="x").error


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["huge", "endless line"])
def test_a_server_that_sends_too_much_is_ended_and_started_again(odd, mode):
    toolset = odd(mode, timeout=120)
    assert "it sent a message of more than 16 MiB" in toolset.tool("echo").call(text="x").error
    assert toolset.tool("count").call().error_type in (None, "unavailable")


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["deaf", "floods in call"])
def test_a_server_that_ignores_everything_costs_no_more_than_the_limit_and_harms_no_other(odd, mode):
    toolset = odd(mode, timeout=2)
    assert toolset.tool("echo").call(text="x").error_type == "timeout_error"
    assert odd().tool("echo").call(text="x").ok
