"""`RayRuntime`: calls as tasks of a Ray cluster."""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from tools_core import Result, ToolError
from tools_core.threads import in_thread
from tools_ray._attempt import Attempt
from tools_ray._connection import Connection, end
from tools_ray._request import answer, pack_call, pack_tool, stream
from tools_runtime import Runtime
from tools_runtime.remote import describe_error

if TYPE_CHECKING:
    from collections.abc import Mapping
    from concurrent.futures import Future

    from tools_core import Context, Tool, ToolCall

_MAX_TOOLS = 1_000
_connection = Connection()


class RayRuntime(Runtime):
    """Makes each call as a task of a Ray cluster, whose worker is killed at the limit of the call.

    ```python
    Executor(tools, runtime={"train": RayRuntime(resources={"GPU": 1}), "*": "thread"}).execute(calls)
    ```

    It uses the cluster that this process is connected to by `ray.init`, else connects to `address` at the first call.
    The time that a call waits for free resources of the cluster counts for its limit.

    A call whose worker, node or cluster was lost is an error with `metadata["crash"]`, and is not retried: the
    plugin `Retry` does that for tools that are `read_only` or `idempotent`. The nodes need the module of a tool in the
    same version, and tools-ray. A tool does not see `context.cancelled`: its worker is killed.

    Args:
        address: `host:port` of a running cluster; by default `RAY_ADDRESS`.
        num_cpus: The number of processors for a call.
        resources: Other resources for a call: "GPU", "memory" (bytes) and the cluster's own resources.
        runtime_env: Ray's `runtime_env` for the workers of these calls.
        max_concurrency: The number of calls that may run at once; None leaves that to Ray.

    Raises: ImportError without Ray; ValueError for an address of the Ray Client (`ray://`).
    """

    name = "ray"
    stops = "killed"
    grace = 3.0
    is_local = False

    def __init__(
        self,
        address: str | None = None,
        *,
        num_cpus: float = 1,
        resources: Mapping[str, float] | None = None,
        runtime_env: Mapping[str, Any] | None = None,
        max_concurrency: int | None = None,
    ) -> None:
        if find_spec("ray") is None:
            raise ImportError("RayRuntime needs Ray, which is not installed: pip install ray")
        if address is not None and "://" in address:
            raise ValueError(f"address is host:port of the cluster's head, without the Ray Client; got {address!r}")
        self.max_concurrency = max_concurrency
        self._address = address
        requested = dict(resources or {})
        self._options: dict[str, Any] = {
            "num_cpus": num_cpus,
            "num_gpus": requested.pop("GPU", None),
            "memory": requested.pop("memory", None),
            "resources": requested,
            "runtime_env": None if runtime_env is None else dict(runtime_env),
            "max_retries": 0,
            "retry_exceptions": False,
        }
        self._functions: dict[bool, Any] = {}  # Ray sends each to the cluster once
        self._tools: dict[int, tuple[Tool, bytes]] = {}  # with the tool itself, so that no other one gets its id

    def begin(self, tool: Tool, call: ToolCall, context: Context) -> Future[Result]:
        """Send a call to the cluster; cancelling the context kills its worker."""
        attempt = Attempt(self, context)
        in_thread(partial(self._make, attempt, tool, call))
        return attempt.future

    def close(self) -> None:
        """End the running calls. The connection stays open: Ray has one for the whole process."""
        mine = [attempt for attempt in _connection.attempts.copy() if attempt.user is self]
        for attempt in mine:
            attempt.cancel()
        end(mine, Result.error("The runtime was closed before the call ended.", type="interrupted"))

    def _make(self, attempt: Attempt, tool: Tool, call: ToolCall) -> None:
        _connection.attempts.add(attempt)
        try:
            ray = _connection.open(self._address)
            request = pack_call(tool, self._pack(tool), call, attempt.context)
            attempt.run(ray, self._function(ray, is_stream=request.wants_progress), request)
        except ToolError as error:
            attempt.finish(Result.error(error.message, type=error.type, exception=error))
        except Exception as error:  # noqa: BLE001  (Ray raises many)
            text = f"No Ray cluster can be reached: {describe_error(error)}"
            attempt.finish(Result.error(text, type="unavailable", exception=error))
        finally:
            attempt.has_left.set()
            _connection.attempts.discard(attempt)

    def _pack(self, tool: Tool) -> bytes:
        if id(tool) not in self._tools:
            if len(self._tools) >= _MAX_TOOLS:
                self._tools.clear()
            self._tools[id(tool)] = tool, pack_tool(tool)
        return self._tools[id(tool)][1]

    def _function(self, ray: Any, *, is_stream: bool) -> Any:
        if is_stream not in self._functions:
            how = {"num_returns": "streaming"} if is_stream else {}
            self._functions[is_stream] = ray.remote(**how, **self._options)(stream if is_stream else answer)
        return self._functions[is_stream]
