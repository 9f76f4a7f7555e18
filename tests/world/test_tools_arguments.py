"""Forms of the argument `tools`: one, several, a mapping, classes, functions and toolsets."""

import re

import anyio
import pytest
from mcp import Client

from tools_agent import Agent, ScriptedProvider, Session
from tools_code import CodeMode
from tools_core import DefinitionError, Registry, Tool, ToolCall, Toolset, tool
from tools_eval import score
from tools_mcp import Server
from tools_runtime import Executor, Policy


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def double(x: int) -> int:
    """Double a number."""
    return 2 * x


class Shout(Tool):
    """Write in capital letters."""

    def execute(self, text: str) -> str:
        return text.upper()


class Notes(Toolset):
    def read(self) -> str:
        """Read the notes."""
        return "notes"

    def write(self, text: str) -> None:
        """Write a note."""


def registry():
    tools = Registry()
    tools.register(add)
    return tools


FORMS = {
    "a tool": (lambda: add, ["add"]),
    "a class": (lambda: Shout, ["shout"]),
    "a toolset": (Notes, ["notes_read", "notes_write"]),
    "the class of a toolset": (lambda: Notes, ["notes_read", "notes_write"]),
    "a list": (lambda: [add, double, Shout(), Notes], ["add", "double", "notes_read", "notes_write", "shout"]),
    "a set": (lambda: {add, double}, ["add", "double"]),
    "a generator": (lambda: (item for item in [add, double]), ["add", "double"]),
    "a registry": (registry, ["add"]),
    "the values of a registry": (lambda: registry().values(), ["add"]),
    "names of tools": (lambda: {"plus": add}, ["plus"]),
    "names of functions and classes": (lambda: {"twice": double, "loud": Shout}, ["loud", "twice"]),
}


def of_executor(tools):
    executor = Executor(tools, policy=Policy(files=[]), approve="all")
    names = ["add", "double", "loud", "notes_read", "notes_write", "plus", "shout", "twice"]
    return [name for name in names if executor.call_tool(name, {"x": 1}).error_type != "unknown_tool"]


def of_agent(tools):
    provider = ScriptedProvider("done")
    Agent(model=provider, tools=tools).generate("Go")
    return [definition["name"] for definition in provider.calls[0].tools]


def of_client(tools):
    async def listed():
        async with Client(Server(tools).lowlevel) as client:
            return [item.name for item in (await client.list_tools()).tools]

    return anyio.run(listed)


TAKERS = {
    "Registry": lambda tools: list(Registry(tools)),
    "Executor": of_executor,
    "Agent": of_agent,
    "Server": of_client,
    "CodeMode": lambda tools: re.findall(r"^def (\w+)", CodeMode(tools).description, re.MULTILINE),
    "score": lambda tools: [rated.tool for rated in score(tools)],
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("taker", TAKERS)
def test_everything_that_takes_tools_takes_them_in_each_form(taker, form):
    make, names = FORMS[form]
    assert sorted(TAKERS[taker](make())) == names


def test_code_calls_tools_of_two_packages_that_share_a_name():
    tools = {"tools-a:save": tool(lambda: "a", name="save"), "tools-b:save": tool(lambda: "b", name="save")}
    provider = ScriptedProvider(ToolCall(None, "run_code", {"code": "tools_a_save() + tools_b_save()"}), "done")
    session = Session()
    Agent(session, model=provider, tools=[CodeMode(tools)], approve="all").generate("Go")
    assert [message.content for message in session if message.role == "tool"] == ["=> 'ab'"]


@pytest.mark.parametrize("tools", ["add", [[add]], [registry()], 3, {"notes": Notes}])
def test_other_values_are_refused_with_the_reason(tools):
    with pytest.raises(DefinitionError, match=r"is not a tool|has 2 tools"):
        Registry(tools)


def test_two_tools_of_one_name_are_refused():
    with pytest.raises(ValueError, match="`add`"):
        Registry([add, tool(double, name="add")])
