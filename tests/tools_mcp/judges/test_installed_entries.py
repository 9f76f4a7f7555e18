"""Real clients start the server that `ask-tools mcp install` put into their configuration."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

# Client -> the npm package and its command. Codex, which is larger, was tried by hand.
CLIENTS = {
    "claude-code": ("@anthropic-ai/claude-code@2.1.197", "claude"),
    "gemini-cli": ("@google/gemini-cli@0.61.0", "gemini"),
}
QUIET = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "GEMINI_CLI_TRUST_WORKSPACE": "true"}


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_connects_to_the_server_of_its_entry(client, npm, environ, tmp_path):
    release, program = CLIENTS[client]
    node, modules = npm(release)
    user = {**environ, **QUIET, "HOME": str(tmp_path), "PATH": f"{node.parent}:{environ['PATH']}"}
    (tmp_path / "project").mkdir()

    def run(*command):
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "timeout": 120}
        completed = subprocess.run(command, cwd=tmp_path / "project", env=user, check=False, **options)
        assert completed.returncode == 0, completed.stdout
        return completed.stdout

    run(sys.executable, "-m", "tools_core", "mcp", "install", client)
    assert "Connected" in run(modules / ".bin" / program, "mcp", "list")
