"""Sessions for the commands: options, and errors as messages."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tools_core.command import CommandError, json_text, one_line

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Generator

    from tools_agent import Store

_LONGEST = 200  # characters of a text, a call or a result that are shown


def short(value: Any) -> str:
    """Return text, or JSON of another value, on one line, cut where it is long."""
    text = value if isinstance(value, str) else json_text(value, pretty=False)
    return one_line(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…")


def add_store(parser: ArgumentParser) -> None:
    """Add the option that names the store."""
    text = "the file or the postgresql:// URL with the sessions; by default $ASK_TOOLS_SESSIONS, or the user's own file"
    parser.add_argument("--store", metavar="PLACE", help=text)


@contextmanager
def opened(options: Namespace) -> Generator[Store]:
    """Open the store; what goes wrong with it or with the model's API ends the command."""
    from tools_agent import ProviderError, SessionConflictError, StoreError, open_store  # not needed for --help

    try:
        with open_store(options.store) as store:
            yield store
    except KeyError as unknown:
        raise CommandError(str(unknown.args[0]), "list of sessions: ask-tools sessions list") from unknown
    except (StoreError, SessionConflictError, ProviderError) as failure:
        raise CommandError(str(failure), status=1) from failure
    except (ImportError, ValueError) as wrong:
        raise CommandError(str(wrong)) from wrong
