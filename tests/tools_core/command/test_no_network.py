"""Nothing calls home."""

from __future__ import annotations

import pytest

GUARD = """
import sys


def refuse(event, arguments):
    if event.startswith("socket."):
        import os

        os.write(2, f"opened a socket: {event} {arguments}\\n".encode())
        os._exit(99)


sys.addaudithook(refuse)
"""


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--version"],
        ["--help"],
        ["list"],
        ["list", "--json"],
        ["show", "rain"],
        ["call", "rain", "city=Oslo"],
        ["call", "rain", "city=Oslo", "--timeout", "9"],
        ["call", "rian"],
        ["doctor"],
        ["completion", "bash"],
        ["__complete", "--", "call", "rain", ""],
        ["new", "tides"],
    ],
    ids=" ".join,
)
def test_no_command_opens_a_socket(ask_tools, site, words):
    site.install_weather()
    (site.folder / "sitecustomize.py").write_text(GUARD)
    ended = ask_tools(*words)
    assert ended.code in (0, 2), ended
    assert "opened a socket" not in ended.err


def test_the_guard_would_notice_a_socket(ask_tools, site):
    source = """
        from tools_core import tool


        @tool
        def dial() -> None:
            import socket

            socket.socket().close()
    """
    site.install("tools-dial", {"dial": "dial"}, source)
    (site.folder / "sitecustomize.py").write_text(GUARD)
    assert ask_tools("call", "dial").code == 99
