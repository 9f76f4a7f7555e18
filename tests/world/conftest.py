"""The world as it is: homes, repositories, servers, models and clients that others made."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def workspace(day, monkeypatch):
    """The current folder: an empty workspace in the new home of a user."""
    monkeypatch.chdir(day.workspace)
    return day.workspace
