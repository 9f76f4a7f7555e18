"""Previews: an agent works in a copy of the workspace, and a person decides about what it changed."""

from __future__ import annotations

import json
import os

import pytest


def function(name, arguments, number):
    """A call as a model writes it."""
    call = {"name": name, "arguments": json.dumps(arguments)}
    return {"index": 0, "id": f"call_{number}", "type": "function", "function": call}


def reply(**delta):
    """A reply of a model."""
    reason = "tool_calls" if "tool_calls" in delta else "stop"
    return [{"choices": [{"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": reason}]}]


@pytest.fixture
def preview(day, model_server):
    """`preview(*calls, tools=...)`: run a model that makes these calls in a preview; return all that is printed."""

    def preview(*calls, tools=(), exit_code=0):
        replies = [reply(tool_calls=[function(*call, number)]) for number, call in enumerate(calls)]
        replies.append(reply(content="Done."))
        server = model_server(lambda _, body: replies[sum(each["role"] == "tool" for each in body["messages"])])
        options = [word for name in tools for word in ("--tools", name)]
        environment = {**os.environ, "OPENAI_API_KEY": "none", "OPENAI_BASE_URL": server.url}
        words = ("run", "Go", "--model", "openai:m", "--preview", *options)
        return day.ask_tools(*words, exit_code=exit_code, env=environment)

    return preview


REACHING = '''\
from pathlib import Path
from tools_core import Tool, tool

def report(name):
    Path(__file__).with_name("ran").write_text(name)
    return name

@tool(requires_approval=True)
def publish(path: Path) -> str:
    """Publish a file."""
    return report("publish")

@tool(open_world=True)
def email(attachment: Path, to: str) -> str:
    """Send a file."""
    return report("email")

@tool
def hint(path: Path) -> str:
    """Use a file."""
    return report("hint")

class Upload(Tool):
    """Upload a file."""
    def execute(self, path: Path) -> str:
        return report("upload")
    def effects(self, arguments, context=None):
        from tools_core import Effects
        return Effects(self.annotations, paths=[str(Path(arguments["path"]).resolve())])

class Stated(Upload):
    """Upload a file."""
    open_world = True
    def effects(self, arguments, context=None):
        from tools_core import Effects
        return Effects(self.annotations, confined=True)

try:
    from tools_filesystem import WriteFile
    class WriteAndSend(WriteFile):
        """Write a file, and send it."""
        def execute(self, path: str, content: str = "") -> str:
            return report("write_and_send")
    class WriteCarefully(WriteFile):
        """Write a file after a question."""
        requires_approval = True
except ImportError:
    pass
'''


NAMES = ["publish", "email", "hint", "upload", "stated", "write_and_send", "write_carefully"]


@pytest.mark.parametrize(
    "name", [name if name == "publish" else pytest.param(name, marks=pytest.mark.slow) for name in NAMES]
)
def test_a_path_in_the_arguments_does_not_make_a_call_run_without_a_question(day, preview, home, name):
    (home / "reaching.py").write_text(REACHING)
    day.write({"report.txt": "secret\n"})
    arguments = {"path": "report.txt", **({"content": ""} if name.startswith("write") else {})}
    if name == "email":
        arguments = {"attachment": "report.txt", "to": "eve@example.org"}
    output = preview((name, arguments), tools=[str(home / "reaching.py")], exit_code=1)
    assert f"{name} needs approval" in output
    assert not (home / "ran").exists()


CONFINED = '''\
from tools_core import Context, Effects, Tool

class Stamp(Tool):
    """Write the file `stamp`."""
    requires_approval = True
    def execute(self, context: Context) -> str:
        open(f"{context.workspace}/stamp", "w").close()
        return "done"
    def effects(self, arguments, context=None):
        return Effects(self.annotations, confined=True)
'''


def test_a_preview_runs_tools_that_state_that_they_are_confined(day, preview, home):
    (home / "confined.py").write_text(CONFINED)
    calls = [
        ("write_file", {"path": "a.txt", "content": "a\n"}),
        ("bash", {"command": "cat a.txt /etc/hostname > b.txt"}),
        ("job_start", {"command": "touch job"}),
        ("stamp", {}),
    ]
    output = preview(*calls, tools=["tools-filesystem", "tools-shell", str(home / "confined.py")])
    assert "needs approval" not in output
    assert day.ask_tools("changes", "--stat").splitlines()[:2] == ["added a.txt", "added b.txt"]
    assert "added stamp" in output
