"""`Proxy`: passes the connections of sandboxed commands on to the hosts that the user has named, and to no others."""

from __future__ import annotations

import ipaddress
import select
import socket
import threading
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tools_shell._settings import split_host

if TYPE_CHECKING:
    from collections.abc import Iterable

_LONGEST_HEAD = 1 << 16  # bytes of a request before its body
_PATIENCE = 30.0  # seconds for a request to arrive, and for a connection
_IDLE = 600.0  # seconds without data until a connection is closed
_CHUNK = 1 << 16


class Proxy:
    """An HTTP proxy on a listening socket, which may be in another network namespace. Names are resolved here.

    A host is a name or an address, `*.example.org` for all names below one, with a port or for the ports of HTTP.
    """

    def __init__(self, listener: socket.socket, hosts: Iterable[str]) -> None:
        self.port = listener.getsockname()[1]
        self._listener = listener
        self._hosts = [split_host(host) for host in hosts]
        threading.Thread(target=self._serve, name="tools-shell proxy", daemon=True).start()

    def close(self) -> None:
        """Accept no more connections; open ones end with their clients."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread
        self._listener.close()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            with suppress(RuntimeError):  # too many threads
                threading.Thread(target=self._handle, args=(client,), daemon=True).start()

    def _handle(self, client: socket.socket) -> None:
        with client, suppress(OSError):
            client.settimeout(_PATIENCE)
            head = b""
            while b"\r\n\r\n" not in head and len(head) < _LONGEST_HEAD:
                if not (chunk := client.recv(_CHUNK)):
                    return
                head += chunk
            request, _, rest = head.partition(b"\r\n")
            try:
                method, target, _ = request.decode("latin-1").split(" ")
                is_tunnel = method == "CONNECT"
                address = urlsplit(f"//{target}" if is_tunnel else target)
                host, port = (address.hostname or "").rstrip("."), address.port or (443 if is_tunnel else 80)
            except ValueError:
                _answer(client, "400 Bad Request", "this is a proxy for HTTP")
                return
            if not host or (not is_tunnel and address.scheme != "http"):
                _answer(client, "400 Bad Request", "this is a proxy for HTTP")
            elif not self._allows(host, port):
                _answer(client, "403 Forbidden", f"{host}:{port} is not one of the hosts that the user allows")
            elif (server := _connect(host, port, is_literal=self._names(host))) is None:
                _answer(client, "502 Bad Gateway", f"{host}:{port} cannot be reached")
            else:
                with server:
                    if is_tunnel:
                        client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                        server.sendall(head.partition(b"\r\n\r\n")[2])
                    else:
                        server.sendall(_to_origin(method, target, rest))
                    _relay(client, server)

    def _allows(self, host: str, port: int) -> bool:
        return any(_matches(host, name) and port in ports for name, ports in self._hosts)

    def _names(self, host: str) -> bool:
        """Return whether the user has named exactly this host."""
        return any(name == host for name, _ in self._hosts)


def _matches(host: str, name: str) -> bool:
    return host == name or (name.startswith("*.") and host.endswith(name[1:]))


def _connect(host: str, port: int, *, is_literal: bool) -> socket.socket | None:
    """Connect to a host; a name below an allowed one must not lead to this machine or its own network services."""
    with suppress(OSError, UnicodeError):
        for *_, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
            name = str(address[0])
            place = ipaddress.ip_address(name.partition("%")[0])
            if (place.is_loopback or place.is_link_local or place.is_unspecified) and not is_literal:
                continue
            with suppress(OSError):
                return socket.create_connection((name, port), _PATIENCE)
    return None


def _to_origin(method: str, target: str, rest: bytes) -> bytes:
    """Return a request as a server expects it: with a path, and one for each connection."""
    head, _, body = rest.partition(b"\r\n\r\n")
    hop_by_hop = (b"connection:", b"proxy-connection:", b"proxy-authorization:", b"keep-alive:")
    lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(hop_by_hop)]
    parts = urlsplit(target)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    request = f"{method} {path} HTTP/1.1".encode("latin-1")
    return b"\r\n".join([request, *lines, b"Connection: close"]) + b"\r\n\r\n" + body


def _answer(client: socket.socket, status: str, text: str) -> None:
    body = f"{text}\n".encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    client.sendall(head.encode("latin-1") + body)


def _relay(client: socket.socket, server: socket.socket) -> None:
    """Copy what either side sends to the other, until both have ended."""
    other = {client: server, server: client}
    client.settimeout(_IDLE)
    server.settimeout(_IDLE)
    while other:
        ready, _, _ = select.select([*other], [], [], _IDLE)
        if not ready:
            return
        for source in ready:
            if chunk := source.recv(_CHUNK):
                (server if source is client else client).sendall(chunk)
            else:
                with suppress(OSError):
                    (server if source is client else client).shutdown(socket.SHUT_WR)
                del other[source]
