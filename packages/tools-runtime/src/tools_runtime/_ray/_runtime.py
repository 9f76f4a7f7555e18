"""`RayRuntime`: calls as tasks of a Ray cluster."""

from __future__ import annotations

import pickle
import sys
from time import monotonic, time
from typing import TYPE_CHECKING, Any, NamedTuple

from tools_core import Context, Result
from tools_core.threads import in_thread, unwrap
from tools_runtime._drive import elsewhere
from tools_runtime._log import said
from tools_runtime._ray._answers import answers_of
from tools_runtime._ray._cluster import Cluster, is_offered, require_ray
from tools_runtime._ray._outcomes import Loss, head_lost, of_error, of_stop, read, timed_out
from tools_runtime._ray._tools import Sent, Tools, dumps
from tools_runtime._ray._watch import Flight, Watch
from tools_runtime._ray._worker import Known, Request
from tools_runtime._remote._errors import Unsendable
from tools_runtime._remote._json import decode, encode, inexact, is_exact, is_number
from tools_runtime._runtimes._runtime import Runtime, check_concurrency
from tools_runtime._state import pack

if TYPE_CHECKING:
    from collections.abc import Mapping
    from concurrent.futures import Future

    from tools_core import Tool, ToolCall
    from tools_core.threads import Outcome

_WAIT, _LEAST_WAIT = 60.0, 10.0  # seconds for a place; a worker may have to be started for it
_COROUTINE_GRACE = 0.25  # seconds for a coroutine to end by itself when it is cancelled at its limit


class RayRuntime(Runtime):
    """Makes each call as a task of a Ray cluster, in a worker process that is killed at the limit.

    ```python
    runtime = RayRuntime(resources={"train": {"num_gpus": 1}, "*": {"num_cpus": 0.5}})
    Executor(tools, runtime=runtime).execute(calls)
    ```

    It uses the cluster that this process is connected to, else connects at the first call: to `address`, to
    `RAY_ADDRESS`, or to a cluster that it starts on this machine, with a token that only this process knows. What it
    has started ends with `close`. Tools are pickled, so they keep no memory of their calls; arguments and results are
    JSON. On a cluster whose machines lack a tool's module, `runtime_env` can send it.

    The limit of a call begins when a worker begins it. Until then it waits for `queue_timeout` seconds at most, and
    ends with `timeout_error` where all places are taken, with `unavailable` where no node offers what it needs. A task
    is never asked to stop: at its limit, or when its caller gives up, its worker is killed, so that a tool does not see
    `context.cancelled`. Where a worker or its machine is lost, a call is made again, up to `retries` times, each with
    its whole limit, if its tool is `read_only` or `idempotent`; any other is never made twice. Without the head of the
    cluster all calls end with `unavailable`, and a connection that was made here is closed; of one that the program has
    made itself, Ray ends the process a minute later.

    Args:
        address: Of a running cluster, as `ray.init` takes it.
        max_concurrency: How many calls may be on their way at once; None leaves that to Ray.
        resources: What calls of a tool need, by the tool's name, with "*" for the rest: `num_cpus` (by default 1),
            `num_gpus`, `memory` (bytes) and `resources`.
        runtime_env: Of Ray, for the workers of these calls.
        retries: How often a call that does no harm twice is made again when its worker is lost.
        queue_timeout: Seconds that a call may wait for a place on the cluster, counted anew when another call of this
            runtime ends. By default 10 and twice its limit, and 60 without a limit.

    Raises: ImportError without Ray.
    """

    name = "ray"
    limits = "kept"
    runs_in_loop = True

    def __init__(
        self,
        address: str | None = None,
        *,
        max_concurrency: int | None = None,
        resources: Mapping[str, Mapping[str, Any]] | None = None,
        runtime_env: Mapping[str, Any] | None = None,
        retries: int = 2,
        queue_timeout: float | None = None,
    ) -> None:
        require_ray()
        check_concurrency(max_concurrency)
        if retries < 0:
            raise ValueError(f"retries is 0 or more, got {retries}")
        if queue_timeout is not None and not 0 < queue_timeout < 1e9:
            raise ValueError(f"queue_timeout is in seconds and above 0, got {queue_timeout!r}")
        self.max_concurrency = max_concurrency
        self.retries = retries
        self.queue_timeout = queue_timeout
        self._cluster = Cluster(address)
        self._tools = Tools(resources or {}, runtime_env)
        self._watch = Watch(self._cluster.close)

    def run_tool(self, tool: Tool, call: ToolCall, context: Context | None) -> Result:
        from tools_core.threads import run_coroutine  # brings asyncio

        result: Result = run_coroutine(self.arun_tool(tool, call, context))
        return result

    async def arun_tool(self, tool: Tool, call: ToolCall, context: Context | None) -> Result:
        inner = (context or Context()).for_call(tool.timeout, call.id)
        limit = inner.remaining
        if limit == 0:
            return Result.error("the time limit had passed before the call could begin", type="timeout_error")
        body = _body(call.given)
        if isinstance(body, Result):
            return body
        try:
            ray, sent = await self._ready(tool, limit)
        except Unsendable as error:
            return Result.error(str(error), type="unavailable", exception=error.__cause__)
        except TimeoutError:
            return head_lost(is_begun=False)
        except Exception as error:  # noqa: BLE001  (whatever Ray raises when it cannot connect)
            return Result.error(f"no Ray cluster: {said(error)}", type="unavailable", exception=error)
        made = _Call(tool, sent, inner, limit, body, not isinstance(call.given, str))
        attempts = 1
        while True:
            outcome = await self._attempt(ray, made)
            if isinstance(outcome, Loss) and attempts <= self.retries and not inner.cancelled and _is_safe(tool, call):
                attempts += 1
                continue
            result = outcome.result if isinstance(outcome, Loss) else outcome
            return result if attempts == 1 else result.with_metadata({"attempts": attempts})

    def close(self) -> None:
        """End the calls on their way, and the cluster if it was started here; the runtime can be used again after."""
        self._watch.stop_all()
        self._tools.clear()
        self._cluster.close()

    async def _ready(self, tool: Tool, limit: float | None) -> tuple[Any, Sent]:
        """Ray, connected, and the tool as it has it; TimeoutError where its head is gone."""
        ray: Any = sys.modules.get("ray")  # see Cluster.connect
        if ray is None or not ray.is_initialized():
            self._tools.clear()
            ray = unwrap(await _within(in_thread(self._cluster.connect), limit if self._watch.is_lost else None))
            self._watch.begin_anew()
        elif self._watch.is_lost:
            unwrap(await _within(in_thread(self._watch.look_for_head), 1.0 if limit is None else min(limit, 1.0)))
        sent = self._tools.get(tool, ray)
        if not sent.exported.done():
            await _within(sent.exported, None if limit is None else max(limit, 1.0))
        error = sent.exported.result()[1]
        if error is not None:
            self._tools.forget(tool)
            raise error
        return ray, sent

    async def _attempt(self, ray: Any, made: _Call) -> Result | Loss:
        import asyncio  # loaded already: somebody awaits us

        loop = asyncio.get_running_loop()
        answers = answers_of(loop)
        grace = _COROUTINE_GRACE if made.tool.is_async else 0.0
        wait = self.queue_timeout
        if wait is None:
            # The more this is beyond the limit, the fewer calls have to tell that they begin, see _announce.
            wait = _WAIT if made.limit is None else _LEAST_WAIT + 2 * made.context.as_set(made.limit)
        flight = Flight(self._watch.key(), made.context, made.limit, grace, wait, loop)
        request = pickle.dumps(tuple(made.request(flight, ray)))
        reading = None
        try:
            if made.tool.takes_context and made.context.on_progress is not None:
                flight.ref = made.sent.streaming.remote(request)
                reading = loop.create_task(_stream(flight))
            else:
                flight.ref = made.sent.plain.remote(request)
                answers.expect(flight, ray)
        except Exception as error:  # noqa: BLE001  (Ray refuses the task)
            return of_error(error)
        self._watch.add(flight, ray.cancel)
        try:
            answer = await flight.answer
        except BaseException:  # the caller is cancelled
            ray.cancel(flight.ref, force=True)
            raise
        finally:
            self._watch.remove(flight)
            answers.forget(flight)
            if reading is not None:
                reading.cancel()
        return read(answer) if isinstance(answer, bytes) else await self._failed(ray, made, flight, answer)

    async def _failed(self, ray: Any, made: _Call, flight: Flight, error: BaseException | None) -> Result | Loss:
        """What became of a task that did not answer."""
        now = monotonic()
        if flight.reason is None and error is not None:
            outcome = of_error(error)
            limit = flight.limit
            if isinstance(outcome, Loss) and limit is not None and now - flight.sent >= limit:
                if flight.begun is None and not self._watch.is_quiet:
                    await elsewhere(lambda: self._watch.find(flight))
                if now - (flight.sent if flight.begun is None else flight.begun) >= limit:
                    outcome = timed_out(flight.context.as_set(limit))  # the worker's own timer ended it
            self._watch.forget(flight)
            return outcome
        if flight.reason == "lost":
            return head_lost(is_begun=True)
        offered = True
        if flight.reason == "queue":
            await elsewhere(lambda: self._watch.find(flight))  # whether it has begun at the last moment
            offered = flight.begun is not None or await elsewhere(lambda: is_offered(ray, made.sent.wanted))
        self._watch.forget(flight)
        return of_stop(flight, made.sent.wanted, offered)


class _Call(NamedTuple):
    """What is the same for all attempts."""

    tool: Tool
    sent: Sent
    context: Context
    limit: float | None
    body: bytes
    is_object: bool

    def request(self, flight: Flight, ray: Any) -> Request:
        known = _packed(self.context, ray) if self.tool.takes_context else None
        call_id = self.context.call_id
        return Request(self.body, self.is_object, self.limit, flight.key, time(), flight.wait, call_id, known)


async def _within(future: Future[Outcome], limit: float | None) -> Outcome:
    """What a thread comes to; TimeoutError where it takes longer."""
    import asyncio  # as above

    return await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(future)), limit)


async def _stream(flight: Flight) -> None:
    """Report the progress on the way to the answer."""
    data: Any = b""
    try:
        async for ref in flight.ref:
            data = await ref
            if flight.begun is None:
                flight.begun = monotonic()
            elif data.startswith(b"["):
                for done, total, message in decode(data):
                    if is_number(done) and (total is None or is_number(total)):
                        flight.context.progress(done, total, str(message))
    except Exception as error:  # noqa: BLE001  (of Ray, or of who hears the progress)
        data = error
    flight.end(data)


def _body(given: Mapping[str, Any] | str | None) -> bytes | Result:
    """The arguments for the wire; a Result where they cannot go there."""
    if isinstance(given, str):
        return given.encode("utf-8", "surrogatepass")
    if given is None:
        return b"{}"
    arguments = dict(given)
    try:
        if is_exact(arguments):
            return encode(arguments)
        text = f"only JSON can go to the cluster, and {inexact(arguments, '')}"
    except RecursionError:
        text = "the arguments are nested too deeply; send a flatter object"
    return Result.error(text, type="validation_error")


def _is_safe(tool: Tool, call: ToolCall) -> bool:
    """Whether it does no harm to make a call again that may have had its effects."""
    try:
        hints = tool.annotations_for(call.arguments)
    except Exception:  # noqa: BLE001  (a tool's own code)
        return False
    return bool(hints.get("read_only") or hints.get("idempotent"))


def _packed(context: Context, ray: Any) -> Known:
    """What the caller's context says, for the worker."""
    items, refused = pack(context.state, lambda value: dumps(value, ray))
    return Known(None if context.workspace is None else str(context.workspace.absolute()), items, refused)
