"""The private networks of runs: created for the first job of a run, and removed after its last one."""

from __future__ import annotations

import os
import socket
import threading
import weakref
from contextlib import suppress

from tools_shell._process._server import server
from tools_shell._supervisor._request import Request

_TIMEOUT = 30.0  # seconds to create a network on a busy machine


class Network:
    """A network namespace with loopback only, and the user namespace that it belongs to."""

    def __init__(self) -> None:
        """Create it; OSError if the system does not allow that."""
        self.descriptors: list[int] = []
        control, theirs = socket.socketpair()
        with control:
            with theirs:
                server.send([theirs.fileno()])
            control.settimeout(_TIMEOUT)
            control.sendall(Request.for_network().encode())
            while not self.descriptors:
                data, self.descriptors, _, _ = socket.recv_fds(control, 1 << 16, 2)
                if not data:
                    raise OSError("no private network can be created")

    def __del__(self) -> None:
        for descriptor in self.descriptors:
            with suppress(OSError):  # a daemon may have closed all descriptors
                os.close(descriptor)


class Networks:
    """Networks by run; the processes in a network keep it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._networks: weakref.WeakValueDictionary[str, Network] = weakref.WeakValueDictionary()

    def get(self, run_id: str) -> Network | None:
        """Return the network of a run, if it has one."""
        with self._lock:
            return self._networks.get(run_id)

    def add(self, run_id: str) -> Network:
        """Return the network of a run, created if necessary; OSError if that fails."""
        with self._lock:
            network = self._networks.get(run_id)
            if network is None:
                network = self._networks[run_id] = Network()
            return network

    def reset_after_fork(self) -> None:
        """Drop the networks in a fork of this process."""
        self.__init__()  # type: ignore[misc]


networks = Networks()
os.register_at_fork(after_in_child=networks.reset_after_fork)
