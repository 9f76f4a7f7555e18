"""`ask-tools doctor` reports the isolation that commands get on a machine."""

from __future__ import annotations

import os

import pytest

from tools_core import Context, ToolError
from tools_shell import Bash, JobStart, Python

pytestmark = pytest.mark.skipif(os.name != "posix", reason="these tools need a POSIX system")


@pytest.mark.parametrize("level", ["none", "contained", "sandboxed"])
def test_the_reported_isolation_is_that_of_a_command(tmp_path, level):
    facts = Bash(sandbox=level, root=tmp_path).diagnose()
    called = Bash(sandbox=level, root=tmp_path).call({"command": "true"}, Context())
    assert (facts["isolation"], facts["not_isolated"]) == (
        called.metadata["isolation"],
        called.metadata["not_isolated"],
    )
    assert facts["isolation_level"] == level


def test_all_tools_report_the_same_isolation(tmp_path):
    first, *others = [cls(root=tmp_path).diagnose() for cls in (Bash, JobStart, Python)]
    assert all(other == first for other in others)
    assert first["programs"].keys() == {"bash", "bwrap"}


def test_a_missing_sandbox_is_explained(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    facts = Bash(root=tmp_path, sandbox="sandboxed").diagnose()
    assert facts["programs"] == {"bash": None, "bwrap": None}
    assert ("warnings" in facts) == (facts["isolation"] in ("contained", "none"))
    if "warnings" in facts:
        assert "a sandbox is required" in facts["warnings"][0]


def test_a_missing_required_sandbox_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolError, match="bubblewrap"):
        Bash(root=tmp_path, sandbox="bubblewrap").diagnose()


def test_programs_that_do_not_start_in_a_sandbox_are_named(tmp_path, monkeypatch):
    for name, text in (
        ("secret/tool", "#!/bin/sh"),
        ("bin/script", f"#!{tmp_path}/secret/tool"),
        ("bin/fine", "#!/bin/sh"),
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    (tmp_path / ".ssh").mkdir()
    (tmp_path / "secret").rename(tmp_path / ".ssh" / "x")
    (tmp_path / "bin" / "link").symlink_to(tmp_path / ".ssh" / "x" / "tool")
    (tmp_path / "bin" / "script").write_text(f"#!{tmp_path}/.ssh/x/tool")
    (tmp_path / "work").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    try:
        facts = Bash(root=tmp_path / "work", sandbox="required").diagnose()
    except ToolError as error:
        pytest.skip(f"this system has no sandbox: {error.message}")
    target = tmp_path / ".ssh" / "x" / "tool"
    assert facts["missing_programs"] == [
        f"{tmp_path}/bin/link does not start in a sandbox: it is a link to {target}, which is hidden",
        f"{tmp_path}/bin/script does not start in a sandbox: it is a script for {target}, which is hidden",
    ]
