"""Nothing calls home."""

from __future__ import annotations

import sys
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
COMMANDS = [
    [],
    ["--version"],
    ["--help"],
    ["list"],
    ["list", "--json"],
    ["show", "rain"],
    ["call", "rain", "city=Oslo"],
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


@pytest.mark.slow
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
    """
    site.install("tools-dial", {"dial": "dial"}, source)
    (site.folder / "sitecustomize.py").write_text(GUARD)
    assert ask_tools("call", "dial", python=WITH_SITE).code == 99
