"""The jobs that run when the agent has finished."""

import json

import pytest

pytest.importorskip("tools_shell")


@pytest.mark.slow
@pytest.mark.parametrize(("answer", "is_built"), [("y", True), ("n", False)])
def test_run_offers_to_wait_for_jobs(place, terminal, model_server, monkeypatch, answer, is_built):
    wait = "until [ -e go ]; do sleep 0.05; done" if is_built else "sleep 600"
    arguments = json.dumps({"command": f"{wait}; echo built > out.txt"})
    call = {"index": 0, "id": "c", "type": "function", "function": {"name": "job_start", "arguments": arguments}}

    def reply(_, body):
        has_run = any(message["role"] == "tool" for message in body["messages"])
        delta = {"content": "It builds."} if has_run else {"tool_calls": [call]}
        reason = "stop" if has_run else "tool_calls"
        return [{"choices": [{"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": reason}]}]

    monkeypatch.setenv("OPENAI_BASE_URL", model_server(reply).url)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    run = terminal(("run", "Build", "--model", "openai:m"), columns=200)
    run.expect("mode auto: ")
    run.expect("1 job still running:")
    run.type(answer, after="wait until the end? (y/n) ")
    (place / "go").touch()
    screen = run.end()
    assert (place / "out.txt").exists() is is_built
    assert ("ended with this command: job-" in screen) is not is_built
