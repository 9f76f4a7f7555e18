"""The databases that a model can name, and how one is opened."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

from sqlalchemy import URL, Connection, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError
from tools_core import Context, ToolError
from tools_core.files import config_path, user_settings

from tools_sql._engines import cancel, engine_of
from tools_sql._schema import advice


class Databases:
    """The databases that were passed in, else the ones in `[sql.databases]` in the user's settings."""

    def __init__(self, addresses: Mapping[str, str] | None) -> None:
        self._addresses = addresses
        for name, address in (addresses or {}).items():
            _url(name, address)

    def addresses(self) -> Mapping[str, str]:
        """Return the address of each database by its name."""
        if self._addresses is not None:
            return self._addresses
        databases = user_settings("sql").get("databases", {})
        if isinstance(databases, dict) and all(isinstance(address, str) for address in databases.values()):
            return databases
        raise ToolError(f'{config_path("settings.toml")}: [sql.databases] must have lines NAME = "ADDRESS"')

    @contextmanager
    def open(
        self, name: str, context: Context, *, read_only: bool = True, statement: str = ""
    ) -> Generator[Connection]:
        """Connect to a database for one call, which ends with its context. Errors give advice about a statement."""
        addresses = self.addresses()
        if name not in addresses:
            message = f"no database {name!r}; there are {', '.join(sorted(addresses))}"
            raise ToolError(message if addresses else how_to_configure(), "not_found")
        url = _url(name, addresses[name])
        try:
            connection = engine_of(url, read_only=read_only).connect()
        except (SQLAlchemyError, ImportError) as error:
            raise ToolError(f"cannot open the database {name}: {_reason(error, url)}", "unavailable") from error
        unregister = context.on_cancel(lambda: cancel(connection))
        try:
            yield connection
        except SQLAlchemyError as error:
            reason = _reason(error, url)
            raise ToolError(reason + advice(connection, reason, statement)) from error
        finally:
            unregister()
            connection.invalidate()  # never rolled back, which fails in the middle of COPY
            connection.close()


def how_to_configure() -> str:
    """Return what to tell the user who has no database."""
    return (
        f"No database is configured. The user adds one in {config_path('settings.toml')}: "
        '[sql.databases] with a line such as shop = "sqlite:////home/ada/shop.db"'
    )


def _url(name: str, address: str) -> URL:
    """Return an address. The error repeats no part of it, since what cannot be parsed may be the password."""
    try:
        return make_url(address)
    except (ArgumentError, ValueError):
        message = f"the address of {name} is not one of SQLAlchemy, such as postgresql://ada:secret@localhost:5432/shop"
        raise ToolError(f"{message}; in a password, write @ : / as %40 %3A %2F", "unavailable") from None


def _reason(error: Exception, url: URL) -> str:
    """Return the message of the database itself, without the password of its address."""
    cause: Any = error.orig if isinstance(error, DBAPIError) else error
    message = str(getattr(getattr(cause, "diag", None), "message_primary", None) or cause).strip()
    for password in (url.password, url.query.get("password")):
        message = message.replace(str(password), "***") if password else message
    return message
