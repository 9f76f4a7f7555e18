"""The private networks of runs: created for the first job of a run, and removed after its last one."""

from __future__ import annotations

import errno
import os
import socket
import threading
import weakref
from contextlib import suppress

from tools_shell._process._proxy import Proxy
from tools_shell._process._server import server
from tools_shell._settings import split_host
from tools_shell._supervisor._request import Request

_TIMEOUT = 30.0  # seconds to create a network on a busy machine
_HERE = ("localhost", "127.0.0.1", "::1")  # where the servers of the run's jobs are
_DESCRIPTORS = 3  # of a network: its user namespace, the namespace, and a socket in it


class Network:
    """A network namespace with loopback only, the user namespace that it belongs to, and a proxy to some hosts."""

    def __init__(self, hosts: tuple[str, ...] = ()) -> None:
        """Create it; OSError if the system does not allow that."""
        self.descriptors: list[int] = []
        self.proxy: Proxy | None = None
        received: list[int] = []
        control, theirs = socket.socketpair()
        with control:
            with theirs:
                server.send([theirs.fileno()])
            control.settimeout(_TIMEOUT)
            control.sendall(Request.for_network().encode())
            while not received:
                data, received, _, _ = socket.recv_fds(control, 1 << 16, _DESCRIPTORS)
                if not data:
                    raise OSError("no private network can be created")
        self.descriptors = received
        if len(received) != _DESCRIPTORS:  # this process may open no more
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        self._direct = [name for name in _HERE if name not in {split_host(host)[0] for host in hosts}]
        listener = socket.socket(fileno=received.pop())
        if hosts:
            self.proxy = Proxy(listener, hosts)
        else:
            listener.close()

    @property
    def variables(self) -> dict[str, str]:
        """The variables that lead programs to the proxy, with names of this machine if the user allows them."""
        if self.proxy is None:
            return {}
        address = f"http://127.0.0.1:{self.proxy.port}"
        names = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
        variables = {name: address for upper in names for name in (upper, upper.lower())}
        here = ",".join(self._direct)
        return {**variables, "NO_PROXY": here, "no_proxy": here, "NODE_USE_ENV_PROXY": "1"}

    def __del__(self) -> None:
        if self.proxy is not None:
            self.proxy.close()
        for descriptor in self.descriptors:
            with suppress(OSError):  # a daemon may have closed all descriptors
                os.close(descriptor)


class Networks:
    """Networks by run and hosts; the processes in a network keep it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._networks: weakref.WeakValueDictionary[tuple[str, tuple[str, ...]], Network]
        self._networks = weakref.WeakValueDictionary()

    def get(self, run_id: str) -> Network | None:
        """Return the network of a run without hosts, if it has one."""
        with self._lock:
            return self._networks.get((run_id, ()))

    def add(self, run_id: str, hosts: tuple[str, ...] = ()) -> Network:
        """Return the network of a run, created if necessary; OSError if that fails."""
        with self._lock:
            network = self._networks.get((run_id, hosts))
            if network is None:
                network = self._networks[run_id, hosts] = Network(hosts)
            return network

    def reset_after_fork(self) -> None:
        """Drop the networks in a fork of this process."""
        self.__init__()  # type: ignore[misc]  # starts again with no connections


networks = Networks()
os.register_at_fork(after_in_child=networks.reset_after_fork)
