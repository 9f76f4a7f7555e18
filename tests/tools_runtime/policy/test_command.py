"""`ask-tools policy`, as a command of its own process would run it."""

from __future__ import annotations

import json
from argparse import ArgumentParser

import pytest

from tools_core import Registry
from tools_runtime._commands.policy import configure
from tools_runtime._policy._approvals import Approvals

pytest.importorskip("tools_filesystem")


@pytest.fixture
def run(capsys):
    """Run it, and give the exit code and what it wrote."""

    def ran(*words):
        parser = ArgumentParser(prog="ask-tools policy")
        configure(parser)
        options = parser.parse_intermixed_args(words)
        status = options.run(options)
        return status, *capsys.readouterr()

    return ran


def test_explain_says_which_rule_decided_by_file_number_and_text(place, run):
    place.user.write_text('[[rule]]\ndecision = "allow"\ntool = "write_file"\npaths = ["src/**"]\nreason = "fine"\n')
    status, out, _ = run("explain", "write_file", "path=src/a", "content=x")
    assert status == 0
    for words in (
        "allow: write_file",
        f"rule 1 of {place.user}",
        'paths = ["src/**"]',
        "because fine",
        str(place.project / "src/a"),
    ):
        assert words in out
    assert not (place.project / "src/a").exists()


def test_explain_says_what_the_default_is(place, run):
    assert run("explain", "read_file", "path=a")[0] == 0
    status, out, _ = run("explain", "write_file", "path=a", "content=x")
    assert status == 1
    assert "ask: write_file, by the default" in out


def test_explain_as_json_has_the_facts(place, run):
    status, out, _ = run("explain", "bash", '{"command": "ls; rm -rf x"}', "--json")
    found = json.loads(out)
    assert status == 1
    assert found["decision"] == "ask"
    assert found["rule"] is None
    assert found["annotations"]["destructive"] is True
    if found["commands"] is not None:  # with a parser
        assert found["commands"] == [["ls"], ["rm", "-rf", "x"]]


def test_words_are_read_as_the_tool_wants_them(place, run):
    status, out, _ = run("explain", "read_files", "paths=a", "paths=b", "limit=3", "line_numbers:=true", "--json")
    assert status == 0
    assert json.loads(out)["arguments"] == {"paths": ["a", "b"], "limit": 3, "line_numbers": True}


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("nope",),
        ("read_file",),
        ("read_file", "pth=a"),
        ("read_file", "path"),
        ("read_file", "path=a", "path=b"),
        ("read_file", "limit:={"),
        ("read_file", '{"path": "a", "path": "b"}'),
    ],
)
def test_what_is_no_call_is_wrong_usage(place, run, words):
    status, out, err = run("explain", *words)
    assert (status, out) == (2, "")
    assert err.startswith("error: ")


def test_options_stand_anywhere(place, run):
    assert run("explain", "--json", "read_file", "path=a")[:2] == run("explain", "read_file", "path=a", "--json")[:2]
    assert run("check", "read_file")[0] == 2


def test_a_broken_policy_is_told_and_explains_nothing(place, run):
    place.user.write_text('[[rule]]\ndecision = "alow"\n')
    for words in (("explain", "read_file", "path=a"), ("check",)):
        status, out, err = run(*words)
        assert (status, out) == (1, "")
        assert "did you mean allow" in err


def test_check_prints_what_loosens_much(place, run):
    place.user.write_text('[[rule]]\ndecision = "allow"\n')
    place.theirs.write_text('[[rule]]\ndecision = "allow"\ntool = "x"\n')
    status, out, _ = run("check")
    assert status == 0
    assert "2 rules" in out
    assert "every tool" in out
    assert "ask-tools policy trust" in out
    assert json.loads(run("check", "--json")[1])["trusted"] is False


def test_trust_lets_the_projects_file_allow_until_it_changes(place, run):
    assert run("trust")[0] == 1
    place.theirs.write_text('[[rule]]\ndecision = "allow"\ntool = "write_file"\n')
    assert run("explain", "write_file", "path=a", "content=x")[0] == 1
    status, out, _ = run("trust")
    assert status == 0
    assert 'tool = "write_file"' in out
    assert run("explain", "write_file", "path=a", "content=x")[0] == 0
    place.theirs.write_text('[[rule]]\ndecision = "allow"\n')
    assert run("explain", "write_file", "path=a", "content=x")[0] == 1


def test_approvals_are_listed_used_and_forgotten(place, run):
    words = ("explain", "write_file", "path=a", "content=x")
    status, out, _ = run(*words, "--json")
    assert (status, json.loads(out)["approved"]) == (1, False)

    from tools_core import Context, ToolCall
    from tools_runtime._policy import Policy
    from tools_runtime._policy._approvals import key_of

    registry = Registry()
    registry.discover()
    tool = registry["write_file"]
    decision = Policy().decide(ToolCall(None, "write_file", {"path": "a", "content": "x"}), tool, Context())
    key = key_of(tool, decision.facts)
    Approvals(str(place.project)).add(key, "write_file", {"path": "a\x1b[2J"})

    status, out, _ = run(*words)
    assert status == 0
    assert "approved before" in out
    listed = run("approvals")[1]
    assert key[:16] in listed
    assert "\x1b" not in listed
    assert key in json.loads(run("approvals", "--json")[1])
    assert run("approvals", "--forget", "")[0] == 2
    assert run("approvals", "--forget", key[:16])[0] == 0
    assert run("approvals", "--forget", key[:16])[0] == 1
    assert run(*words)[0] == 1
    assert run("approvals", "--forget", "all")[0] == 0


def test_control_characters_of_arguments_are_shown(place, run):
    assert "\x1b" not in run("explain", "write_file", "path=a", "content=\x1b[2J")[1]


def test_check_prints_names_that_nothing_has(place, run):
    place.user.write_text(
        """
        [[rule]]
        decision = "deny"
        tool = ["read_fil", "write_*", "*"]
        arguments = { pth = "a", path = "b" }
        [[rule]]
        decision = "ask"
        arguments = { nobody_takes_this = 1 }
        [[rule]]
        decision = "deny"
        tool = "glob"
        arguments = { patern = "**" }
        """
    )
    warnings = json.loads(run("check", "--json")[1])["warnings"]
    said = [warning.partition(": ")[2] for warning in warnings]
    assert said == [
        "no installed tool is called 'read_fil' (did you mean read_file?)",
        "no tool that it is for takes an argument 'pth' (did you mean path?)",
        "no tool that it is for takes an argument 'nobody_takes_this'",
        "no tool that it is for takes an argument 'patern' (did you mean pattern?)",
    ]


def test_tools_that_cannot_be_found_are_told(place, run, monkeypatch):
    monkeypatch.setenv("ASK_TOOLS_LOCK", str(place.project / "nothing"))
    for words in (("explain", "read_file", "path=a"), ("check",)):
        status, out, err = run(*words)
        assert (status, out) == (2, "")
        assert "cannot be read" in err
