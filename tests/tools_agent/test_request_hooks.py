"""Hooks around the runs of an agent and its requests to the model."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace

import pytest

from tools_agent import Agent, Assistant, ProviderError, ScriptedProvider, Usage, User
from tools_core import ToolCall, tool
from tools_runtime import hookimpl


@tool(read_only=True)
def look(at: str = "") -> str:
    """Look."""
    return "seen"


class Log:
    """Records what it sees."""

    def __init__(self):
        self.seen = []

    @hookimpl
    def before_run(self, agent):
        self.seen.append(f"run {agent}")

    @hookimpl
    def after_run(self, outcome, usage):
        self.seen.append(f"{outcome}, {usage.total_tokens} tokens")

    @hookimpl
    def before_model_request(self, request):
        self.seen.append(f"request {request.messages[-1].content}")

    @hookimpl
    def after_model_request(self, reply, error):
        self.seen.append(f"reply {reply.content}" if error is None else f"error {error}")


def agent_class(name, /, model, *tools, **options):
    return type(name, (Agent,), {"__doc__": "Works.", "model": model, "tools": tools, **options})


@pytest.mark.parametrize("is_async", [False, True])
def test_hooks_see_runs_and_requests_of_an_agent_and_its_sub_agents(is_async):
    clerk = agent_class("Clerk", ScriptedProvider("done"))
    model = ScriptedProvider(
        ToolCall("1", "clerk", {"prompt": "go"}), Assistant(content="ok", usage=Usage(input_tokens=3))
    )
    log = Log()
    agent = agent_class("Boss", model, clerk.as_tool(), hooks=[log])()
    asyncio.run(agent.agenerate("hi")) if is_async else agent.generate("hi")
    runs = ["run boss", "request hi", "reply ", "run clerk", "request go", "reply done", "completed, 0 tokens"]
    assert [entry.lower() for entry in log.seen] == [*runs, "request done", "reply ok", "completed, 3 tokens"]


def test_a_hook_changes_the_request_and_the_reply_but_not_the_session():
    class Shield:
        @hookimpl
        async def before_model_request(self, request):
            messages = [message.replace(content=message.content.replace("Ann", "N1")) for message in request.messages]
            return replace(request, messages=messages, tools=())

        @hookimpl
        def after_model_request(self, reply):
            return reply.replace(content=reply.content.replace("N1", "Ann"))

    model = ScriptedProvider("Hello N1")
    agent = Agent(model=model, tools=[look], hooks=[Shield()])
    assert agent.generate("I am Ann").content == "Hello Ann"
    assert (model.calls[0].messages[0].content, list(model.calls[0].tools)) == ("I am N1", [])
    assert [message.content for message in agent.session] == ["I am Ann", "Hello Ann"]


def test_the_first_hook_is_the_outermost():
    order = []

    class Named:
        def __init__(self, name):
            self.name = name

        @hookimpl
        def before_model_request(self):
            order.append(f"before {self.name}")

        @hookimpl
        def after_model_request(self):
            order.append(f"after {self.name}")

    Agent(model=ScriptedProvider("ok"), hooks=[Named("a"), Named("b")]).generate("hi")
    assert order == ["before a", "before b", "after b", "after a"]


def test_hooks_see_failures_of_requests_and_of_runs():
    log = Log()
    agent = Agent(model=ScriptedProvider(ProviderError("busy")), hooks=[log])
    with pytest.raises(ProviderError):
        agent.generate("hi")
    assert log.seen[1:] == ["request hi", "error busy", "failed, 0 tokens"]


def test_a_failing_hook_stops_a_request_but_never_loses_a_reply(caplog):
    class Broken:
        def __init__(self, **steps):
            self.steps = steps

        @hookimpl
        def before_model_request(self):
            if "before" in self.steps:
                raise PermissionError("no requests today")

        @hookimpl
        def after_model_request(self):
            return self.steps.get("after")

    model = ScriptedProvider(default="ok")
    with pytest.raises(PermissionError):
        Agent(model=model, hooks=[Broken(before=1)]).generate("hi")
    assert model.calls == []
    with caplog.at_level(logging.ERROR, "tools_agent"):
        assert Agent(model=model, hooks=[Broken(after=User(content="x"))]).generate("hi").content == "ok"
    assert "after_model_request of Broken" in caplog.text


def test_spans_contain_the_tokens_and_the_price_of_requests_in_their_runs():
    pytest.importorskip("opentelemetry.sdk", reason="opentelemetry-sdk is not installed")
    pytest.importorskip("genai_prices", reason="genai-prices is not installed")
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    from tools_runtime.plugins import OpenTelemetry

    exporter, tracers = InMemorySpanExporter(), TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(exporter))
    priced = {"provider": "openai", "model": "gpt-5", "stop_reason": "stop"}
    usage = Usage(input_tokens=1_000_000, output_tokens=10)
    clerk = agent_class("Clerk", ScriptedProvider(Assistant(content="done", usage=usage, **priced)))
    model = ScriptedProvider([ToolCall("1", "clerk", {"prompt": "go"})], ProviderError("busy"))
    agent = agent_class("Boss", model, clerk.as_tool(), hooks=[OpenTelemetry(tracer_provider=tracers)])()
    with pytest.raises(ProviderError):
        agent.generate("hi")
    spans = exporter.get_finished_spans()
    parents = {span.context.span_id: span.name.lower() for span in spans}
    tree = [(span.name.lower(), parents[span.parent.span_id] if span.parent else "") for span in spans]
    assert sorted(tree) == [
        ("chat", "invoke_agent boss"), ("chat", "invoke_agent boss"), ("chat", "invoke_agent clerk"),
        ("execute_tool clerk", "invoke_agent boss"), ("invoke_agent boss", ""),
        ("invoke_agent clerk", "execute_tool clerk"),
    ]  # fmt: skip
    [chat] = [span for span in spans if span.attributes.get("gen_ai.usage.input_tokens") and span.name == "chat"]
    assert chat.attributes["ask_tools.cost_usd"] > 1
    failed = {span.name.lower(): span.attributes for span in spans if not span.status.is_ok}
    assert failed["chat"]["error.type"] == "ProviderError"
    assert failed["invoke_agent boss"]["ask_tools.outcome"] == "failed"
