"""The first matching rule decides about a call."""

from __future__ import annotations

import pytest

from tools_core import Context, Effects, Result, Tool, ToolCall, tool
from tools_runtime import Policy


def rule(decision, **conditions):
    return {"decision": decision, **conditions}


def test_without_rules_only_read_only_calls_are_allowed(decide, tools):
    assert decide([], tools.look) == "allow"
    assert decide([], tools.save, {"path": "a"}) == "ask"
    assert decide([], tools.run) == "ask"


def test_reading_from_an_open_world_needs_approval(decide, tools):
    assert decide([], tools.fetch) == "ask"
    assert decide([], tool(tools.look, open_world=False)) == "allow"


def test_a_read_only_tool_may_require_approval(decide, tools):
    assert decide([], tools.peek) == "ask"
    assert decide([], tools.peek, default="allow") == "ask"
    assert decide([rule("allow", tool="peek")], tools.peek) == "allow"


def test_the_default_can_be_set(decide, tools):
    for outcome in ("allow", "ask", "deny"):
        assert decide([], tools.save, {"path": "a"}, default=outcome) == outcome
        assert decide([], tools.look, default=outcome) == "allow"


def test_the_first_rule_that_holds_decides(decide, tools):
    rules = [rule("deny", tool="save", arguments={"limit": {"min": 5}}), rule("allow", tool="s*")]
    assert decide(rules, tools.save, {"path": "a", "limit": 5}) == "deny"
    assert decide(rules, tools.save, {"path": "a", "limit": 4}) == "allow"
    assert decide(list(reversed(rules)), tools.save, {"path": "a", "limit": 5}) == "allow"


def test_a_decision_names_its_reasons_and_the_rule(judge, tools):
    denied = judge([rule("deny", tool="save", reason="frozen until Monday")], tools.save, {"path": "a"})
    assert (denied.by, list(denied.reasons)) == ("rule 1 of Policy(rules)", ["frozen until Monday"])
    default = judge([], tools.save, {"path": "a"})
    assert (default.by, list(default.reasons)) == (
        "the default",
        ["no rule matches; the call is not marked read-only"],
    )


def test_rules_match_the_hints_of_the_call(decide):
    class Either(Tool):
        """Reads or writes."""

        name = "either"

        def execute(self, write: bool = False) -> str:
            return ""

        def effects(self, arguments, context=None):
            return Effects({"destructive": True} if arguments.get("write") else {"read_only": True})

    rules = [rule("deny", destructive=True)]
    assert decide(rules, Either(), {}) == "allow"
    assert decide(rules, Either(), {"write": True}) == "deny"
    assert decide(rules, Either(), '{"write": "true"}') == "deny"


def test_a_missing_hint_counts_as_the_risky_value(decide, tools):
    assert decide([rule("deny", open_world=True)], tools.save, {"path": "a"}) == "deny"
    assert decide([rule("deny", destructive=True)], tools.save, {"path": "a"}) == "deny"
    assert decide([rule("allow", destructive=False)], tools.save, {"path": "a"}) == "ask"
    assert decide([rule("deny", destructive=True), rule("deny", open_world=True)], tools.look) == "allow"


# arguments as the tool gets them


@pytest.mark.parametrize(
    "arguments", ['{"path": "a", "limit": "7"}', {"path": "a", "limit": 7}, '{"limit":7e0,"path":"a"}']
)
def test_numbers_as_text_are_judged_as_the_numbers_that_the_tool_receives(decide, tools, arguments):
    assert decide([rule("deny", arguments={"limit": {"max": 7, "min": 7}})], tools.save, arguments) == "deny"


def test_a_missing_argument_has_its_default(decide, tools):
    assert decide([rule("deny", arguments={"limit": 10})], tools.save, {"path": "a"}) == "deny"
    assert decide([rule("deny", arguments={"force": False})], tools.save, {"path": "a"}) == "deny"
    assert decide([rule("allow", arguments={"limit": {"max": 9}})], tools.save, {"path": "a"}) == "ask"


def test_a_missing_argument_without_a_default_is_unknown(decide):
    schema = {"type": "object", "properties": {"branch": {"type": "string"}}, "additionalProperties": False}

    @tool(input_schema=schema)
    def push(branch="main"):
        """The schema does not state the default."""

    rules = [rule("deny", arguments={"branch": "main"}), rule("allow")]
    assert decide(rules, push, {}) == "ask"
    assert decide(rules, push, {"branch": "main"}) == "deny"
    assert decide(rules, push, {"branch": "mine"}) == "allow"
    assert decide([rule("allow", arguments={"branch": "mine"})], push, {}) == "ask"
    assert decide([rule("ask", arguments={"branch": "main"}), rule("allow")], push, {}) == "ask"
    assert decide([rule("deny", arguments={"other": "main"}), rule("allow")], push, {}) == "allow"


def test_true_is_not_one(decide, tools):
    assert decide([rule("allow", arguments={"force": 1})], tools.save, {"path": "a", "force": True}) == "ask"
    assert decide([rule("allow", arguments={"limit": True})], tools.save, {"path": "a", "limit": 1}) == "ask"
    assert decide([rule("allow", arguments={"force": {"min": 0}})], tools.save, {"path": "a", "force": True}) == "ask"


def test_allowing_a_list_needs_every_value_to_match(decide, tools):
    rules = [rule("allow", arguments={"tags": {"glob": "t*"}})]
    assert decide(rules, tools.save, {"path": "a", "tags": ["ta", "tb"]}) == "allow"
    assert decide(rules, tools.save, {"path": "a", "tags": ["ta", "b"]}) == "ask"
    assert decide(rules, tools.save, {"path": "a", "tags": []}) == "ask"
    assert decide(rules, tools.save, {"path": "a", "tags": None}) == "ask"
    assert decide([rule("deny", arguments={"tags": "b"})], tools.save, {"path": "a", "tags": '["a", "b"]'}) == "deny"


@pytest.mark.parametrize("text", ['{"path": "a", "path": "b"}', '{"path": 1', "[]", '{"pth": "a"}', "{}"])
def test_arguments_that_the_tool_refuses_need_no_decision(judge, tools, text):
    assert judge([rule("deny")], tools.save, text) is None


def test_a_tool_that_replaces_call_gets_only_arguments_that_can_be_judged(decide):
    class Lenient(Tool):
        """Takes anything."""

        name = "lenient"

        def execute(self, n: int = 0) -> int:
            return n

        def call(self, arguments=None, /, context=None, **keywords):
            return Result.ok("ran")

    assert decide([rule("allow", tool="lenient")], Lenient(), {"n": 2}) == "allow"
    assert decide([rule("allow", tool="lenient")], Lenient(), '{"n": 2, "n": 3}') == "deny"


def test_failing_effects_deny_the_call(judge):
    class Broken(Tool):
        """Cannot report its effects."""

        name = "broken"

        def execute(self) -> str:
            return ""

        def effects(self, arguments, context=None):
            raise RuntimeError("no idea")

    denied = judge([rule("allow")], Broken())
    assert denied.outcome == "deny"
    assert "broken.effects() failed: RuntimeError: no idea" in denied.reasons[0]


def test_an_unknown_tool_needs_no_decision():
    assert Policy([rule("deny")], files=[]).decide_tool_call(ToolCall("1", "nope"), None, Context()) is None


# unknown effects


def test_a_rule_on_effects_never_allows_unknown_effects(decide, tools):
    assert decide([rule("allow", tool="run", commands=["*"])], tools.run) == "ask"
    assert decide([rule("allow", tool="run", paths=["/**"])], tools.run) == "ask"
    assert decide([rule("allow", tool="peek", paths=["/**"])], tools.peek) == "ask"
    assert decide([rule("allow", tool="peek", commands=["*"])], tools.peek) == "ask"


def test_unknown_effects_may_match_a_rule_that_denies(decide, tools):
    rules = [rule("deny", commands=["rm *"]), rule("allow", tool="run")]
    assert decide(rules, tools.run) == "ask"
    assert decide(rules, tools.run, {"commands": [["rm", "x"]]}) == "deny"
    assert decide(rules, tools.run, {"commands": [["ls"]]}) == "allow"
    assert decide([rule("deny", paths=["/x"]), rule("allow", tool="run")], tools.run) == "ask"
    assert decide([rule("deny", paths=["/x"], tool="save"), rule("allow", tool="run")], tools.run) == "allow"


@pytest.mark.parametrize("decision", ["allow", "ask", "deny"])
def test_an_undecidable_rule_names_the_extra_to_install(judge, tools, decision):
    rules = [rule(decision, commands=["ls *"]), rule("allow")]
    decided = judge(rules, tools.run, {"needs": "tools-shell[parser]"})
    assert any("install tools-shell[parser]" in reason for reason in decided.reasons)
    parsed = judge(rules, tools.run, {"commands": [["ls"]], "needs": "tools-shell[parser]"})
    assert parsed.outcome == decision
    assert not any("install" in reason for reason in parsed.reasons)
