from __future__ import annotations

import socket
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="sandboxes are for Linux")

INTERNET = {
    "tcp": "socket.create_connection(('127.0.0.1', int(os.environ['TCP'])), 5)",
    "udp": "socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', int(os.environ['UDP'])))",
}
MACHINE = {
    "stream": "socket.socket(socket.AF_UNIX).connect(OUT + '/stream')",
    "letters": "socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'x', OUT + '/letters')",
    "letters of a pair": "socket.socketpair(type=socket.SOCK_DGRAM)[0].sendto(b'x', OUT + '/letters')",
    "pair that connects": "socket.socketpair(type=socket.SOCK_DGRAM)[0].connect(OUT + '/letters')",
    "abstract": "socket.socket(socket.AF_UNIX).connect('\\0' + os.environ['ABSTRACT'])",
}
OTHERS = {
    "stream of a pair": "socket.socketpair()[0].connect(OUT + '/stream')",
    "packet": "socket.socket(17, socket.SOCK_RAW, 0x300)",
    "raw": "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)",
    "vsock": "socket.socket(40, socket.SOCK_STREAM)",
    "alg": "socket.socket(38, socket.SOCK_SEQPACKET)",
    "events of the kernel": "socket.socket(16, socket.SOCK_RAW, 15)",
    "ring": "system('io_uring_setup', 8, ctypes.create_string_buffer(120))",
}
# Sent, and never to arrive, in a network without a listener.
SILENT = {"udp"}


def test_without_a_network_no_data_arrives_at_any_socket(place, sandbox_level, listeners):
    outcomes = place.attack(sandbox_level, {**INTERNET, **MACHINE, **OTHERS}, environment=listeners.environment)
    assert {name for name, how in outcomes.items() if not how.startswith("refused")} <= SILENT
    assert listeners.arrived() == set()


def test_the_same_arrives_without_a_sandbox(place, listeners):
    place.attack("none", {**INTERNET, **MACHINE}, environment=listeners.environment)
    assert listeners.arrived() == {"tcp", "udp", "stream", "letters", "abstract"}


def test_with_a_network_only_internet_sockets_are_reachable(place, sandbox_level, listeners):
    attacks = {**INTERNET, **MACHINE, **OTHERS}
    outcomes = place.attack(sandbox_level, attacks, environment=listeners.environment, network=True)
    assert {name for name, how in outcomes.items() if not how.startswith("refused")} == INTERNET.keys()
    assert listeners.arrived() == INTERNET.keys()


def test_with_a_network_its_interfaces_can_be_listed(place, sandbox_level):
    ran = place.run(sandbox_level, place.python, "-c", "import socket; print(len(socket.if_nameindex()))", network=True)
    assert ran.stdout.strip() == str(len(socket.if_nameindex())), ran.stderr
