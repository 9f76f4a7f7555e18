"""`ask-tools run` with the SDK of a provider, against a server that is the model."""

import os
import re
import signal
import subprocess
import sys

import pytest

pytest.importorskip("openai")
pytest.importorskip("tools_filesystem")


@pytest.mark.parametrize(
    ("number", "code"),
    [
        pytest.param(signal.SIGINT, 130, marks=pytest.mark.slow),
        pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow),
        (signal.SIGKILL, -signal.SIGKILL),
    ],
)
def test_another_process_continues_an_interrupted_or_killed_run(connect, tmp_path, number, code):
    write = ("call_1", "write_file", '{"path": "a.txt", "content": "x"}')
    answers = [{"texts": ["I write."], "calls": [write]}, {"texts": ["Half"], "sent": 2, "waits": True}]
    server = connect("openai", *answers, {"texts": ["All ", "done."]}).server
    (tmp_path / "rules.toml").write_text('[[rule]]\ndecision = "allow"\ntool = "write_file"\npaths = ["*.txt"]\n')
    command = [sys.executable, "-m", "tools_core", "run", "--session", "s", "--policy", "rules.toml"]
    environment = {
        **os.environ, "OPENAI_API_KEY": "key", "OPENAI_BASE_URL": f"{server.url}/v1", "XDG_CONFIG_HOME": str(tmp_path),
        "ASK_TOOLS_SESSIONS": str(tmp_path / "sessions"),
    }  # fmt: skip
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": environment, "cwd": tmp_path}
    with subprocess.Popen([*command, "Write a file", "--model", "openai:gpt-5"], **pipes) as first:
        assert first.stdout.readline() == "I write.\n"
        assert server.is_waiting.wait(60)  # in the middle of its second reply
        first.send_signal(number)
        assert first.wait() == code
        errors = first.stderr.read()
        assert '→ write_file {"path": "a.txt", "content": "x"}\n← Created' in errors
        if code > 0:
            lines = [
                "1 change in this turn; to undo: ask-tools undo",
                "interrupted; continue with: ask-tools run --session s --policy rules.toml",
            ]
            assert errors.splitlines()[-2:] == lines
    second = subprocess.run(command, check=False, **pipes)
    assert (second.returncode, second.stdout) == (0, "All done.\n")
    assert re.search(r"tokens: 10 in, 5 out(; \$[\d.]+)?; session s\n\Z", second.stderr)  # the price if it is known
    roles = [message["role"] for message in server.bodies[-1]["messages"]]
    assert roles == ["system", "user", "assistant", "tool"]
    assert server.bodies[-1]["messages"][3]["tool_call_id"] == "call_1"


@pytest.mark.slow
def test_a_failed_request_prints_the_command_that_continues_the_session(connect, tmp_path):
    server = connect("openai", {"status": 401}, {"texts": ["Done."]}).server
    command = [sys.executable, "-m", "tools_core", "run", "--session", "s"]
    environment = {
        **os.environ, "OPENAI_API_KEY": "key", "OPENAI_BASE_URL": f"{server.url}/v1",
        "ASK_TOOLS_SESSIONS": str(tmp_path / "sessions"),
    }  # fmt: skip
    options = {"env": environment, "capture_output": True, "text": True}
    failed = subprocess.run([*command, "Hi", "--model", "openai:gpt-5"], check=False, **options)
    assert failed.returncode == 1
    assert failed.stderr.endswith("check the API key\n  continue with: ask-tools run --session s\n")
    assert subprocess.run(command, check=False, **options).stdout == "Done.\n"
