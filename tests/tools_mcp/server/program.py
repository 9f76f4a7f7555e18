"""A server with tools of every temper, in the folder of a test: `python FILE [--http [ISSUER AUDIENCE]]`."""

import asyncio
import logging
import os
import subprocess
import sys
import time

from tools_core import Context, tool
from tools_mcp import OAuth, Server


def note(text):
    with open("notes", "a") as file:
        file.write(text + "\n")


@tool(read_only=True)
def run(context: Context) -> str:
    """Return the run."""
    return context.run_id


@tool(read_only=True)
def big(size: int) -> str:
    """Return more than a connection takes at once."""
    return "x" * size


@tool(read_only=True)
async def wait(context: Context) -> str:
    """Wait, and note the end."""
    context.progress(1)
    try:
        await asyncio.sleep(1000)
    finally:
        note("ended")


@tool(read_only=True)
def block(context: Context) -> str:
    """Block a thread, and note the end."""
    context.progress(1)
    context.on_cancel(lambda: note("ended"))
    time.sleep(1000)


@tool(read_only=True)
def shout() -> str:
    """Print in every way."""
    print("printed")
    os.write(1, b"written\n")
    sys.__stdout__.write("dunder\n")
    subprocess.run(["sh", "-c", "echo child; cat"], check=True)
    logging.getLogger(__name__).warning("logged")
    return "ok"


@tool(read_only=True)
def read() -> str:
    """Read the standard input."""
    return sys.stdin.read() + os.read(0, 10).decode()


server = Server([run, big, wait, block, shout, read], output_budget=None)
if "--http" in sys.argv:
    oauth = OAuth(*sys.argv[2:], ("tools",)) if sys.argv[2:] else None
    token = os.environ.get("TOKEN")
    server.run_http(port=0, token=token, oauth=oauth, no_token=token is None and oauth is None)
else:
    server.run_stdio()
