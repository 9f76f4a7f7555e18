"""Private networks: a network namespace with a loopback interface, which the commands of one run share."""

from __future__ import annotations

import fcntl
import os
import socket
import struct

from tools_core.linux import CLONE_NEWNET, CLONE_NEWUSER, set_dumpable, setns, unshare

_SIOCSIFFLAGS = 0x8914  # netdevice(7)
_IFF_UP = 1


def create_network(control: socket.socket) -> None:
    """Create a network in this process, and send its user and network namespaces, and a listening socket in it."""
    set_dumpable(dumpable=True)  # to write to /proc
    user, group = os.geteuid(), os.getegid()
    unshare(CLONE_NEWUSER | CLONE_NEWNET)
    _write("setgroups", "deny")  # required for the next ones
    _write("uid_map", f"{user} {user} 1")
    _write("gid_map", f"{group} {group} 1")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", _IFF_UP))
    namespaces = [os.open(f"/proc/self/ns/{name}", os.O_RDONLY) for name in ("user", "net")]
    with socket.create_server(("127.0.0.1", 0)) as listener:
        socket.send_fds(control, [b"\n"], [*namespaces, listener.fileno()])


def enter_network(user: int, network: int) -> None:
    """Move this process into a network, by the descriptors of its namespaces."""
    setns(user, CLONE_NEWUSER)  # to have the right to enter the other
    setns(network, CLONE_NEWNET)


def _write(name: str, text: str) -> None:
    with open(f"/proc/self/{name}", "w") as file:
        file.write(text)
