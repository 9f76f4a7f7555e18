"""`ask-tools ui`: serve the studio on this machine, and open it in a browser."""

from __future__ import annotations

import secrets
import socket
import sys
from typing import TYPE_CHECKING

from tools_core.command import CommandError, note

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

_EPILOG = """\
Only your browser can use the application: it listens on 127.0.0.1, and the address contains a random token. It runs
tools with your rights, as `ask-tools call` does, and first shows the decision of the policy and the effects.
Ctrl-C ends it. Exit codes: 0 ended, 2 wrong usage.

examples:
  ask-tools ui
  ask-tools ui --tools ./weather.py --no-open
"""


def configure(parser: ArgumentParser) -> None:
    """Add the arguments of `ui`."""
    parser.description = "Try tools, follow sessions and chat in the browser."
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
    listener = _listen(options.port)
    port = listener.getsockname()[1]
    token = secrets.token_urlsafe(24)
    url = f"http://127.0.0.1:{port}/?token={token}"
    application = create_application(studio, token=token, port=port)
    config = uvicorn.Config(
        application, log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=1
    )
    sys.stdout.write(f"{url}\n")
    sys.stdout.flush()
    note(f"the studio for {studio.workspace.path}; Ctrl-C ends it")
    if not options.no_open:
        _open(url)
    uvicorn.Server(config).run(sockets=[listener])
    return 0


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
