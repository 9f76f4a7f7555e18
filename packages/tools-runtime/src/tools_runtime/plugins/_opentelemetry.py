"""Calls as spans and metrics of OpenTelemetry."""

from __future__ import annotations

import json
from collections import ChainMap
from contextlib import contextmanager
from contextvars import ContextVar
from time import perf_counter
from typing import TYPE_CHECKING, Any

from tools_runtime.hookspecs import hookimpl
from tools_runtime.plugins._facts import arguments_of
from tools_runtime.plugins._redact import Redactor

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import Span, TracerProvider

    from tools_core import Context, Result, Tool, ToolCall

_OPERATION = "gen_ai.operation.name"
_NAME = "gen_ai.tool.name"
_BUCKETS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
_LONG = 256  # characters of a name that a model made up


class OpenTelemetry:
    """Makes each call a span `execute_tool {name}`, as the semantic conventions for generative AI have it.

    The span is the current one while the call runs, so that what the tool does is inside it, in worker threads too.
    Where it is recorded, `context.state` of the call has `traceparent` besides what is in the caller's own mapping, for
    tools and runtimes that go to other processes. The metric is `gen_ai.execute_tool.duration`, in seconds. These
    conventions are still in development and may change.

    Args:
        content: Whether arguments, results and messages of errors are recorded; secrets are hidden as in `AuditLog`.
        tracer_provider: By default the global one, as for `meter_provider`.
        meter_provider: See `tracer_provider`.
        redact: Values to hide, as for `AuditLog`.

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
            from opentelemetry import context, metrics, trace  # an extra, and 50 ms
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
        name = _sendable(call.name[:_LONG])
        span = self._tracer.start_span(f"execute_tool {name}", attributes=_attributes(call, tool, name))
        failed, said = "cancelled", None  # unless a result comes
        try:
            if self._redactor is not None and span.is_recording():
                arguments = arguments_of(call)
                redactor = self._redactor.knowing(arguments)
                span.set_attribute("gen_ai.tool.call.arguments", json.dumps(redactor.copy(arguments)))
            with self._current(span, context):
                result: Result = yield
            failed = "" if result.is_ok else _sendable(result.error_type or "execution_error")
            if self._redactor is not None and span.is_recording():
                redactor = self._redactor.knowing(arguments_of(call))
                if result.is_ok:
                    span.set_attribute("gen_ai.tool.call.result", _sendable(redactor.text(str(result))))
                else:
                    said = _sendable(redactor.error(result))
        finally:  # also when the caller gives up, and this generator is closed
            # A name that no tool has was made up: in a metric, each would be a series of its own.
            measured = {_OPERATION: "execute_tool", _NAME: name if tool is not None else "_OTHER"}
            if failed:
                measured["error.type"] = failed
                span.set_attribute("error.type", failed)
                span.set_status(self._trace.StatusCode.ERROR, said)
            self._duration.record(perf_counter() - began, measured, self._trace.set_span_in_context(span))
            span.end()

    @contextmanager
    def _current(self, span: Span, context: Context) -> Generator[None]:
        """The span as the current one of whoever runs the call."""
        inside = self._trace.set_span_in_context(span)
        carrier: dict[str, str] = {}
        self._propagator.inject(carrier, inside)
        if carrier:
            # The caller's mapping comes first: it is what tools write into, and is not written into here.
            context.state = ChainMap(context.state, carrier)  # type: ignore[arg-type]  # nobody writes to the second
        attached = self._context.attach(inside)
        here = _here.set(None)
        try:
            yield
        finally:
            # A call that was left behind at its limit goes on in another thread or task: there is nothing to undo.
            try:
                _here.reset(here)
            except ValueError:
                pass
            else:
                self._context.detach(attached)


_here: ContextVar[None] = ContextVar("tools_runtime_span")


def _attributes(call: ToolCall, tool: Tool | None, name: str) -> dict[str, str]:
    """What is known when the span is made, which is all that a sampler sees."""
    made = {_OPERATION: "execute_tool", _NAME: name, "gen_ai.tool.type": "function"}
    if call.id is not None:
        made["gen_ai.tool.call.id"] = _sendable(str(call.id)[:_LONG])
    if tool is not None and tool.description:
        made["gen_ai.tool.description"] = tool.description
    return made


def _sendable(text: str) -> str:
    """Text without lone surrogates: exporters cannot encode them, and would lose the spans of others with it."""
    return text.encode(errors="backslashreplace").decode()
