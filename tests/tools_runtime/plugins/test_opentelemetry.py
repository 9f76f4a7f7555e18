from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading

import pytest

from tools_core import Context, Result, ToolCall, ToolError, tool
from tools_runtime import Executor
from tools_runtime.plugins import OpenTelemetry

pytest.importorskip("opentelemetry.sdk", reason="opentelemetry-sdk is not installed")

from opentelemetry import baggage, trace
from opentelemetry import context as otel_context
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON, Sampler
from opentelemetry.trace import StatusCode


class Telemetry:
    """The real SDK, kept in memory."""

    def __init__(self, sampler=ALWAYS_ON):
        self.exporter, self.reader = InMemorySpanExporter(), InMemoryMetricReader()
        self.tracers, self.meters = TracerProvider(sampler=sampler), MeterProvider([self.reader])
        self.tracers.add_span_processor(SimpleSpanProcessor(self.exporter))

    def plugin(self, **options):
        return OpenTelemetry(tracer_provider=self.tracers, meter_provider=self.meters, **options)

    def spans(self):
        return self.exporter.get_finished_spans()

    def durations(self):
        [[metric]] = [scope.metrics for scope in self.reader.get_metrics_data().resource_metrics[0].scope_metrics]
        assert (metric.name, metric.unit) == ("gen_ai.execute_tool.duration", "s")
        return {frozenset(point.attributes.items()): point.count for point in metric.data.data_points}


@pytest.fixture
def telemetry():
    made = Telemetry()
    yield made
    made.tracers.shutdown()
    made.meters.shutdown()


@tool
def weather(city: str, api_key: str = "") -> str:
    """Tell the weather."""
    if city == "Atlantis":
        raise ToolError(f"no city {city} for {api_key}", "not_found")
    return f"sunny in {city}"


def test_a_call_is_a_span_with_the_names_of_the_conventions_and_no_content(run, calls, telemetry):
    run([weather], calls("weather", {"city": "Rome"}), [telemetry.plugin()])
    [span] = telemetry.spans()
    assert span.name == "execute_tool weather" and span.kind is trace.SpanKind.INTERNAL
    assert dict(span.attributes) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "weather",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": "call-0",
        "gen_ai.tool.description": "Tell the weather.",
    }
    assert span.status.status_code is StatusCode.UNSET
    assert "Rome" not in span.to_json()
    assert list(telemetry.durations().values()) == [1]


def test_an_error_has_its_type_and_without_content_not_its_message(run, calls, telemetry):
    run([weather], calls("weather", {"city": "Atlantis"}), [telemetry.plugin()])
    [span] = telemetry.spans()
    assert span.attributes["error.type"] == "not_found"
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, None)
    assert "Atlantis" not in span.to_json()
    [attributes] = telemetry.durations()
    assert ("error.type", "not_found") in attributes


def test_content_is_recorded_where_that_is_asked_for_but_no_secrets(run, calls, telemetry):
    given = [{"city": "Rome"}, {"city": "Atlantis", "api_key": "abc123xyz"}, {"city": "Oslo", "api_key": ["abc123xyz"]}]
    given.append({"city": "with abc123xyz", "api_key": "abc123xyz"})
    run([weather], calls("weather", *given), [telemetry.plugin(content=True, redact=["Oslo"])])
    spans = sorted(telemetry.spans(), key=lambda span: span.attributes["gen_ai.tool.call.id"])
    assert json.loads(spans[0].attributes["gen_ai.tool.call.arguments"]) == {"city": "Rome"}
    assert spans[0].attributes["gen_ai.tool.call.result"] == "sunny in Rome"
    assert json.loads(spans[1].attributes["gen_ai.tool.call.arguments"])["api_key"] == "[redacted]"
    assert spans[1].status.description == "no city Atlantis for [redacted]"
    for span in spans:
        assert "abc123xyz" not in span.to_json() and "Oslo" not in span.to_json()


def test_a_name_that_a_model_made_up_makes_no_series_of_its_own(telemetry):
    executor = Executor([weather], hooks=[telemetry.plugin()], plugins=False)
    for number in range(5):
        executor.call(ToolCall(None, f"made_up_{number}" + "x" * 1000))
    assert list(telemetry.durations().values()) == [5]
    assert all(len(span.name) < 300 for span in telemetry.spans())


def test_no_text_keeps_an_exporter_from_encoding_a_span(calls, telemetry):
    @tool
    def repeat(text: str) -> Result:
        """Repeat."""
        return Result.error(text, type=text) if text.startswith("no") else Result.ok(text)

    given = [ToolCall("\ud800", "made\ud800up", {}), ToolCall("1", "repeat", '{"text": "\\ud83d"}')]
    given += [ToolCall(None, "repeat", {"text": text}) for text in ("a\ud800", "no\ud800")]
    Executor([repeat], hooks=[telemetry.plugin(content=True)], plugins=False).execute(given)
    spans = telemetry.spans()
    assert len(spans) == 4
    for span in spans:
        texts = [span.name, span.status.description or "", *span.attributes.values()]
        assert all(text.encode().decode() == text for text in texts)


def test_what_a_sampler_sees_is_there_when_the_span_is_made(calls):
    seen = []

    class Looking(Sampler):
        def should_sample(self, parent_context, trace_id, name, kind=None, attributes=None, links=None, *rest, **more):
            seen.append((name, attributes["gen_ai.operation.name"], attributes["gen_ai.tool.name"]))
            return ALWAYS_OFF.should_sample(parent_context, trace_id, name)

        def get_description(self):
            return "looking"

    telemetry = Telemetry(Looking())
    Executor([weather], hooks=[telemetry.plugin(content=True)]).execute(calls("weather", {"city": "Rome"}))
    assert seen == [("execute_tool weather", "execute_tool", "weather")]
    assert telemetry.spans() == () and list(telemetry.durations().values()) == [1]
    telemetry.meters.shutdown()


@pytest.mark.parametrize("kind", ["def", "async def", "with a limit"])
def test_the_span_is_the_current_one_in_the_tool_and_no_longer_after(run, calls, telemetry, kind):
    seen = []

    def look() -> None:
        seen.append(trace.get_current_span().get_span_context().span_id)
        with telemetry.tracers.get_tracer("t").start_as_current_span("inside"):
            pass

    async def alook() -> None:
        await asyncio.sleep(0)
        look()

    made = (
        tool(alook, name="look") if kind == "async def" else tool(look, **({"timeout": 9} if "limit" in kind else {}))
    )
    before = otel_context.get_current()
    run([made], calls("look", {}, {}), [telemetry.plugin()])
    assert otel_context.get_current() == before
    inside = [span for span in telemetry.spans() if span.name == "inside"]
    outside = [span.context.span_id for span in telemetry.spans() if span.name != "inside"]
    assert sorted(seen) == sorted(outside) == sorted(span.parent.span_id for span in inside)


def test_calls_are_children_of_what_their_caller_is_in(run, calls, telemetry):
    with telemetry.tracers.get_tracer("t").start_as_current_span("outer") as outer:
        run([weather], calls("weather", {"city": "Rome"}, {"city": "Oslo"}), [telemetry.plugin()])
        assert trace.get_current_span() is outer
    parents = {span.parent.span_id for span in telemetry.spans() if span.name != "outer"}
    assert parents == {outer.get_span_context().span_id}


def test_a_call_that_is_left_behind_ends_its_span_and_leaves_no_context_attached(calls, telemetry, caplog):
    stuck, after = threading.Event(), []

    @tool(timeout=0.1)
    def hang() -> None:
        stuck.wait(20)

    try:
        for runtime in ("thread", "async"):
            executor = Executor([hang, weather], runtime=runtime, hooks=[telemetry.plugin()], plugins=False)
            wanted = [*calls("hang", {}), *calls("weather", {"city": "Rome"})]
            after.append([result.error_type for _, result in executor.execute(wanted)])
    finally:
        stuck.set()
    assert after == [["timeout_error", None]] * 2
    spans = {span.context.span_id: span for span in telemetry.spans()}
    assert sorted(span.attributes.get("error.type", "") for span in spans.values()) == ["", ""] + ["timeout_error"] * 2
    assert all(span.parent is None for span in spans.values())
    assert "detach" not in caplog.text


def test_a_call_whose_caller_is_cancelled_ends_its_span(telemetry, caplog, until):
    begun = threading.Event()

    @tool
    async def wait() -> None:
        begun.set()
        await asyncio.sleep(60)

    executor = Executor([wait], runtime="async", hooks=[telemetry.plugin()])

    async def main():
        task = asyncio.create_task(executor.acall(ToolCall(None, "wait")))
        await until(begun.is_set)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    [span] = telemetry.spans()
    assert span.attributes["error.type"] == "cancelled" and "detach" not in caplog.text


def test_the_way_to_other_processes_is_in_the_state_and_the_callers_mapping_stays_its_own(run, calls, telemetry):
    @tool
    def look(context: Context) -> str:
        context.state["seen"] = True  # the caller's own mapping can still be written
        return context.state.get("traceparent", "")

    state = {"user": "ann"}
    with_baggage = otel_context.attach(baggage.set_baggage("secret", "x"))
    try:
        [result] = run([look], calls("look", {}), [telemetry.plugin()], Context(state=state))
    finally:
        otel_context.detach(with_baggage)
    [span] = telemetry.spans()
    assert result.output[:-2] == f"00-{span.context.trace_id:032x}-{span.context.span_id:016x}-"
    assert state == {"user": "ann", "seen": True}


def test_a_thousand_calls_in_one_event_loop_have_their_own_spans_without_threads(calls, threads, telemetry):
    @tool
    async def look() -> int:
        await asyncio.sleep(0.01)
        threads.look()
        return trace.get_current_span().get_span_context().span_id

    executor = Executor([look], runtime="async", hooks=[telemetry.plugin()])
    pairs = asyncio.run(executor.aexecute(calls("look", *[{}] * 1000)))
    seen = [result.output for _, result in pairs]
    assert len(set(seen)) == 1000 and set(seen) == {span.context.span_id for span in telemetry.spans()}
    assert threads.most <= 2


def test_without_an_sdk_nothing_is_recorded_and_calls_are_made(run, calls):
    [result] = run([weather], calls("weather", {"city": "Rome"}), [OpenTelemetry()])
    assert result.output == "sunny in Rome"


def test_opentelemetry_is_imported_when_the_plugin_is_made_and_its_absence_is_explained():
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
    assert "pip install 'tools-runtime[otel]'" in done.stdout
