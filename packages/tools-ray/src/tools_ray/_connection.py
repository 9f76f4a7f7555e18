"""The connection of this process to a cluster. Ray allows one for each process."""

from __future__ import annotations

import os
import socket
import threading
from importlib import import_module
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

from tools_core import Result

if TYPE_CHECKING:
    from collections.abc import Collection

    from tools_ray._attempt import Attempt

_FAILURES = 5  # attempts to connect to the head, one each second, before it counts as lost
_ANSWER = 2.0  # seconds for a head to accept a connection
_LEAVE = 2.0  # seconds for the threads of calls that were ended


class Connection:
    """Made at the first call and watched from then on: Ray itself does not report that the head is lost."""

    def __init__(self) -> None:
        self.attempts: set[Attempt] = set()
        self._lock = threading.Lock()
        self._is_ours = False
        self._head: str | None = None  # the address that is watched

    def open(self, address: str | None) -> Any:
        """Return the module `ray`, connected: as the program has done it, else to `address`; OSError without a head."""
        ray: Any = import_module("ray")  # takes 0.5 s, and is needed for calls alone
        with self._lock:
            if not ray.is_initialized():
                address = address or os.environ.get("RAY_ADDRESS")
                if not address:
                    raise ConnectionError("give RayRuntime an address, set RAY_ADDRESS, or call ray.init before")
                _knock(address)
                ray.init(address, log_to_driver=False, configure_logging=False)
                self._is_ours = True
            head = ray.get_runtime_context().gcs_address
            _knock(head)
            if self._head != head:
                self._head = head
                threading.Thread(target=self._watch_head, args=(ray, head), name="tools-ray", daemon=True).start()
        return ray

    def _watch_head(self, ray: Any, address: str) -> None:
        """End all calls when the head of the cluster has not answered for a while, and a connection that was made here.

        Ray would end this process a minute later.
        """
        failures = 0
        while failures < _FAILURES:
            sleep(1.0)
            if self._head != address:  # the program has connected to another cluster
                return
            try:
                _knock(address)
            except OSError:
                failures += 1
            else:
                failures = 0
        text = "The head of the Ray cluster does not answer. The call may have had effects."
        end(self.attempts.copy(), Result.error(text, type="unavailable", metadata={"crash": "head lost"}))
        with self._lock:
            self._head = None
            if self._is_ours:
                self._is_ours = False
                ray.shutdown()


def end(attempts: Collection[Attempt], result: Result) -> None:
    """Give attempts a result, and wait for their threads: they must not use Ray while it disconnects."""
    for attempt in attempts:
        attempt.finish(result)
    until = monotonic() + _LEAVE
    for attempt in attempts:
        attempt.has_left.wait(max(0.0, until - monotonic()))


def _knock(address: str) -> None:
    """Raise OSError where no process listens: Ray would try for a minute, and then end this process."""
    host, _, port = address.rpartition(":")
    if port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), _ANSWER).close()
