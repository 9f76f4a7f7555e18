"""`ask-tools ui` as a process, with a new workspace and home."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import httpx2
import pytest

from tools_agent import Agent, Session, open_store
from tools_core import registry
from tools_runtime import Policy

HERE = Path(__file__).parent


class Server:
    """A running studio: `url` has the token, `get` and `post` send requests as its pages do."""

    def __init__(self, workspace, environment, *options):
        self.workspace, self.environment = workspace, environment
        command = [sys.executable, "-m", "tools_core", "ui", "--no-open", *options]
        self.process = subprocess.Popen(
            command, cwd=workspace, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.url = self.process.stdout.readline().strip()
        self.base = self.url.partition("/?")[0]
        self.root = f"/{self.base.rpartition('/')[2]}"
        self.origin = self.base.removesuffix(self.root)
        self.client = httpx2.Client(base_url=self.base, headers={"origin": self.origin}, timeout=30)

    @property
    def cookies(self):
        """The cookies of the client, for a browser."""
        names = ("name", "value", "domain", "path")
        return [{name: getattr(cookie, name) for name in names} for cookie in self.client.cookies.jar]

    def get(self, path, **options):
        return self.client.get(path.removeprefix(self.root), **options)

    def post(self, path, body=None):
        return self.client.post(path.removeprefix(self.root), json=body or {})

    def run_agent(self, prompt="What is here?", *, id="files", workspace=None):
        """Run the demo model until a call waits for approval, as another program; return the path of the session."""
        names, workspace = ("list_directory", "write_file"), str(workspace or self.workspace)
        metadata = {"title": prompt, "model": "scripted:demo", "workspace": workspace, "tools": names}
        with open_store(f"{self.environment['HOME']}/.local/share/ask-tools/sessions.sqlite3") as store:
            options = {
                "tools": [registry[name] for name in names],
                "policy": Policy(files=[], project=self.workspace),
                "workspace": workspace,
            }
            with Agent(Session(id=id, store=store, metadata=metadata), model="scripted:demo", **options) as agent:
                agent.generate(prompt)
        return f"/sessions/{id}"

    def run(self, tool, arguments, *, in_copy=False):
        """Start a call as the page does: with the key of the forecast."""
        path = f"/tools/{quote(tool, safe='')}"
        key = self.post(f"{path}/forecast", arguments).json()["key"]
        return self.post(f"{path}/calls", {"arguments": arguments, "key": key, "in_copy": in_copy}).text

    def close(self):
        self.client.close()
        self.process.terminate()
        self.process.communicate(timeout=20)


def make_environment(folder):
    """The environment of a user with an empty home and no keys."""
    home = folder / "home"
    home.mkdir()
    names = ("ASK_TOOLS_", "XDG_", "OPENAI_", "ANTHROPIC_", "GEMINI_", "GOOGLE_", "OPENROUTER_")
    return {name: value for name, value in os.environ.items() if not name.startswith(names)} | {"HOME": str(home)}


def make_workspace(folder):
    """A small project with the tools of the tests."""
    workspace = folder / "project"
    workspace.mkdir()
    (workspace / "notes.md").write_text("# Notes\n\n- one\n")
    shutil.copy(HERE / "tools_for_pages.py", workspace / "shop.py")
    return workspace


@pytest.fixture
def serve(tmp_path):
    """`serve(*options)`: start a studio for a new workspace; it ends with the test."""
    servers = []
    workspace, environment = make_workspace(tmp_path), make_environment(tmp_path)

    def serve(*options, signed_in=True, **variables):
        server = Server(workspace, environment | variables, *options)
        servers.append(server)
        if signed_in:
            server.client.get(server.url)
        return server

    serve.workspace, serve.environment = workspace, environment
    yield serve
    for server in servers:
        server.close()


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A studio with the tools of the tests and the file tools, for all tests of a module."""
    folder = tmp_path_factory.mktemp("studio")
    server = Server(make_workspace(folder), make_environment(folder), "--tools", "shop.py,tools-filesystem")
    server.client.get(server.url)
    yield server
    server.close()


@pytest.fixture
def studio(shared):
    """The shared studio, with an untouched file `notes.md`."""
    (shared.workspace / "notes.md").write_text("# Notes\n\n- one\n")
    shared.client.headers["origin"] = shared.origin
    return shared
