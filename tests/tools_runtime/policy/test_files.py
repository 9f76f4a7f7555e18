"""Policy files: where they are, who may write them, what is refused, and who may loosen what."""

from __future__ import annotations

import logging
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools_core import ToolCall
from tools_runtime._policy import Policy, PolicyError
from tools_runtime._policy._approvals import Approvals, default_file
from tools_runtime._policy._read import read_rules

ALLOW = '[[rule]]\ndecision = "allow"\ntool = "save"\n'
DENY = '[[rule]]\ndecision = "deny"\ntool = "save"\n'
ASK = '[[rule]]\ndecision = "ask"\ntool = "save"\n'


@pytest.fixture
def outcome(place, tools):
    """What the files on disk say of one call."""

    def decided(arguments=None):
        call = ToolCall("1", "save", arguments or {"path": "a"})
        return Policy().decide(call, tools.save, place.context)

    return decided


def trust(place):
    Approvals(str(place.project)).trust(place.theirs.read_bytes())


def test_the_users_file_is_read(place, outcome):
    place.user.write_text(ALLOW)
    decision = outcome()
    assert decision.outcome == "allow"
    assert str(decision.rule) == f"rule 1 of {place.user}"


def test_files_that_are_given_take_the_place_of_the_users(place, tools, tmp_path):
    place.user.write_text(DENY)
    own = tmp_path / "own.toml"
    own.write_text(ALLOW)
    policy = Policy(files=[own])
    assert policy.decide(ToolCall("1", "save", {"path": "a"}), tools.save).outcome == "allow"
    with pytest.raises(PolicyError, match="no such file"):
        Policy(files=[tmp_path / "gone.toml"])


def test_a_relative_configuration_folder_is_ignored(place, outcome, monkeypatch):
    (place.project / "ask-tools").mkdir()
    (place.project / "ask-tools" / "policy.toml").write_text(ALLOW)
    monkeypatch.setenv("XDG_CONFIG_HOME", ".")
    assert outcome().outcome == "ask"


@pytest.mark.parametrize("home", ["", ".", "~"])
def test_without_a_home_no_folder_of_the_project_is_the_users(place, outcome, monkeypatch, home):
    for folder in (".config", "~/.config"):
        (place.project / folder / "ask-tools").mkdir(parents=True)
        (place.project / folder / "ask-tools" / "policy.toml").write_text(ALLOW)
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", home)
    assert outcome().outcome == "ask"
    assert default_file() == "/.local/state/ask-tools/approvals.json"


@pytest.mark.parametrize(
    ("user", "theirs", "is_trusted", "expected"),
    [
        ("", "", False, "ask"),
        (ALLOW, "", False, "allow"),
        (ALLOW, DENY, False, "deny"),  # a project may be stricter
        (ALLOW, ASK, False, "ask"),
        (ASK, ALLOW, True, "ask"),  # and never laxer
        (DENY, ALLOW, True, "deny"),
        (DENY, ASK, True, "deny"),
        ("", ALLOW, False, "ask"),  # nor does it allow anything by itself
        ("", ALLOW, True, "allow"),
        ("", DENY, False, "deny"),
        ("", ALLOW + DENY, False, "ask"),
        ("", DENY + ALLOW, True, "deny"),
    ],
)
def test_a_project_tightens_and_does_not_loosen(place, outcome, user, theirs, is_trusted, expected):
    if user:
        place.user.write_text(user)
    if theirs:
        place.theirs.write_text(theirs)
    if is_trusted:
        trust(place)
    assert outcome().outcome == expected


def test_trust_ends_when_the_file_changes_by_one_byte(place, outcome):
    place.theirs.write_text(ALLOW)
    trust(place)
    assert outcome().outcome == "allow"
    place.theirs.write_text(ALLOW + "\n")
    assert outcome().outcome == "ask"
    assert any("trust" in reason for reason in outcome().reasons)


def test_trust_in_one_project_is_none_in_another(place, outcome, tools, tmp_path):
    place.theirs.write_text(ALLOW)
    trust(place)
    other = tmp_path / "other"
    other.mkdir()
    (other / "ask-tools.toml").write_text(ALLOW)
    policy = Policy(project=other)
    assert policy.decide(ToolCall("1", "save", {"path": "a"}), tools.save).outcome == "ask"
    assert any("nobody here has trusted" in text for text in policy.warnings)


def test_the_project_is_found_from_a_folder_inside_it(place, outcome, monkeypatch):
    place.theirs.write_text(DENY)
    monkeypatch.chdir(place.project / "src")
    assert outcome().outcome == "deny"


def test_the_top_of_a_repository_is_where_a_project_ends(place, outcome, monkeypatch):
    place.theirs.write_text(DENY)
    inner = place.project / "src" / "inner"
    (inner / ".git").mkdir(parents=True)
    monkeypatch.chdir(inner)
    assert outcome().outcome == "ask"


# ------------------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[rule", ["TOML"]),
        ("[[rules]]\n", ["rules", "did you mean rule"]),
        ("rule = 1\n", ["[[rule]]"]),
        ("[[rule]]\n", ["rule 1", "decision is missing"]),
        ('[[rule]]\ndecision = "alow"\n', ["rule 1", "alow", "did you mean allow"]),
        ("[[rule]]\ndecision = true\n", ["rule 1", "decision is True"]),
        (ALLOW + '[[rule]]\ndecision = "allow"\ntols = "x"\n', ["rule 2", "tols", "did you mean tool"]),
        ('[[rule]]\ndecision = "allow"\ntool = []\n', ["rule 1", "tool"]),
        ('[[rule]]\ndecision = "allow"\ntool = [1]\n', ["rule 1", "tool"]),
        ('[[rule]]\ndecision = "allow"\ntool = "dist:save"\n', ["distribution"]),
        ('[[rule]]\ndecision = "allow"\ntool = "s\u0430ve"\n', ["ASCII", "\\u0430"]),
        ('[[rule]]\ndecision = "allow"\nread_only = "yes"\n', ["read_only", "true or false"]),
        ('[[rule]]\ndecision = "allow"\npaths = ["../x"]\n', ["paths", ".."]),
        ('[[rule]]\ndecision = "allow"\npaths = ["a**"]\n', ["paths", "**"]),
        ('[[rule]]\ndecision = "allow"\npaths = ["~root/x"]\n', ["paths", "~root"]),
        ('[[rule]]\ndecision = "deny"\npaths = ["secret/"]\n', ["paths", "write secret/**"]),
        ('[[rule]]\ndecision = "deny"\npaths = ["$HOME/x"]\n', ["paths", "variables"]),
        ('[[rule]]\ndecision = "deny"\npaths = ["file:///etc/**"]\n', ["paths", "URLs"]),
        ('[[rule]]\ndecision = "allow"\npaths = {}\n', ["paths"]),
        ("[[rule]]\ndecision = 'deny'\ncommands = [\"rm 'a b'\"]\n", ["commands", "quotes"]),
        ('[[rule]]\ndecision = "deny"\narguments = { x = { min = 5, max = 1 } }\n', ["arguments.x", "min"]),
        ('[[rule]]\ndecision = "allow"\ncommands = ["ls; rm x"]\n', ["commands", "one simple command"]),
        ('[[rule]]\ndecision = "allow"\ncommands = [" "]\n', ["commands"]),
        ('[[rule]]\ndecision = "allow"\narguments = 3\n', ["arguments", "table"]),
        ('[[rule]]\ndecision = "allow"\narguments = { x = { mx = 1 } }\n', ["arguments.x", "mx", "did you mean max"]),
        ('[[rule]]\ndecision = "allow"\narguments = { x = { max = "1" } }\n', ["arguments.x", "max"]),
        ('[[rule]]\ndecision = "allow"\narguments = { x = { max = nan } }\n', ["arguments.x", "max"]),
        ('[[rule]]\ndecision = "allow"\narguments = { x = { glob = "a", max = 1 } }\n', ["arguments.x", "glob"]),
        ('[[rule]]\ndecision = "allow"\narguments = { x = [] }\n', ["arguments.x"]),
        ('[[rule]]\ndecision = "deny"\narguments = { x = nan }\n', ["arguments.x", "nan"]),
        ('[[rule]]\ndecision = "deny"\narguments = { x = [1, nan] }\n', ["arguments.x", "nan"]),
        ('[[rule]]\ndecision = "allow"\narguments = { x = {} }\n', ["arguments.x"]),
        ('[[rule]]\ndecision = "allow"\nreason = 3\n', ["reason"]),
    ],
)
@pytest.mark.parametrize("who", ["user", "theirs"])
def test_a_file_that_is_not_understood_is_refused_by_file_rule_and_key(place, text, words, who):
    file = getattr(place, who)
    file.write_text(text, encoding="utf-8")
    with pytest.raises(PolicyError) as caught:
        Policy()
    for word in (str(file), *words):
        assert word in str(caught.value)


def test_a_file_that_is_no_text_or_no_file_is_refused(place):
    place.user.write_bytes(b"\xff\xfe")
    with pytest.raises(PolicyError, match="TOML"):
        Policy()
    place.user.unlink()
    place.user.mkdir()
    with pytest.raises(PolicyError):
        Policy()
    place.user.rmdir()
    os.mkfifo(place.user)
    with pytest.raises(PolicyError, match="regular"):
        Policy()


@pytest.mark.parametrize("who", ["user", "theirs"])
def test_a_link_that_leads_nowhere_is_not_taken_for_no_policy(place, who):
    file = getattr(place, who)
    file.symlink_to(place.home / "unmounted" / "policy.toml")
    with pytest.raises(PolicyError, match="link"):
        Policy()


def test_a_file_that_others_can_write_to_is_refused(place):
    place.user.write_text(ALLOW)
    place.user.chmod(0o666)
    with pytest.raises(PolicyError, match="anybody can write"):
        Policy()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_file_of_another_user_is_refused(place):
    place.user.write_text(ALLOW)
    os.chown(place.user, 65534, 65534)
    with pytest.raises(PolicyError, match="another user"):
        Policy()


def test_a_huge_file_is_refused(place):
    place.user.write_text("#" * 1_000_001)
    with pytest.raises(PolicyError, match="longer"):
        Policy()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(["decision", "tool", "read_only", "paths", "commands", "arguments", "reason", "tol"])


@given(st.lists(st.dictionaries(KEYS, JSON | st.sampled_from(["allow", "deny"])), max_size=3) | JSON)
def test_rules_of_any_form_are_read_or_refused_and_nothing_else(given):
    try:
        rules = read_rules(given, "x")
    except PolicyError:
        return
    assert len(rules) == len(given)
    assert all(rule.decision in ("allow", "ask", "deny") for rule in rules)


# ------------------------------------------------------------------------------------------------------------- warnings


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ({}, "every tool"),
        ({"tool": "*"}, "every tool"),
        ({"tool": ["save", "?*"]}, "every tool"),
        ({"tool": "bash"}, "bash"),
        ({"tool": "b*"}, "bash"),
        ({"tool": "pyth[o]n"}, "python"),
        ({"tool": "x", "destructive": True}, "destructive"),
        ({"tool": "x", "open_world": True}, "open_world"),
        *(
            ({"tool": "bash", "commands": [command]}, "commands")
            for command in (
                "*", "* status", "sh *", "bash *", "/bin/bash *", "python *", "python3.11 -c *", "sudo *", "env *",
                "xargs *", "find *", "git *", "bash", "> *", "l? x", "perl -e *",
            )
        ),
        *(
            ({"tool": "save", "paths": [path]}, "paths")
            for path in ("/**", "/*/**", "/etc/*", "~/**", "~/.*", "/**/*", "/**/.ssh/**")
        ),
    ],
)  # fmt: skip
def test_what_loosens_too_much_is_told_once_with_file_and_number(place, caplog, rule, words):
    with caplog.at_level(logging.WARNING, "tools_runtime"):
        policy = Policy([{"decision": "deny", "tool": "y"}, {"decision": "allow", **rule}], files=[])
    assert len(policy.warnings) >= 1
    assert any(words in text and "rule 2 of" in text for text in policy.warnings)
    assert [record.getMessage() for record in caplog.records] == [f"policy: {text}" for text in policy.warnings]


@pytest.mark.parametrize(
    "rule",
    [
        {"tool": "save"},
        {"read_only": True},
        {"tool": "*", "read_only": True},
        {"tool": "bash", "commands": ["ls *", "git status", "git diff *", "make test", "python -m pytest"]},
        {"tool": "save", "paths": ["src/**", "/srv/app/**", "~/notes/**", "**"]},
    ],
)
def test_what_is_narrow_is_not_warned_of(place, rule):
    assert Policy([{"decision": "allow", **rule}], files=[]).warnings == []


def test_denying_everything_is_nothing_to_warn_of(place):
    assert Policy([{"decision": "deny"}, {"decision": "ask", "commands": ["*"]}], files=[]).warnings == []


def test_a_rule_that_allows_a_destructive_tool_is_told_of_when_it_first_does(place, execute, caplog):
    policy = Policy([{"decision": "allow", "tool": "run"}], files=[])
    assert policy.warnings == []
    with caplog.at_level(logging.WARNING, "tools_runtime"):
        for number in "12":
            assert execute(policy, ToolCall(number, "run")).is_ok
    assert len(policy.warnings) == 1
    assert "destructive" in policy.warnings[0]
    assert len(caplog.records) == 1
