"""Ray itself: found, started where nobody has, and ended where it was started here."""

from __future__ import annotations

import os
import secrets
import socket
import sys
import threading
from concurrent.futures import Future
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_KNOCK = 5.0  # seconds
_lock = threading.Lock()


def require_ray() -> None:
    """Raise ImportError where Ray is not installed, without importing it."""
    if "ray" not in sys.modules and find_spec("ray") is None:
        raise ImportError("RayRuntime needs Ray: pip install 'tools-runtime[ray]'")


class Cluster:
    """A connection to a cluster, made when it is first needed."""

    def __init__(self, address: str | None) -> None:
        self._address = address
        self._is_ours = False
        self._ended = threading.Event()

    def connect(self) -> Any:
        """The module `ray`, connected."""
        known: Any = sys.modules.get("ray")
        if known is not None and known.is_initialized():
            return known
        with _lock:
            address = self._address or os.environ.get("RAY_ADDRESS") or "local"
            _knock(address)
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
            if address == "local":
                _authenticate()
            ray: Any = import_module("ray")  # 0.5 s and 70 MB

            if not ray.is_initialized():
                # The rest is the user's to decide, by a ray.init of his own before the first call.
                more = {"include_dashboard": False} if address == "local" else {}
                self._init(lambda: ray.init(address, log_to_driver=False, configure_logging=False, **more))
        return ray

    def _init(self, init: Callable[[], object]) -> None:
        """Start Ray in a thread that stays: what it starts is ended by the kernel with the thread that started it."""
        done: Future[None] = Future()
        ended = self._ended = threading.Event()

        def run() -> None:
            try:
                init()
            except BaseException as error:  # noqa: BLE001  (raised where somebody waits)
                done.set_exception(error)
                return
            done.set_result(None)
            ended.wait()

        threading.Thread(target=run, name="tools-runtime ray cluster", daemon=True).start()
        done.result()
        self._is_ours = True

    def close(self) -> None:
        """Disconnect, and end the cluster, where this one connected and started it."""
        with _lock:
            if self._is_ours:
                self._is_ours = False
                sys.modules["ray"].shutdown()
                self._ended.set()


def _knock(address: str) -> None:
    """Raise OSError where nobody listens: Ray would try for a minute, and then end this process."""
    host, _, port = address.rpartition(":")
    if port.isdecimal() and "/" not in host:
        socket.create_connection((host.strip("[]"), int(port)), _KNOCK).close()


def _authenticate() -> None:
    """Give a cluster that is about to start a token of its own, unless somebody has said anything about that.

    Ray would write one to `~/.ray/auth_token`; processes that it starts get this one by their environment.
    """
    said = ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH")
    if any(name in os.environ for name in said) or (Path.home() / ".ray" / "auth_token").exists():
        return
    os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)
    if "ray" not in sys.modules:  # it reads this one as it is imported, and later turns it on by itself
        os.environ["RAY_AUTH_MODE"] = "token"


def head() -> Any:
    """A client of the head of the cluster; requests to one that is gone wait for ever unless they have a limit.

    Of a request that waits for a minute Ray ends this process.
    """
    from ray.experimental import internal_kv  # loaded already: there is a call

    return internal_kv.global_gcs_client


def is_offered(ray: Any, wanted: dict[str, float]) -> bool:
    """Whether some node of the cluster has all of this, taken or free."""
    offers = [node.get("Resources", {}) for node in ray.nodes() if node.get("Alive")]
    return any(all(offer.get(name, 0) >= count for name, count in wanted.items()) for offer in offers)
