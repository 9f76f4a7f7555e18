"""`OpenTelemetry`: spans for the runs of agents, their requests to models, and calls."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from tools_runtime.hookspecs import hookimpl

if TYPE_CHECKING:
    from collections.abc import Generator, MutableMapping

    from opentelemetry.trace import TracerProvider

    from tools_core import Context, Result, Tool, ToolCall

_LONGEST_NAME = 256  # characters


class OpenTelemetry:
    """Create spans that follow the semantic conventions for generative AI.

    A run of an agent is a span `invoke_agent {name}`. It contains a span `chat {model}` for each request, with its
    tokens and, if it is known, its price, and a span `execute_tool {name}` for each call.

    The span of a call is current while the call runs, also in worker threads, so that it contains the tool's spans.
    For tools and runtimes that call other processes, `context.state` has an additional item `traceparent`. A span has
    neither messages, arguments nor results, which may hold secrets. The conventions are still in development and may
    change.

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
        self._spans: dict[str, Any] = {}  # of runs
        self._requests: dict[str, Any] = {}  # of the current requests of runs
        self._tracer = trace.get_tracer("tools_runtime", tracer_provider=tracer_provider)

    @hookimpl
    def around_tool_call(self, call: ToolCall, tool: Tool | None, context: Context) -> Generator[Any, Any, None]:
        """Run the call inside a span."""
        name = _encodable(call.name)
        span = self._start(f"execute_tool {name}", _attributes(call, tool, name), context)
        outside, inside = self._context.get_current(), self._trace.set_span_in_context(span)
        carrier: dict[str, str] = {}
        self._propagator.inject(carrier, inside)
        if carrier and isinstance(context.state, Mapping):  # tools write into the first mapping, which is the caller's
            context.state = ChainMap(cast("MutableMapping[str, Any]", context.state), carrier)
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

    @hookimpl
    def before_run(self, agent: str, context: Context) -> None:
        """Start the span of a run."""
        name = _encodable(agent)
        attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}
        attributes["gen_ai.conversation.id"] = context.run_id
        self._spans[_run_of(context)] = self._tracer.start_span(f"invoke_agent {name}".strip(), attributes=attributes)

    @hookimpl
    def after_run(self, outcome: str, usage: Any, cost: float | None, context: Context) -> None:
        """End the span of a run."""
        span = self._spans.pop(_run_of(context), None)
        if span is not None:
            span.set_attributes({"ask_tools.outcome": outcome, **_usage(usage, cost)})
            if outcome == "failed":
                span.set_status(self._trace.StatusCode.ERROR)
            span.end()

    @hookimpl
    def before_model_request(self, request: Any, context: Context) -> None:
        """Start the span of a request."""
        model = _encodable(request.model)
        attributes = {"gen_ai.operation.name": "chat", "gen_ai.request.model": model}
        self._requests[_run_of(context)] = self._start(f"chat {model}".strip(), attributes, context)

    @hookimpl
    def after_model_request(
        self, reply: Any, error: BaseException | None, cost: float | None, context: Context
    ) -> None:
        """End the span of a request."""
        span = self._requests.pop(_run_of(context), None)
        if span is None:
            return
        if reply is not None:
            known = {"gen_ai.response.model": reply.model, "gen_ai.provider.name": reply.provider}
            span.set_attributes({name: _encodable(value) for name, value in known.items() if value})
            span.set_attributes({"gen_ai.response.finish_reasons": [reply.stop_reason or "stop"]})
            span.set_attributes(_usage(reply.usage, cost))
        if error is not None:
            span.set_attribute("error.type", type(error).__name__)
            span.set_status(self._trace.StatusCode.ERROR)
        span.end()

    def _start(self, name: str, attributes: dict[str, Any], context: Context) -> Any:
        """Start a span inside that of the run, if the run itself makes the call or the request."""
        run = self._spans.get(_run_of(context))
        inside = None if run is None else self._trace.set_span_in_context(run)
        return self._tracer.start_span(name, inside, attributes=attributes)


def _run_of(context: Context) -> str:
    return str(getattr(context.caller, "conversation", context.run_id))


def _usage(usage: Any, cost: float | None) -> dict[str, Any]:
    if usage is None:
        return {}
    tokens = {"gen_ai.usage.input_tokens": usage.input_tokens, "gen_ai.usage.output_tokens": usage.output_tokens}
    return tokens if cost is None else {**tokens, "ask_tools.cost_usd": cost}


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
