"""Nothing calls home."""

from __future__ import annotations

import os
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
WITH_SITE = [sys._base_executable]  # it imports sitecustomize

GUARD = """
import sys


def refuse(event, arguments):
    if event.startswith("socket."):
        import os

        os.write(2, f"opened a socket: {event} {arguments}\\n".encode())
        os._exit(99)


sys.addaudithook(refuse)
"""
# Allows pairs of sockets without an address, by which tools talk to their child processes.
GUARD_OF_ADDRESSES = GUARD.replace(
    'event.startswith("socket.")',
    'event.startswith("socket.get") or event in ("socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg")'
    " and not isinstance(arguments[1], (str, bytes, type(None)))",
)

COMMANDS = [
    [],
    ["--version"],
    ["--help"],
    ["list"],
    ["list", "--json"],
    ["show", "rain"],
    ["call", "rain", "city=Oslo"],
    ["call", "rain", "city=Oslo", "--timeout", "9"],
    ["call", "radar", "--json"],
    ["call", "rian"],
    ["schema", "--all", "--for", "openai-strict"],
    ["check"],
    ["lock"],
    ["verify"],
    ["doctor"],
    ["completion", "bash"],
    ["__complete", "--", "call", "rain", ""],
    ["new", "tides"],
    ["add", "waves", "--dir", "tools-made"],
]


def test_no_command_opens_a_socket(ask_tools, site):
    site.install_weather()
    assert ask_tools("new", "made").code == ask_tools("lock").code == 0  # some commands need a package or a lock
    (site.folder / "sitecustomize.py").write_text(GUARD)
    for words in COMMANDS:
        result = ask_tools(*words, python=WITH_SITE)
        assert result.code == (2 if "rian" in words else 0), (words, result)
        assert "opened a socket" not in result.err


def test_the_guard_would_notice_a_socket(ask_tools, site):
    source = """
        from tools_core import tool


        @tool
        def dial() -> None:
            import socket

            socket.socket().close()


        @tool
        def resolve() -> None:
            import socket

            socket.getaddrinfo("localhost", 80)


        @tool
        def send() -> None:
            import socket

            socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", 9))
    """
    site.install("tools-dial", {name: name for name in ("dial", "resolve", "send")}, source)
    (site.folder / "sitecustomize.py").write_text(GUARD)
    assert ask_tools("call", "dial", python=WITH_SITE).code == 99
    (site.folder / "sitecustomize.py").write_text(GUARD_OF_ADDRESSES)
    assert ask_tools("call", "dial", python=WITH_SITE).code == 0
    assert ask_tools("call", "resolve", python=WITH_SITE).code == ask_tools("call", "send", python=WITH_SITE).code == 99


@pytest.mark.slow
@pytest.mark.parametrize("words", [["doctor"], ["lock"], ["list"]], ids=" ".join)
def test_the_everyday_tools_open_no_connection(ask_tools, site, environment, words):
    for name in ("tools-shell", "tools-filesystem"):
        entries = tomllib.loads((ROOT / name / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
        info = site.folder / f"{name.replace('-', '_')}-1.0.dist-info"
        info.mkdir()
        lines = "\n".join(f"{tool} = {value}" for tool, value in entries["ask_tools.tools"].items())
        (info / "entry_points.txt").write_text(f"[ask_tools.tools]\n{lines}\n")
        environment["PYTHONPATH"] += f"{os.pathsep}{ROOT / name / 'src'}"
    (site.folder / "sitecustomize.py").write_text(GUARD_OF_ADDRESSES)
    result = ask_tools(*words, python=WITH_SITE)
    assert result.code == 0, result
    assert "opened a socket" not in result.err
