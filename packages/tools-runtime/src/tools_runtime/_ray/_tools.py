"""The tools as Ray gets them: pickled once, each as a function of its own that Ray sends to a worker once."""

from __future__ import annotations

import io
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from tools_core import Tool, tool
from tools_core.threads import in_thread
from tools_runtime._log import said
from tools_runtime._ray import _worker
from tools_runtime._ray._cluster import head
from tools_runtime._remote._errors import Unsendable

if TYPE_CHECKING:
    from collections.abc import Mapping
    from concurrent.futures import Future

_OPTIONS = (
    "name", "description", "read_only", "destructive", "idempotent", "open_world", "timeout", "requires_approval",
    "strict", "tags",
)  # fmt: skip
_MOST = 1_000  # tools that are remembered
_PATIENCE = 8.0  # seconds for the head of the cluster to answer


class Sent(NamedTuple):
    """A tool on the cluster."""

    tool: Tool  # kept, so that its id is nobody else's
    plain: Any
    streaming: Any
    wanted: dict[str, float]  # by the names that nodes offer resources under
    exported: Future[Any]  # done once the head of the cluster has it, which may be lost


class Tools:
    """Those that were sent."""

    def __init__(self, resources: Mapping[str, Mapping[str, Any]], runtime_env: Mapping[str, Any] | None) -> None:
        known = {"num_cpus", "num_gpus", "memory", "resources"}
        for name, options in resources.items():
            if not options.keys() <= known:
                raise ValueError(f"resources of {name!r} are {', '.join(sorted(known))}; got {', '.join(options)}")
        self._resources = resources
        self._runtime_env = runtime_env
        self._known: dict[int, Sent] = {}
        self._lock = threading.Lock()

    def get(self, tool: Tool, ray: Any) -> Sent:
        """The tool as remote functions; raises Unsendable."""
        known = self._known.get(id(tool))
        if known is not None and known.tool is tool:
            return known
        with self._lock:
            if len(self._known) >= _MOST:
                self._known.clear()
            made = self._known[id(tool)] = self._made(tool, ray)
        return made

    def forget(self, tool: Tool) -> None:
        """Make it anew the next time."""
        self._known.pop(id(tool), None)

    def clear(self) -> None:
        """Forget them: the next cluster is another one."""
        self._known.clear()

    def _made(self, tool: Tool, ray: Any) -> Sent:
        try:
            pickled = dumps(tool, ray)
        except Exception as error:
            raise Unsendable(
                f"the tool {tool.name!r} cannot be sent to the cluster ({said(error)}); "
                "keep what cannot be pickled out of its attributes"
            ) from error
        asked: dict[str, Any] = {"num_cpus": 1, **self._resources.get(tool.name, self._resources.get("*", {}))}
        options = {**asked, "max_retries": 0, "name": tool.name}
        if self._runtime_env is not None:
            options["runtime_env"] = dict(self._runtime_env)
        names = {"num_cpus": "CPU", "num_gpus": "GPU", "memory": "memory"}
        wanted = {names[key]: value for key, value in asked.items() if key in names and value}
        plain = ray.remote(**options)(_worker.plain(pickled))
        streaming = ray.remote(num_returns="streaming", **options)(_worker.streaming(pickled))
        exported = in_thread(lambda: _export(plain, streaming))
        return Sent(tool, plain, streaming, {**wanted, **asked.get("resources", {})}, exported)


def _export(*functions: Any) -> None:
    head().internal_kv_exists(b"tools-runtime", None, _PATIENCE)  # what follows has no limit where it is gone
    for function in functions:
        # Ray sends it before it sees that an argument is missing. What else is wrong the first call will tell.
        with suppress(Exception):
            function.remote()


def dumps(value: Any, ray: Any) -> bytes:
    """Pickle by value what the program itself defines, which workers cannot import; a tool of a function too."""

    class Pickler(ray.cloudpickle.CloudPickler):  # type: ignore[misc]  # it is Any, see Cluster.connect
        def reducer_override(self, made: Any) -> Any:
            function = getattr(made, "__wrapped__", None)
            if isinstance(made, Tool) and made.__module__ == "__main__" and function is not None:
                options = {name: value for name, value in vars(made).items() if name in _OPTIONS}
                return tool_of, (function, options)
            return super().reducer_override(made)

    file = io.BytesIO()
    Pickler(file).dump(value)
    return file.getvalue()


def tool_of(function: Any, options: dict[str, Any]) -> Tool:
    """A tool that was made of a function, made of it once more."""
    made: Tool = tool(function, **options)
    return made
