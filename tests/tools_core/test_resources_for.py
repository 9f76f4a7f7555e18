"""What a call would touch is told before it is made, by those tools that know it."""

from __future__ import annotations

from tools_core import Context, Tool, tool


def test_a_tool_says_nothing_unless_it_knows():
    @tool
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    assert add.resources_for({"a": 1, "b": 2}) == {}
    assert add.resources_for({"wrong": object()}) == {}
    assert add.resources_for({}, Context()) == {}


def test_a_tool_that_knows_overrides_it_and_no_body_runs():
    ran = []

    class Save(Tool):
        """Save."""

        def execute(self, path: str) -> None:
            ran.append(path)

        def resources_for(self, arguments, context=None):
            path = arguments.get("path")
            root = "/" if context is None else context.workspace
            return {"paths": [f"{root}/{path}"]} if isinstance(path, str) else None

    assert Save().resources_for({"path": "a"}, Context(workspace="/ws")) == {"paths": ["/ws/a"]}
    assert Save().resources_for({}) is None
    assert Save().renamed("keep").resources_for({"path": "a"}, Context(workspace="/ws")) == {"paths": ["/ws/a"]}
    assert ran == []
