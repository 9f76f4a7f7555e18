"""Tools of several packages under one policy: it allows, denies, or asks the program."""

import tempfile
from pathlib import Path
from typing import Any

from tools_core import ApprovalRequest, Context, Registry, ToolCall, tool
from tools_runtime import Executor, Policy
from tools_runtime.plugins import AuditLog

RULES: list[dict[str, Any]] = [
    {"decision": "allow", "tool": ["write_file", "edit_file"], "paths": ["notes/**"]},
    {"decision": "deny", "tool": "delete_path", "reason": "nothing may be deleted"},
]


@tool(open_world=True)
def send(text: str) -> str:
    """Send a message to the team."""
    return f"sent {text!r}"


def approve(request: ApprovalRequest) -> bool:
    print("approve?", request.tool.name, request.arguments)
    return request.tool.name == "send"


if __name__ == "__main__":
    registry = Registry()
    registry.discover(allow=["tools-filesystem"])
    registry.register(send)

    with tempfile.TemporaryDirectory() as folder:
        log = AuditLog(Path(folder, "calls.jsonl"))
        policy = Policy(RULES, files=[], project=False)
        context = Context(workspace=folder, run_id="demo")
        calls = [
            ToolCall("1", "write_file", {"path": "notes/todo.txt", "content": "buy milk\n"}),
            ToolCall("2", "read_file", {"path": "notes/todo.txt"}),
            ToolCall("3", "write_file", {"path": "setup.py", "content": ""}),
            ToolCall("4", "delete_path", {"path": "notes"}),
            ToolCall("5", "send", {"text": "the list is ready"}),
        ]
        with Executor(registry, hooks=[log], policy=policy, approve=approve) as executor:
            for call, result in executor.iterate(calls, context):
                print(call.id, call.name, result.error_type or "ok")
        print(Path(folder, "calls.jsonl").read_text().count('"event":"end"'), "calls in the log")

# Output:
# 1 write_file ok
# 2 read_file ok
# approve? write_file {'path': 'setup.py', 'content': ''}
# 3 write_file denied
# 4 delete_path denied
# approve? send {'text': 'the list is ready'}
# 5 send ok
# 5 calls in the log
