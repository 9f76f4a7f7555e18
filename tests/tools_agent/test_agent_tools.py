"""Tools of an agent: registration, context, runtimes and results."""

import threading

import pytest

from tools_agent import Agent, ScriptedProvider
from tools_core import Context, Result, Tool, ToolCall, ToolError, Toolset, tool
from tools_runtime import AutoRuntime, InlineRuntime, Runtime, ThreadRuntime, ToolBugError, set_default_runtime


class WeatherTool(Tool):
    """Gets the current weather for a city."""

    def execute(self, city: str, units: str = "celsius") -> Result:
        return Result.text(f"The weather in {city} is 21 {units}.")


@tool
def where() -> str:
    """Tell in which thread this runs."""
    return threading.current_thread().name


def contents(agent):
    return [message.content for message in agent.session if message.role == "tool"]


def scripted(*calls):
    return ScriptedProvider([ToolCall(None, name, arguments) for name, arguments in calls], "Done")


def test_tools_are_classes_instances_functions_and_toolsets():
    class Sums(Toolset):
        def add(self, a: int, b: int) -> int:
            """Add."""
            return a + b

    def double(n: int) -> int:
        """Double."""
        return 2 * n

    provider = scripted(("weather", {"city": "Oslo"}), ("sums_add", {"a": 1, "b": 2}), ("double", {"n": 2}))
    agent = Agent(model=provider, tools=[WeatherTool, Sums(), double])
    agent.generate("Go")
    assert contents(agent) == ["The weather in Oslo is 21 celsius.", "3", "4"]
    assert [definition["name"] for definition in provider.calls[0].tools] == ["weather", "sums_add", "double"]


def test_tools_may_be_resolved_by_the_context_of_a_run():
    class Shop(Agent):
        def tools(context):
            return [where, WeatherTool] if context.get("premium") else [where]

    provider = ScriptedProvider(default="ok")
    agent = Shop(model=provider)
    agent.generate("a")
    agent.generate("b", context={"premium": True})
    assert [len(request.tools) for request in provider.calls] == [1, 2]


def test_a_tool_receives_the_context_and_sets_its_error_type():
    @tool
    def orders(context: Context) -> str:
        """List the user's orders."""
        if "user" not in context.state:
            raise ToolError("No user ID provided", type="not_found")
        return f"orders of {context.state['user']} in {context.run_id}"

    agent = Agent(model=scripted(("orders", {})), tools=[orders])
    agent.generate("Go")
    result = next(message for message in agent.session if message.role == "tool")
    assert (result.content, result.error, result.error_type) == ("No user ID provided",) * 2 + ("not_found",)
    agent = Agent(model=scripted(("orders", {})), tools=[orders])
    agent.generate("Go", context={"user": 7})
    assert contents(agent) == [f"orders of 7 in {agent.session.key}"]


def test_a_slow_tool_ends_with_a_timeout_error(arun):
    @tool(timeout=0.05)
    def hang(context: Context) -> str:
        """Hang."""
        is_cancelled = threading.Event()
        context.on_cancel(is_cancelled.set)
        is_cancelled.wait(20)
        return "late"

    agent = Agent(model=scripted(("hang", {})), tools=[hang], runtime="thread")
    agent.generate("Go")
    assert next(message for message in agent.session if message.role == "tool").error_type == "timeout_error"


@pytest.mark.parametrize(
    ("runtime", "overlaps"),
    [
        (None, False), ("inline", False), (InlineRuntime, False), (ThreadRuntime, True), (ThreadRuntime(), True),
        (lambda context: "thread" if context.get("parallel") else "inline", True), (lambda: "inline", False),
    ],
)  # fmt: skip
def test_the_runtime_is_a_name_a_class_an_instance_or_a_function(runtime, overlaps):
    both = threading.Barrier(2)

    @tool
    def meet() -> str:
        """Wait until two calls run at the same time."""
        try:
            both.wait(10 if overlaps else 0.01)
        except threading.BrokenBarrierError:
            return "alone"
        return "together"

    model, context = ScriptedProvider([ToolCall(id, "meet") for id in "12"], "Done"), {"parallel": True}
    with Agent(context=context, model=model, tools=[meet], runtime=runtime) as agent:
        agent.generate("Go")
    assert contents(agent) == ["together" if overlaps else "alone"] * 2


def test_a_subclass_inherits_the_runtime():
    class Parent(Agent):
        tools = (where,)
        runtime = "thread"

    class Child(Parent):
        pass

    set_default_runtime("thread")
    try:
        agents = [kind(model=scripted(("where", {})), tools=[where]) for kind in (Parent, Child, Agent)]
        for agent in agents:
            agent.generate("Go")
    finally:
        set_default_runtime(AutoRuntime)
    assert all(contents(agent) != [threading.current_thread().name] for agent in agents)


def test_a_custom_runtime_dispatches_and_wraps_calls():
    class Remote(Runtime):
        def dispatch_tool_call(self, call, tools, context):
            return Result.text(f"{call.name} elsewhere")

        def around_tool_call(self, call, context):
            result = yield
            return Result.text(f"<{result.output}>")

    agent = Agent(model=scripted(("where", {})), tools=[where], runtime=Remote)
    agent.generate("Go")
    assert contents(agent) == ["<where elsewhere>"]


@pytest.mark.parametrize("is_strict", [False, True])
def test_bugs_of_a_tool_are_results_or_propagate(is_strict):
    @tool
    def buggy() -> str:
        """Fail."""
        return undefined_name  # noqa: F821

    options = {"error_policy": "strict_bugs"} if is_strict else {}
    agent = Agent(model=scripted(("buggy", {})), tools=[buggy], **options)
    if is_strict:
        with pytest.raises(ToolBugError, match="undefined_name"):
            agent.generate("Go")
    assert agent.generate(None if is_strict else "Go").content == "Done"
    assert next(message for message in agent.session if message.role == "tool").error_type == "execution_error"
