"""`OpenTelemetry`: calls as spans and metrics."""

from __future__ import annotations

import json
from collections import ChainMap
from time import perf_counter
from typing import TYPE_CHECKING, Any

from tools_runtime.hookspecs import hookimpl
from tools_runtime.plugins._calls import arguments_of
from tools_runtime.plugins._redact import Redactor

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider

    from tools_core import Context, Result, Tool, ToolCall

_BUCKETS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
_LONGEST_NAME = 256  # characters


class OpenTelemetry:
    """Makes each call a span `execute_tool {name}`, following the semantic conventions for generative AI.

    The span is the current one while the call runs, in worker threads too, so that the spans of the tool are inside it.
    For tools and runtimes that call other processes, `context.state` has `traceparent` in addition to what is in the
    caller's own mapping. The metric is `gen_ai.execute_tool.duration`, in seconds. The conventions are still in
    development and may change.

    Args:
        content: Whether to record arguments, results and error messages; secrets are hidden as in `AuditLog`.
        tracer_provider: By default the global one, as for `meter_provider`.
        meter_provider: See `tracer_provider`.
        redact: Values to hide, as in `AuditLog`.

    Raises: ImportError without opentelemetry-api: `pip install tools-runtime[otel]`.
    """

    def __init__(
        self,
        *,
        content: bool = False,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
        redact: Iterable[str] = (),
    ) -> None:
        try:
            from opentelemetry import context, metrics, trace  # optional
            from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
        except ImportError as error:
            raise ImportError("this plugin needs opentelemetry-api: pip install 'tools-runtime[otel]'") from error
        self._trace = trace
        self._context = context
        self._propagator = TraceContextTextMapPropagator()
        self._tracer = trace.get_tracer("tools_runtime", tracer_provider=tracer_provider)
        self._duration = metrics.get_meter("tools_runtime", meter_provider=meter_provider).create_histogram(
            "gen_ai.execute_tool.duration",
            unit="s",
            description="Duration of tool calls",
            explicit_bucket_boundaries_advisory=_BUCKETS,
        )
        self._redactor = Redactor(redact) if content else None

    @hookimpl
    def around_tool_call(self, call: ToolCall, tool: Tool | None, context: Context) -> Generator[Any, Any, None]:
        """Make the call inside a span."""
        began = perf_counter()
        name = _encodable(call.name[:_LONGEST_NAME])
        attributes = _attributes(call, tool, name)  # all that a sampler sees
        span = self._tracer.start_span(f"execute_tool {name}", attributes=attributes)
        redactor = self._redactor.for_call() if self._redactor is not None and span.is_recording() else None
        if redactor is not None:
            shown = redactor.copy(arguments_of(call))
            span.set_attribute("gen_ai.tool.call.arguments", json.dumps(shown))
        outside, inside = self._context.get_current(), self._trace.set_span_in_context(span)
        carrier: dict[str, str] = {}
        self._propagator.inject(carrier, inside)
        if carrier:  # tools write into the first mapping, which is the caller's
            context.state = ChainMap(context.state, carrier)  # type: ignore[arg-type]
        self._context.attach(inside)
        try:
            result: Result = yield
        finally:
            # Not detached by its token: after a limit the hook may continue in another thread.
            self._context.attach(outside)
        # A name that no tool has was made up by a model: as a metric each would be another series.
        measured = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name if tool is not None else "_OTHER"}
        if not result.ok:
            measured["error.type"] = _encodable(result.error_type or "execution_error")
            span.set_attribute("error.type", measured["error.type"])
            message = None if redactor is None else _encodable(redactor.text(result.error or ""))
            span.set_status(self._trace.StatusCode.ERROR, message)
        elif redactor is not None:
            span.set_attribute("gen_ai.tool.call.result", _encodable(redactor.text(str(result))))
        self._duration.record(perf_counter() - began, measured, inside)
        span.end()


def _attributes(call: ToolCall, tool: Tool | None, name: str) -> dict[str, str]:
    made = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "gen_ai.tool.type": "function"}
    if call.id is not None:
        made["gen_ai.tool.call.id"] = _encodable(str(call.id)[:_LONGEST_NAME])
    if tool is not None and tool.description:
        made["gen_ai.tool.description"] = tool.description
    return made


def _encodable(text: str) -> str:
    """Escape lone surrogates: an exporter cannot encode them, and would lose other spans as well."""
    return text.encode(errors="backslashreplace").decode()
