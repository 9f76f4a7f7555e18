"""Policy files: their places, refused files, and trust in a project."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tools_core import ApprovalRequest, Context, ToolCall
from tools_runtime import Policy, PolicyError

ALLOW = '[[rule]]\ndecision = "allow"\ntool = "save"\n'
DENY = '[[rule]]\ndecision = "deny"\ntool = "save"\n'
ASK = '[[rule]]\ndecision = "ask"\ntool = "save"\n'
CALL = ToolCall("1", "save", {"path": "a"})


@pytest.fixture
def decision(place, tools):
    """Decide about one call by the files on disk."""
    return lambda **options: Policy(**options).decide_tool_call(CALL, tools.save, Context(workspace=place.project))


def test_the_users_file_is_read(place, decision):
    place.user.write_text(ALLOW)
    assert decision().outcome == "allow"
    assert decision().by == f"rule 1 of {place.user}"


def test_files_that_are_given_replace_the_users(place, decision, tmp_path):
    place.user.write_text(DENY)
    policy_file = tmp_path / "own.toml"
    policy_file.write_text(ALLOW)
    assert decision(files=[policy_file]).outcome == "allow"
    with pytest.raises(PolicyError, match="no such file"):
        Policy(files=[tmp_path / "gone.toml"])


@pytest.mark.parametrize("home", ["", ".", "~"])
def test_no_folder_of_the_project_is_taken_for_the_users(place, decision, monkeypatch, home):
    for folder in (".", ".config", "~/.config"):
        (place.project / folder / "ask-tools").mkdir(parents=True)
        (place.project / folder / "ask-tools" / "policy.toml").write_text(ALLOW)
    monkeypatch.setenv("XDG_CONFIG_HOME", ".")
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", home)
    assert decision().outcome == "ask"


@pytest.mark.parametrize(
    ("user", "theirs", "is_trusted", "expected"),
    [
        ("", "", False, "ask"),
        (ALLOW, "", False, "allow"),
        (ALLOW, DENY, False, "deny"),  # a project may tighten the rules
        (ALLOW, ASK, False, "ask"),
        (ASK, ALLOW, True, "ask"),  # and never relax them
        (DENY, ALLOW, True, "deny"),
        (DENY, ASK, True, "deny"),
        ("", ALLOW, False, "ask"),  # nor does it allow anything alone
        ("", ALLOW, True, "allow"),
        ("", DENY, False, "deny"),
        ("", ALLOW + DENY, False, "ask"),
        ("", DENY + ALLOW, True, "deny"),
    ],
)
def test_a_project_tightens_and_does_not_loosen(place, decision, user, theirs, is_trusted, expected):
    if user:
        place.user.write_text(user)
    if theirs:
        place.theirs.write_text(theirs)
    if is_trusted:
        Policy().trust()
    assert decision().outcome == expected


def test_trust_ends_when_the_file_changes_by_one_byte(place, decision):
    place.theirs.write_text(ALLOW)
    Policy().trust()
    assert decision().outcome == "allow"
    place.theirs.write_text(ALLOW + "\n")
    assert decision().outcome == "ask"
    assert any("not trusted: ask-tools policy trust" in reason for reason in decision().reasons)


def test_trust_applies_to_one_project(place, decision, tmp_path):
    place.theirs.write_text(ALLOW)
    Policy().trust()
    other = tmp_path / "other"
    other.mkdir()
    (other / "ask-tools.toml").write_text(ALLOW)
    assert decision(project=other).outcome == "ask"


def test_the_project_is_the_nearest_folder_with_a_policy_or_a_repository(place, decision, monkeypatch):
    place.theirs.write_text(DENY)
    inner = place.project / "src" / "inner"
    (inner / ".git").mkdir(parents=True)
    for folder, expected in ((place.project / "src", "deny"), (inner, "ask")):
        monkeypatch.chdir(folder)
        assert decision().outcome == expected


RULE = '[[rule]]\ndecision = "deny"\n'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[rule", ["not valid TOML"]),
        ("[[rules]]\n", ["rules", "did you mean rule"]),
        ("rule = 1\n", ["[[rule]]"]),
        ("[[rule]]\n", ["rule 1", "decision is None"]),
        ('[[rule]]\ndecision = "alow"\n', ["rule 1", "alow", '"allow"']),
        (ALLOW + RULE + 'tols = "x"\n', ["rule 2", "tols", "did you mean tool"]),
        (RULE + "tool = []\n", ["rule 1", "tool"]),
        (RULE + 'tool = "dist:save"\n', ["distribution"]),
        (RULE + 'tool = "s\u0430ve"\n', ["tool has 's\\u0430ve'"]),
        (RULE + 'read_only = "yes"\n', ["read_only", "true or false"]),
        (RULE + 'paths = ["../x"]\n', ["paths has '../x'", "src/**"]),
        (RULE + 'paths = ["a**"]\n', ["paths has 'a**'"]),
        (RULE + 'paths = ["secret/"]\n', ["paths has 'secret/'"]),
        (RULE + 'paths = ["$HOME/x"]\n', ["paths", "variables"]),
        (RULE + 'paths = ["{.env,keys}/**"]\n', ["paths has '{.env,keys}/**'", "without `..`, variables, {a,b}"]),
        (RULE + 'paths = ["**/*.{key,pem}"]\n', ["paths has '**/*.{key,pem}'"]),
        (RULE + 'paths = ["!src/**"]\n', ["paths has '!src/**'", "! in front"]),
        (RULE + 'paths = [" .env"]\n', ["paths has ' .env'"]),
        (RULE + 'arguments = { x = { glob = "*.{key,pem}" } }\n', ["arguments.x", "without {a,b}"]),
        (RULE + "commands = [\"rm 'a b'\"]\n", ["commands", "quotes"]),
        (RULE + 'commands = ["ls; rm x"]\n', ["commands", "one simple command"]),
        (RULE + 'commands = [" "]\n', ["commands"]),
        (RULE + "arguments = 3\n", ["arguments", "table"]),
        (RULE + "arguments = { x = { min = 5, max = 1 } }\n", ["arguments.x", "min"]),
        (RULE + "arguments = { x = { mx = 1 } }\n", ["arguments.x", "mx", "max = 10"]),
        (RULE + 'arguments = { x = { max = "1" } }\n', ["arguments.x", "max"]),
        (RULE + "arguments = { x = { max = nan } }\n", ["arguments.x", "max"]),
        (RULE + 'arguments = { x = { glob = "a", max = 1 } }\n', ["arguments.x", "glob"]),
        (RULE + "arguments = { x = [1, nan] }\n", ["arguments.x", "nan"]),
        (RULE + "reason = 3\n", ["reason"]),
    ],
)
@pytest.mark.parametrize("whose", ["user", "theirs"])
def test_an_invalid_file_is_refused_with_file_rule_and_key(place, text, words, whose):
    file = getattr(place, whose)
    file.write_text(text, encoding="utf-8")
    with pytest.raises(PolicyError) as caught:
        Policy()
    assert [word for word in (str(file), *words) if word not in str(caught.value)] == []


def _pipe(file):
    os.mkfifo(file)


def _dangling(file):
    file.symlink_to(file.with_name("gone"))


def _open_to_all(file):
    file.write_text(ALLOW)
    file.chmod(0o666)


def _foreign(file):
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    file.write_text(ALLOW)
    os.chown(file, 65534, 65534)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (_pipe, "not a regular file"),
        (_dangling, "cannot be read"),
        (_open_to_all, "other users can write"),
        (_foreign, "another user"),
    ],
)
@pytest.mark.parametrize("whose", ["user", "theirs"])
def test_a_file_that_cannot_be_relied_on_is_refused(place, make, words, whose):
    make(getattr(place, whose))
    with pytest.raises(PolicyError, match=words):
        Policy()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(["decision", "tool", "read_only", "paths", "commands", "arguments", "reason", "tol"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.dictionaries(KEYS, JSON | st.sampled_from(["allow", "deny"])), max_size=3) | JSON)
def test_rules_of_any_form_are_read_or_refused(decision, value):
    try:
        assert decision(rules=value, files=[]).outcome in ("allow", "ask", "deny")
    except PolicyError as error:
        assert "Policy(rules)" in str(error)


def request(place, tools, path="a"):
    context = Context(workspace=place.project)
    call = ToolCall("1", "save", {"path": path})
    return ApprovalRequest(call, tools.save, call.arguments, tools.save.effects(call.arguments, context), context)


def test_an_added_rule_holds_at_once_and_in_later_policies(place, tools, decision):
    rule = {"decision": "allow", "tool": "save", "paths": [f"{place.project}/**"]}
    policy = Policy()
    assert policy.try_rule(rule, request(place, tools)) == (
        f'[[rule]]\ndecision = "allow"\ntool = "save"\npaths = ["{place.project}/**"]\n'
    )
    policy.add_rule(rule, save=False)
    assert policy.decide_tool_call(CALL, tools.save, Context(workspace=place.project)).outcome == "allow"
    assert decision().outcome == "ask"
    place.user.write_text("# my rules")
    Policy().add_rule(rule)
    assert place.user.read_text().startswith("# my rules\n\n[[rule]]\n")
    assert decision().outcome == "allow"


def test_a_rule_that_would_not_decide_is_not_suggested(place, tools):
    rule = {"decision": "allow", "tool": "save"}
    place.user.write_text('[[rule]]\ndecision = "ask"\ntool = "sa*"\n')
    assert Policy().try_rule(rule, request(place, tools)) is None
    place.user.write_text("")
    assert Policy().try_rule({"decision": "allow", "tool": "look"}, request(place, tools)) is None


@given(text=st.text(min_size=1, max_size=20))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_rule_that_is_added_can_be_read_again(place, text):
    place.user.unlink(missing_ok=True)
    policy = Policy()
    try:
        policy.add_rule({"decision": "allow", "tool": "save", "reason": text})
    except PolicyError:
        assert not place.user.exists()
        return
    assert [rule.reason for rule in Policy().rules] == [text]


def test_a_rule_is_not_added_to_an_invalid_file(place):
    policy = Policy()
    place.user.write_text("[[rule]\n")
    with pytest.raises(PolicyError, match="not valid TOML"):
        policy.add_rule({"decision": "allow", "tool": "save"})
    assert place.user.read_text() == "[[rule]\n"
