"""The `ask-tools` command: one file for each sub-command, and shared helpers."""

from __future__ import annotations

from tools_core._cli._main import main

__all__ = ["main"]
