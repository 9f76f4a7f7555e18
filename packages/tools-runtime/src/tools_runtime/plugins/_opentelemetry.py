"""`OpenTelemetry`: a span for each call."""

from __future__ import annotations

from collections import ChainMap
from typing import TYPE_CHECKING, Any

from tools_runtime.hookspecs import hookimpl

if TYPE_CHECKING:
    from collections.abc import Generator

    from opentelemetry.trace import TracerProvider

    from tools_core import Context, Result, Tool, ToolCall

_LONGEST_NAME = 256  # characters


class OpenTelemetry:
    """Create a span `execute_tool {name}` for each call, following the semantic conventions for generative AI.

    The span is current while the call runs, also in worker threads, so that it contains the spans of the tool.
    For tools and runtimes that call other processes, `context.state` has an additional item `traceparent`. A span has
    neither arguments nor results, which may hold secrets. The conventions are still in
    development and may change.

    Args:
        tracer_provider: By default the global one.

    Raises: ImportError without opentelemetry-api, the extra `otel`.
    """

    blocks = False

    def __init__(self, *, tracer_provider: TracerProvider | None = None) -> None:
        try:
            from opentelemetry import context, trace  # optional
            from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
        except ImportError as error:
            from tools_core.command import install_command

            fix = install_command("tools-runtime", "otel")
            raise ImportError(f"this plugin needs opentelemetry-api: {fix}") from error
        self._trace = trace
        self._context = context
        self._propagator = TraceContextTextMapPropagator()
        self._tracer = trace.get_tracer("tools_runtime", tracer_provider=tracer_provider)

    @hookimpl
    def around_tool_call(self, call: ToolCall, tool: Tool | None, context: Context) -> Generator[Any, Any, None]:
        """Run the call inside a span."""
        name = _encodable(call.name)
        span = self._tracer.start_span(f"execute_tool {name}", attributes=_attributes(call, tool, name))
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
        if not result.ok:
            span.set_attribute("error.type", _encodable(result.error_type or "execution_error"))
            span.set_status(self._trace.StatusCode.ERROR)
        span.end()


def _attributes(call: ToolCall, tool: Tool | None, name: str) -> dict[str, str]:
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "gen_ai.tool.type": "function"}
    if call.id is not None:
        attributes["gen_ai.tool.call.id"] = _encodable(str(call.id))
    if tool is not None and tool.description:
        attributes["gen_ai.tool.description"] = tool.description
    return attributes


def _encodable(text: str) -> str:
    """Cut a text, and escape lone surrogates: an exporter cannot encode them, and would lose other spans as well."""
    return text[:_LONGEST_NAME].encode(errors="backslashreplace").decode()
