"""Options of an agent are attributes."""

import inspect
import pydoc
from typing import TypedDict

import pytest

from tools_agent import Agent, Guardrail, ScriptedProvider, User
from tools_core import ToolCall, tool


def test_options_are_attributes_that_take_effect_at_the_next_run():
    @tool
    def look() -> str:
        """Look."""
        return "received"

    provider = ScriptedProvider(default=lambda _: ToolCall(None, "look"))
    agent = Agent(model=provider, tools=[look], max_steps=3, loop_detection=False)
    assert agent.max_steps == 3
    assert agent.generate("Go").steps == 3
    agent.max_steps = 2
    assert agent.generate("Go").steps == 2
    agent.model = ScriptedProvider("Done")
    agent.tools = []
    assert agent.generate("Go").content == "Done"
    assert agent.model.calls[0].tools == ()


@pytest.mark.parametrize(("name", "option"), [("uses_tools", "tools"), ("tool_runtime", "runtime"), ("modle", "model")])
def test_misspelt_and_foreign_options_are_rejected(name, option):
    for define in (
        lambda: type("Clerk", (Agent,), {name: None}),
        lambda: Agent(model=ScriptedProvider(), **{name: None}),
        lambda: setattr(Agent(model=ScriptedProvider()), name, None),
    ):
        with pytest.raises(TypeError, match=f"did you mean '{option}'"):
            define()


def test_a_subclass_may_override_generate_and_have_its_own_attributes():
    class Loud(Agent):
        model = ScriptedProvider(default="hi")
        volume = 11

        def generate(self, *arguments, **keywords):
            return super().generate(*arguments, **keywords).content.upper()

    assert Loud.generate("Hello", context={"user": 1}) == Loud().generate("Hello") == "HI"
    assert Loud.name == "loud"


def test_a_first_argument_of_another_type_is_rejected():
    with pytest.raises(TypeError, match="Session"):
        Agent([User(content="Hi")], model=ScriptedProvider())


@pytest.mark.skipif("sys.version_info >= (3, 12)")
def test_a_typed_dict_of_an_old_python_is_rejected_with_a_hint():
    class Point(TypedDict):
        x: int

    with pytest.raises(TypeError, match="typing_extensions"):
        Agent(model=ScriptedProvider(), output=Point)


def test_the_model_receives_the_error_of_invalid_output():
    provider = ScriptedProvider("many", "7")
    response = Agent(model=provider, output=int).generate("How many?", files=None)
    assert (response.outcome, response.output) == ("completed", 7)
    assert "valid integer" in provider.calls[1].messages[-1].content or "JSON" in provider.calls[1].messages[-1].content


def test_a_run_ends_at_its_number_of_tokens():
    from tools_agent import Assistant, Usage

    @tool
    def look() -> str:
        """Look."""
        return "received"

    def reply(_):
        return Assistant(tool_calls=(ToolCall(None, "look"),), usage=Usage(input_tokens=30, output_tokens=10))

    agent = Agent(model=ScriptedProvider(default=reply), tools=[look], max_tokens=100)
    response = agent.generate("Go")
    assert (response.interrupt_reason, response.steps) == ("max_tokens", 3)


def test_a_guardrail_that_removes_all_messages_is_an_error():
    class Empty(Guardrail):
        def process_input(self, messages, context):
            return []

    with pytest.raises(ValueError, match="nothing to reply to"):
        Agent(model=ScriptedProvider("x"), guardrails=[Empty]).generate("Hi")


@pytest.mark.parametrize("name", ["generate", "stream", "agenerate", "astream"])
def test_help_of_the_class_and_of_an_agent_shows_how_to_run_it(name):
    class Clerk(Agent):
        model = ScriptedProvider()

    for owner in (Clerk, Clerk()):
        method = getattr(owner, name)
        assert list(inspect.signature(method).parameters) == ["prompt", "options"]
        assert method.__doc__ == Agent.__dict__[name].__doc__
        page = pydoc.plain(pydoc.render_doc(method))  # from 3.13 on with a line for each parameter
        assert f"{name}(prompt" in "".join(page.split())


def test_help_shows_the_signature_of_a_method_that_a_subclass_overrides():
    class Clerk(Agent):
        model = ScriptedProvider(default="Hello")

        def generate(self, prompt, tone="kind"):
            """Reply in a tone."""
            return super().generate(f"{prompt} ({tone})")

    assert str(inspect.signature(Clerk.generate)) == "(prompt, tone='kind')"
    assert Clerk.generate.__doc__ == "Reply in a tone."
    assert Clerk.generate("Hi", tone="short").content == "Hello"
