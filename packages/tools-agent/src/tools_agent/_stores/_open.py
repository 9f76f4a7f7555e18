"""`open_store`: a store from a path or a URL."""

from __future__ import annotations

import os

from tools_agent._stores._sql import SQLStore
from tools_agent._stores._sqlite import SQLiteStore
from tools_core.files import data_path

VARIABLE = "ASK_TOOLS_SESSIONS"


def open_store(place: str | os.PathLike[str] | None = None) -> SQLStore:
    """Open the store at a path, `sqlite:///PATH` or `postgresql://...`.

    The default is what the environment variable ASK_TOOLS_SESSIONS names, else `ask-tools/sessions.sqlite3` in the
    user's data folder (`$XDG_DATA_HOME`, `~/.local/share`). Raises StoreError if the store cannot be opened, ValueError
    for another kind of URL.
    """
    place = os.fspath(place or os.environ.get(VARIABLE) or data_path("sessions.sqlite3"))
    scheme, is_url, rest = place.partition("://")
    if not is_url:
        return SQLiteStore(place)
    if scheme == "sqlite":
        return SQLiteStore(rest.removeprefix("/") or ":memory:")
    if scheme.partition("+")[0] in ("postgresql", "postgres"):
        from tools_agent._stores._sqlalchemy import SQLAlchemyStore  # SQLAlchemy is an extra

        return SQLAlchemyStore(place)
    raise ValueError(f"{scheme}:// is not a store: give a path, sqlite:///PATH or postgresql://USER@HOST/DATABASE")
