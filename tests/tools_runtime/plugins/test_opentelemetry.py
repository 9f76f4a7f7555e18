from __future__ import annotations

import asyncio
import subprocess
import sys
import threading

import pytest

from tools_core import Context, ToolCall, ToolError, tool
from tools_runtime import Executor
from tools_runtime.plugins import OpenTelemetry

pytest.importorskip("opentelemetry.sdk", reason="opentelemetry-sdk is not installed")

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter


class Telemetry:
    """The real SDK, in memory."""

    def __init__(self):
        self.exporter, self.tracers = InMemorySpanExporter(), TracerProvider()
        self.tracers.add_span_processor(SimpleSpanProcessor(self.exporter))

    def plugin(self):
        return OpenTelemetry(tracer_provider=self.tracers)

    def spans(self):
        return self.exporter.get_finished_spans()


@pytest.fixture
def telemetry():
    provider = Telemetry()
    yield provider
    provider.tracers.shutdown()


@tool
def weather(city: str, api_key: str = "") -> str:
    """Return the weather."""
    if city == "Atlantis":
        raise ToolError(f"no city {city} for {api_key}", "not_found")
    return f"sunny in {city}"


def test_a_span_follows_the_conventions_without_content(run, calls, telemetry):
    run([weather], calls("weather", {"city": "Rome"}), [telemetry.plugin()])
    [span] = telemetry.spans()
    assert span.name == "execute_tool weather" and span.kind is trace.SpanKind.INTERNAL
    assert dict(span.attributes) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "weather",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": "call-0",
        "gen_ai.tool.description": "Return the weather.",
    }
    assert "Rome" not in span.to_json()


def test_an_error_has_its_type_and_not_its_message(run, calls, telemetry):
    run([weather], calls("weather", {"city": "Atlantis"}), [telemetry.plugin()])
    [span] = telemetry.spans()
    assert span.attributes["error.type"] == "not_found"
    assert (span.status.status_code, span.status.description) == (trace.StatusCode.ERROR, None)
    assert "Atlantis" not in span.to_json()


@pytest.mark.parametrize("is_async", [False, True])
def test_the_span_is_the_current_one_in_the_tool_and_not_afterwards(run, calls, telemetry, is_async):
    def look() -> None:
        with telemetry.tracers.get_tracer("t").start_as_current_span("inside"):
            pass

    async def alook() -> None:
        await asyncio.sleep(0)
        look()

    with telemetry.tracers.get_tracer("t").start_as_current_span("outer") as outer:
        before = otel_context.get_current()
        run([tool(alook if is_async else look, name="look")], calls("look", {}, {}), [telemetry.plugin()])
        assert otel_context.get_current() == before
    of = {name: [span for span in telemetry.spans() if span.name == name] for name in ("inside", "execute_tool look")}
    ids = sorted(span.context.span_id for span in of["execute_tool look"])
    assert len(ids) == 2 and sorted(span.parent.span_id for span in of["inside"]) == ids
    assert {span.parent.span_id for span in of["execute_tool look"]} == {outer.get_span_context().span_id}


@pytest.mark.parametrize("runtime", ["thread", "async"])
def test_an_abandoned_call_ends_its_span_and_attaches_no_context(calls, telemetry, caplog, runtime):
    stuck = threading.Event()

    @tool(timeout=0.1)
    def hang() -> None:
        stuck.wait(20)

    try:
        executor = Executor([hang, weather], runtime=runtime, hooks=[telemetry.plugin()], plugins=False)
        executor.execute([*calls("hang", {}), *calls("weather", {"city": "Rome"})])
    finally:
        stuck.set()
    assert {(span.attributes.get("error.type"), span.parent) for span in telemetry.spans()} == {
        ("timeout_error", None),
        (None, None),
    }
    assert "detach" not in caplog.text


def test_the_state_of_a_call_has_the_trace_for_other_processes(run, calls, telemetry):
    @tool
    def look(context: Context) -> str:
        context.state["seen"] = True  # the caller's own mapping can still be written
        return context.state.get("traceparent", "")

    state = {"user": "ann"}
    [result] = run([look], calls("look", {}), [telemetry.plugin()], Context(state=state))
    [span] = telemetry.spans()
    assert result.output[:-2] == f"00-{span.context.trace_id:032x}-{span.context.span_id:016x}-"
    assert state == {"user": "ann", "seen": True}


def test_long_and_invalid_names_are_cut_and_escaped(telemetry):
    executor = Executor([weather], hooks=[telemetry.plugin()], plugins=False)
    for number in range(3):
        executor.call(ToolCall("\ud800", f"made_up\ud800_{number}" + "x" * 1000))
    assert all(len(span.name) < 300 and span.to_json().encode() for span in telemetry.spans())


def test_calls_run_without_an_sdk(run, calls):
    [result] = run([weather], calls("weather", {"city": "Rome"}), [OpenTelemetry()])
    assert result.output == "sunny in Rome"


def test_the_plugin_explains_a_missing_opentelemetry():
    script = """
import sys
from tools_runtime.plugins import OpenTelemetry
assert not any(name.startswith("opentelemetry") for name in sys.modules)
sys.modules["opentelemetry"] = None
try:
    OpenTelemetry()
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert "install 'opentelemetry-api" in done.stdout
