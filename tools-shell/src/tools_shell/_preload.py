"""Import the modules that calls need before the first call.

A host that runs as `python agent.py` in its own workspace imports from there first. If a command created a file with
the name of a module that is imported later, that file would run in the host, outside the sandbox.
"""

from __future__ import annotations

import functools
import os
from contextlib import suppress
from importlib import import_module

_OF_PYTHON = """
base64 concurrent.futures difflib encodings.idna fcntl glob json logging queue re shutil socket subprocess
tempfile termios textwrap traceback urllib.parse
"""
_OURS = ("_process._direct", "_process._supervised", "_sandbox._guard", "_sandbox._probe")


@functools.cache
def preload() -> None:
    """Import them once, on systems that can run commands."""
    if os.name != "posix":
        return
    for name in (*_OF_PYTHON.split(), *(f"tools_shell.{name}" for name in _OURS)):
        with suppress(ImportError):  # an extra that is not installed, or not available on this system
            import_module(name)
