"""The profile for sandbox-exec of macOS: its rules and their order. No test has run it on macOS."""

from __future__ import annotations

import re

import pytest

from tools_core import ToolError
from tools_shell import Bash
from tools_shell._sandbox._seatbelt import profile, wrap
from tools_shell._sandbox._visible import Visible

VISIBLE = Visible(
    readable=("/usr",),
    writable=("/Users/ada/project",),
    guarded=("/Users/ada/project/.venv",),
    hidden=("/Users/ada/project/.config/ask-tools",),
)


def decisions(text, operation, path):
    """Return the decisions of the rules that apply to an operation on a path, in order."""
    matches = []
    for decision, operations, filters in re.findall(r"^\((allow|deny) ([a-z* -]+)((?:\n  .*)+)\)$", text, re.MULTILINE):
        paths = re.findall(r'\((subpath|literal) "(.*?)"\)', filters)
        applies = any(path == name or (kind == "subpath" and path.startswith(f"{name}/")) for kind, name in paths)
        if operation in operations.split() and applies:
            matches.append(decision)
    return matches


def make_profile(*, network=False):
    return profile(VISIBLE, ["/Users/ada/project/sub/.git/hooks"], "/private/tmp/x", network=network)


@pytest.mark.parametrize(
    ("operation", "path", "decision"),
    [
        ("file-write*", "/Users/ada/project/file", "allow"),
        ("file-write*", "/private/tmp/x/file", "allow"),
        ("file-read*", "/usr/bin/git", "allow"),
        ("file-write*", "/usr/bin/git", None),
        ("file-read*", "/Users/ada/.ssh/id", None),
        ("file-write*", "/Users/ada/project/sub/.git/hooks/pre-commit", "deny"),
        ("file-read*", "/Users/ada/project/sub/.git/hooks/pre-commit", "allow"),
        ("file-write-unlink", "/Users/ada/project/sub", "deny"),
        ("file-write*", "/Users/ada/project/.venv/bin/python", "deny"),
        ("file-read*", "/Users/ada/project/.config/ask-tools/policy.toml", "deny"),
        ("file-write*", "/Users/ada/project/.config/ask-tools/policy.toml", "deny"),
    ],
)
def test_the_last_matching_rule_of_the_profile_decides(operation, path, decision):
    text = make_profile()
    assert "(deny default)" in text
    assert ([None, *decisions(text, operation, path)])[-1] == decision


def test_the_network_is_allowed_on_request_only():
    assert "network" not in make_profile()
    assert "(allow network*)" in make_profile(network=True)


def test_a_path_cannot_end_its_string_in_the_profile():
    visible = Visible((), ('/a"\\) (allow default',))
    text = profile(visible, (), "/t", network=False)
    assert r'(subpath "/a\"\\) (allow default")' in text
    assert text.count("(") - text.count("\\)") >= text.count("(allow") > 0


def test_a_command_gets_a_private_home_and_keeps_its_arguments():
    arguments, environment = wrap(["/bin/ls", "-l"], {"HOME": "/home", "A": "b"}, VISIBLE, (), network=False)
    assert (arguments[:2], arguments[3:]) == (["/usr/bin/sandbox-exec", "-p"], ["/bin/ls", "-l"])
    assert environment["A"] == "b"
    assert environment["HOME"] == environment["TMPDIR"] != "/home"


def test_the_level_is_refused_on_other_systems(root):
    with pytest.raises(ToolError, match="needs macOS"):
        Bash(root, sandbox="seatbelt").diagnose()
