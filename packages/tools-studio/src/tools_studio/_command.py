"""`ask-tools ui`: serve the studio on this machine, and open it in a browser."""

from __future__ import annotations

import socket
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from tools_core.command import CommandError, note

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from tools_studio._studio import Studio

_EPILOG = """\
Only your browser can use the application: it listens on 127.0.0.1, and the printed address contains a random token for
one browser. It runs tools with your rights, as `ask-tools call` does, and first shows the decision of the policy and
the effects.
Ctrl-C ends it. Exit codes: 0 ended, 2 wrong usage.

examples:
  ask-tools ui
  ask-tools ui --tools ./weather.py --no-open
"""


def configure(parser: ArgumentParser) -> None:
    """Add the arguments of `ui`."""
    parser.description = "Try tools, follow sessions and answer their calls in the browser."
    parser.epilog = _EPILOG
    text = "NAME, 'x_*', PACKAGE, PACKAGE:NAME, FILE.py or FILE.py:NAME; by default all installed tools"
    parser.add_argument("--tools", metavar="PATTERN,...", action="append", help=text)
    parser.add_argument("--port", metavar="N", type=int, default=0, help="the port; by default a free one")
    parser.add_argument("--no-open", action="store_true", help="print the address, and open no browser")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Serve the application until Ctrl-C."""
    import uvicorn  # not needed for --help

    from tools_studio._application import create_application
    from tools_studio._studio import Studio

    studio = Studio(options.tools)
    _ = studio.catalog.names  # raises CommandError for a pattern that selects nothing
    listener = _listen(options.port)
    port = listener.getsockname()[1]
    with TemporaryDirectory(prefix="ask-tools-ui-") as folder:
        application = create_application(studio, port, _Announcement(studio, Path(folder), opens=not options.no_open))
        config = uvicorn.Config(
            application, log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=1
        )
        uvicorn.Server(config).run(sockets=[listener])
    return 0


class _Announcement:
    """Prints the URLs of the studio, and opens the first one in a browser."""

    def __init__(self, studio: Studio, folder: Path, *, opens: bool) -> None:
        self._studio, self._page, self._opens, self._is_first = studio, folder / "open.html", opens, True

    def __call__(self, url: str) -> None:
        """Print a URL. Once it is used, its page is removed."""
        self._page.unlink(missing_ok=True)
        if not self._is_first:
            note(f"for another browser: {url}")
            return
        self._is_first = False
        sys.stdout.write(f"{url}\n")
        sys.stdout.flush()
        note(f"the studio for {self._studio.workspace.path}; Ctrl-C ends it")
        if self._opens:
            # All users can read the arguments of a program, so the browser receives the path of a private page.
            page = (
                f'<!doctype html><meta http-equiv="refresh" content="0; url={url}"><a href="{url}">Open the studio</a>'
            )
            self._page.touch(0o600)
            self._page.write_text(page, "ascii")
            _open(self._page.as_uri())


def _listen(port: int) -> socket.socket:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
    except (OSError, OverflowError) as error:
        raise CommandError(f"port {port} cannot be used: {error}", "without --port, a free one is used") from error
    listener.listen()  # before the browser opens the address
    return listener


def _open(url: str) -> None:
    import threading
    import webbrowser  # not needed with --no-open

    threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()  # a text browser blocks
