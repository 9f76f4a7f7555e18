"""The decision about the changes of a preview, on a terminal."""

import json

import pytest

pytest.importorskip("tools_shell")
pytest.importorskip("tools_workspace")
QUESTION = "what to do with the changes? "


@pytest.fixture
def preview(terminal, model_server, monkeypatch):
    """`preview(*scripts)`: run a model in a preview that starts the first script as a job, and then runs the others."""

    def preview(job, *scripts):
        names = ["job_start", *["bash"] * len(scripts)]
        replies = [{"content": "Done."}]
        for number, (name, script) in reversed(list(enumerate(zip(names, (job, *scripts), strict=True)))):
            function = {"name": name, "arguments": json.dumps({"command": script})}
            replies.insert(
                0, {"tool_calls": [{"index": 0, "id": f"c{number}", "type": "function", "function": function}]}
            )

        def reply(_, body):
            delta = replies[sum(message["role"] == "tool" for message in body["messages"])]
            reason = "tool_calls" if "tool_calls" in delta else "stop"
            return [{"choices": [{"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": reason}]}]

        monkeypatch.setenv("OPENAI_BASE_URL", model_server(reply).url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        return terminal(("run", "Go", "--model", "openai:m", "--mode", "preview"), columns=200)

    return preview


def test_jobs_cannot_change_a_shown_diff(place, preview, terminal):
    script = "echo nicer > deploy.sh; until [ -e go ]; do sleep 0.05; done; echo evil > deploy.sh; touch done"
    run = preview(script, "until [ -e deploy.sh ]; do sleep 0.05; done")
    run.expect("+nicer")
    run.expect(QUESTION)
    (copy,) = place.parent.glob("XDG_CACHE_HOME/ask-tools/copies/*/folder")
    (copy / "go").touch()
    run.type("s deploy.sh", after="")
    run.expect("applied 1 change")
    run.type("x", after=QUESTION)
    run.end()
    assert (place / "deploy.sh").read_text() == "nicer\n"


def test_protected_files_are_listed_first_and_need_approval(place, preview):
    run = preview("true", "mkdir .vscode && echo {} | tee .vscode/tasks.json a.json b.json")
    run.expect("added .vscode/tasks.json  (protected: programs run or trust it)")
    run.expect("added .vscode/")
    run.type("a", after=QUESTION)
    run.type("n", after="apply 1 protected change, too? (y/n) ")
    run.expect("applied 3 changes")
    run.type("s 1", after=QUESTION)
    assert "applied 1 change" in run.end()
    assert (place / ".vscode/tasks.json").read_text() == "{}\n"
