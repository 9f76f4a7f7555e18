"""Rules about effects: resolved paths, and commands by their words."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tools_core import Context, ToolCall, tool
from tools_runtime import Policy


def allow(**conditions):
    return [{"decision": "allow", **conditions}]


def deny(**conditions):
    return [{"decision": "deny", **conditions}, {"decision": "allow", "tool": "*"}]


# paths


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("src/a", "allow"),
        ("./src//a", "allow"),
        ("src", "allow"),
        ("src/../a", "ask"),
        ("srcs/a", "ask"),
        ("src/out/a", "ask"),
        ("src/back/a", "ask"),  # the link itself is inside, its target is outside
        ("link/a", "allow"),
        ("link", "ask"),  # the target is inside, the link itself is outside
        ("link/../a", "ask"),
        ("src/far/../a", "ask"),  # the system follows the link first
        ("~/a", "ask"),
        ("$HOME/a", "ask"),
        ("src/dangling", "ask"),
        ("src/\0", "ask"),
    ],
)
def test_a_path_is_judged_by_the_file_that_it_names(place, decide, tools, path, expected):
    (place.project / "other").mkdir()
    (place.project / "src" / "out").symlink_to(place.home)
    (place.project / "src" / "dangling").symlink_to(place.home / "gone")
    (place.project / "src" / "back").symlink_to(place.project / "other")
    (place.project / "link").symlink_to("src")
    (place.project / "src" / "far").symlink_to(place.home / "config")
    assert decide(allow(tool="save", paths=["src/**"]), tools.save, {"path": path}) == expected


def test_a_denied_place_is_denied_by_any_of_its_names(place, decide, tools):
    secret = place.home / ".ssh"
    secret.mkdir()
    (place.project / "src" / "x").symlink_to(secret)
    names = ["src/x", "src/x/id", "../home/.ssh/id", "~/.ssh/id", "$HOME/.ssh/id", str(secret), f"{secret}//./new"]
    outcomes = {name: decide(deny(paths=["~/.ssh/**"]), tools.save, {"path": name}) for name in names}
    assert outcomes == dict.fromkeys(names, "deny")
    assert decide(deny(paths=["~/.ssh/**"]), tools.save, {"path": "src/y"}) == "allow"


def test_every_path_must_be_covered_to_allow_and_any_one_to_deny(decide):
    @tool
    def copy(source: Path, targets: list[Path], named: dict[str, Path] | None = None) -> str:
        """Copies."""
        return ""

    inside = {"source": "src/a", "targets": ["src/b"], "named": {"x": "src/c"}}
    assert decide(allow(tool="copy", paths=["src/**"]), copy, inside) == "allow"
    for outside in ({"source": "z"}, {"targets": ["src/b", "z"]}, {"named": {"x": "src/c", "y": "z"}}):
        assert decide(allow(tool="copy", paths=["src/**"]), copy, inside | outside) == "ask"
        assert decide(deny(paths=["z"]), copy, inside | outside) == "deny"


def test_a_missing_path_counts_as_its_default(decide):
    @tool
    def clean(folder: Path = Path("secret")) -> str:
        """Cleans."""
        return ""

    @tool
    def sweep(folder: Path = None, color: str = "red") -> str:  # noqa: RUF013
        """Sweeps."""
        return ""

    rules = deny(paths=["secret/**"])
    assert [decide(rules, clean, arguments) for arguments in ({}, {"folder": "src"})] == ["deny", "allow"]
    assert [decide(rules, sweep, arguments) for arguments in ({}, {"folder": "src"})] == ["ask", "allow"]
    assert decide(allow(tool="clean", paths=["src/**"]), clean, {}) == "ask"


A_PATH = {"type": "string", "format": "path"}


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"f": {"anyOf": [A_PATH, {"type": "null"}]}}},
        {"properties": {"f": {"type": "string", "format": "file-path"}}},
        {"properties": {"f": {"type": "array", "items": A_PATH}}},
        {"additionalProperties": A_PATH},
        {"patternProperties": {"^f": A_PATH}},
        {"if": {"required": ["f"]}, "then": {"properties": {"f": A_PATH}}},
    ],
)
def test_a_path_is_seen_wherever_a_schema_declares_it(decide, schema):
    move = tool(lambda **_: "", name="move", description="Moves.", input_schema={
        "type": "object", "properties": {"record": {"type": "object", **schema}},
    })  # fmt: skip
    value = ["secret/x"] if "array" in str(schema) else "secret/x"
    assert decide(deny(paths=["secret/**"]), move, {"record": {"f": value}}) == "deny"
    whole_schema = {"type": "object", **schema, "additionalProperties": schema.get("additionalProperties", True)}
    flat = tool(lambda **_: "", name="flat", description="Moves.", input_schema=whole_schema)
    assert decide(deny(paths=["secret/**"]), flat, {"f": value}) == "deny"


def _covers(pattern, parts, star):
    """Match by trying everything."""
    if not pattern:
        return not parts
    if pattern[0] == star:
        return any(_covers(pattern[1:], parts[n:], star) for n in range(len(parts) + 1))
    return bool(parts) and pattern[0] in ("*", parts[0]) and _covers(pattern[1:], parts[1:], star)


fixtures = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
NAMES = st.lists(st.sampled_from(["q", "r"]), max_size=5)


@fixtures
@given(st.lists(st.sampled_from(["q", "r", "*", "**"]), min_size=1, max_size=5), NAMES.filter(bool))
def test_path_patterns_agree_with_trying_everything(decide, tools, pattern, path):
    rule, arguments = {"paths": ["/" + "/".join(pattern)]}, {"path": "/" + "/".join(path)}
    content = [] if "*" in pattern[-1] else ["**"]
    assert decide(deny(**rule), tools.save, arguments) == (
        "deny" if _covers([*pattern, *content], path, "**") else "allow"
    )
    assert decide(allow(**rule), tools.save, arguments) == ("allow" if _covers(pattern, path, "**") else "ask")


@given(st.lists(st.sampled_from(["..", "src", ".", "other", "x", ""]), max_size=7))
def test_no_spelling_of_a_path_leaves_the_allowed_folder(parts):
    with tempfile.TemporaryDirectory() as top:
        workspace = os.path.join(os.path.realpath(top), "w")
        os.makedirs(os.path.join(workspace, "src", "x"))
        os.makedirs(os.path.join(workspace, "other"))

        @tool
        def write(path: Path) -> str:
            """Writes."""
            return ""

        text = "/".join(parts).lstrip("/") or "."
        policy = Policy(allow(tool="write", paths=["src/**"]), files=[], project=workspace)
        decision = policy.decide_tool_call(ToolCall("1", "write", {"path": text}), write, Context(workspace=workspace))
        if decision.outcome == "allow":
            inside = os.path.join(workspace, "src")
            assert os.path.commonpath([os.path.realpath(os.path.join(workspace, text)), inside]) == inside


# commands


@pytest.mark.parametrize(
    ("pattern", "command", "expected"),
    [
        ("git status", ["git", "status"], True),
        ("git status", ["git", "status", "-s"], False),
        ("git diff *", ["git", "diff", "HEAD", "--stat"], True),
        ("git diff *", ["git", "diff", None], True),
        ("git diff", ["git", "diff", None], False),
        ("git diff */a", ["git", "diff", None], False),
        ("git diff *", ["LC_ALL=C", "git", "diff"], True),
        ("git diff *", ["git", "-c", "core.pager=x", "diff"], False),
        ("git diff *", ["/x/git", "diff"], False),
        ("git diff *", ["GIT_EXTERNAL_DIFF=x", "git", "diff"], False),
        ("CI=1 make *", ["CI=1", "make", "test"], True),
        ("ls", ["ls\nrm"], False),
        ("*", [None], False),
        ("cp * b", ["cp", "a", "b"], True),
        ("> build/*", [">", "build/a/b"], True),
        ("> build/*", [">", "build/../x"], False),
        ("> ../build/*", [">", "../build/x"], True),
    ],
)
def test_a_pattern_covers_words(decide, tools, pattern, command, expected):
    assert decide(allow(tool="run", commands=[pattern]), tools.run, {"commands": [command]}) == (
        "allow" if expected else "ask"
    )


@pytest.mark.parametrize(
    ("pattern", "command", "expected"),
    [
        ("rm *", ["rm", "-rf", "x"], "deny"),
        ("rm *", ["/bin/rm", "x"], "deny"),
        ("rm *", ["A=1", "B=2", "rm", "x"], "deny"),
        ("rm *", ["ls", "rm", "x"], "allow"),
        ("rm *", [None, "x"], "ask"),
        ("rm *", ["r", None], "allow"),
        ("git push * --force *", ["git", "push", "origin", "--force"], "deny"),
        ("git push * --force *", ["git", "push", None], "ask"),
        ("git push * --force *", ["git", "pull", None], "allow"),
        ("A=1", ["A=1"], "deny"),
        ("> /etc/*", [">", "/etc/../x"], "ask"),
    ],
)
def test_a_denied_command_is_recognised_in_any_form(decide, tools, pattern, command, expected):
    assert decide(deny(commands=[pattern]), tools.run, {"commands": [command]}) == expected


WORDS = st.lists(st.sampled_from(["ls", "rm", "x"]), min_size=1, max_size=4)
PATTERN = st.lists(st.sampled_from(["ls", "rm", "x", "*"]), min_size=1, max_size=4)


@fixtures
@given(st.lists(PATTERN, min_size=1, max_size=3), st.lists(WORDS, max_size=3), st.integers(0, 4))
def test_to_allow_each_command_must_be_covered_and_to_deny_any_one(decide, tools, patterns, commands, hidden):
    texts = [" ".join(pattern) for pattern in patterns]
    covered = [any(_covers(pattern, words, "*") for pattern in patterns) for words in commands]
    arguments = {"commands": commands}
    allowed = decide(allow(tool="run", commands=texts), tools.run, arguments)
    assert allowed == ("allow" if covered and all(covered) else "ask")
    assert decide(deny(commands=texts), tools.run, arguments) == ("deny" if any(covered) else "allow")
    masked = {"commands": [[None if n == hidden else word for n, word in enumerate(words)] for words in commands]}
    if any(covered):  # an unknown word never makes a denied command pass
        assert decide(deny(commands=texts), tools.run, masked) != "allow"


@pytest.mark.parametrize("decision", ["deny", "ask"])
def test_a_rule_about_files_applies_to_calls_on_their_folder(place, decide, decision):
    @tool(read_only=True)
    def search(folder: Path = Path()) -> str:
        """Searches below a folder."""
        return ""

    for path in ("conf/private", "src/deep"):
        (place.project / path).mkdir(parents=True)
    (place.project / "conf" / "private" / "key").touch()
    (place.project / ".env").touch()
    rules = [{"decision": decision, "paths": ["conf/private/**", ".env", "src/**/*.key", "gone/**"]}, *allow()]
    folders = {".": "ask", "..": "ask", "conf": "ask", "src": "ask", "src/deep": "ask", "gone": decision}
    assert {folder: decide(rules, search, {"folder": folder}) for folder in folders} == folders
    assert decide(rules, search, {"folder": "conf/private/key"}) == decision
    assert decide(rules, search, {"folder": "src/new.txt"}) == "allow"
    assert decide([{"decision": decision, "paths": ["gone/**"]}, *allow()], search) == "allow"


def test_a_rule_that_allows_covers_only_the_named_paths(place, decide, tools):
    assert decide(allow(paths=["src/deep/**"]), tools.save, {"path": "src"}) == "ask"


# the tools of the project


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("ls -l | wc -l", "allow"),
        ("git diff HEAD", "allow"),
        ("ls; rm -rf ~", "deny"),
        ("ls && $(curl example.org)", "ask"),
        ("a=rm; $a -rf /", "ask"),
        ("ls > ~/.bashrc", "ask"),
        ("PATH=. ls", "ask"),
        ("ls | xargs rm", "deny"),
        ("echo x > build/y", "allow"),
        ("echo x > build/../ask-tools.toml", "ask"),
    ],
)
def test_a_script_is_judged_by_each_of_its_commands(place, decide, script, expected):
    shell = pytest.importorskip("tools_shell")
    rules = [
        {"decision": "deny", "commands": ["rm *"]},
        *allow(tool="bash", commands=["ls *", "wc *", "git diff *", "echo *", "> build/*"]),
    ]
    outcome = decide(rules, shell.Bash(place.project), {"command": script})
    assert outcome in (expected, "ask" if expected == "deny" else expected)


def test_the_file_tools_are_judged_by_their_own_folders(place, decide):
    files = pytest.importorskip("tools_filesystem")
    (place.project / "src" / ".env").write_text("")
    rules = deny(paths=["/**/.env"])
    assert decide(rules, files.ReadFile(place.project / "src"), {"path": ".env"}) == "deny"
    assert decide(rules, files.ReadFile(), {"path": "src/.env"}) == "deny"
    assert decide(rules, files.ReadFile(), {"path": "src/x"}) == "allow"
