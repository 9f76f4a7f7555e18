"""Which rule decides about a call."""

from __future__ import annotations

import pytest

from tools_core import Context, InvalidArguments, Result, Tool, ToolCall, tool
from tools_runtime._policy import Policy


def rule(decision, **conditions):
    return {"decision": decision, **conditions}


def test_without_rules_what_only_reads_is_allowed_and_the_rest_asked_about(decide, tools):
    assert decide([], tools.look) == "allow"
    assert decide([], tools.save, {"path": "a"}) == "ask"
    assert decide([], tools.run) == "ask"


def test_a_tool_that_requires_approval_is_asked_about_though_it_only_reads(decide, tools):
    assert decide([], tools.peek) == "ask"
    assert decide([rule("allow", tool="peek")], tools.peek) == "allow"


def test_the_first_rule_that_holds_decides(decide, tools):
    rules = [rule("deny", tool="save", arguments={"limit": {"min": 5}}), rule("allow", tool="s*")]
    assert decide(rules, tools.save, {"path": "a", "limit": 5}) == "deny"
    assert decide(rules, tools.save, {"path": "a", "limit": 4}) == "allow"
    assert decide(list(reversed(rules)), tools.save, {"path": "a", "limit": 5}) == "allow"


def test_all_conditions_of_a_rule_must_hold(decide, tools):
    rules = [rule("allow", tool="save", paths=["src/**"], arguments={"limit": 1})]
    assert decide(rules, tools.save, {"path": "src/a", "limit": 1}) == "allow"
    assert decide(rules, tools.save, {"path": "src/a", "limit": 2}) == "ask"
    assert decide(rules, tools.save, {"path": "a", "limit": 1}) == "ask"


def test_hints_are_those_of_the_very_call(place):
    class Either(Tool):
        """Reads or writes."""

        name = "either"

        def execute(self, write: bool = False) -> str:
            return ""

        def annotations_for(self, arguments):
            return {"destructive": True} if arguments.get("write") else {"read_only": True}

    policy = Policy([rule("deny", destructive=True)], files=[], project=place.project)
    assert policy.decide(ToolCall("1", "either", {}), Either()).outcome == "allow"
    assert policy.decide(ToolCall("1", "either", {"write": True}), Either()).outcome == "deny"
    assert policy.decide(ToolCall("1", "either", '{"write": "true"}'), Either()).outcome == "deny"


def test_a_hint_that_is_not_given_counts_as_the_worse(decide, tools):
    assert decide([rule("deny", open_world=True)], tools.save, {"path": "a"}) == "deny"
    assert decide([rule("deny", destructive=True)], tools.save, {"path": "a"}) == "deny"
    assert decide([rule("allow", destructive=False)], tools.save, {"path": "a"}) == "ask"
    assert decide([rule("deny", destructive=True)], tools.look) == "allow"


# ------------------------------------------------------------------------------- what the tool gets is what is judged


@pytest.mark.parametrize(
    "arguments", ['{"path": "a", "limit": "7"}', {"path": "a", "limit": 7}, '{"limit":7e0,"path":"a"}']
)
def test_numbers_as_text_are_judged_as_the_numbers_that_the_tool_gets(decide, tools, arguments):
    assert decide([rule("deny", arguments={"limit": {"max": 7, "min": 7}})], tools.save, arguments) == "deny"


def test_a_list_that_came_as_text_is_judged_as_a_list(decide, tools):
    rules = [rule("deny", arguments={"tags": "secret"})]
    assert decide(rules, tools.save, {"path": "a", "tags": '["x", "secret"]'}) == "deny"
    assert decide(rules, tools.save, {"path": "a", "tags": ["x"]}) == "ask"


def test_an_argument_that_is_left_out_is_judged_by_its_default(decide, tools):
    assert decide([rule("deny", arguments={"limit": 10})], tools.save, {"path": "a"}) == "deny"
    assert decide([rule("deny", arguments={"force": False})], tools.save, {"path": "a"}) == "deny"
    assert decide([rule("allow", arguments={"limit": {"max": 9}})], tools.save, {"path": "a"}) == "ask"


def test_an_argument_that_is_left_out_may_be_anything_where_its_default_is_not_told(decide):
    schema = {"type": "object", "properties": {"branch": {"type": "string"}}, "additionalProperties": False}

    @tool(input_schema=schema)
    def push(branch="main"):
        """The schema does not say what is pushed by default."""

    rules = [rule("deny", arguments={"branch": "main"}), rule("allow")]
    assert decide(rules, push, {}) == "ask"
    assert decide(rules, push, {"branch": "main"}) == "deny"
    assert decide(rules, push, {"branch": "mine"}) == "allow"
    assert decide([rule("allow", arguments={"branch": "mine"})], push, {}) == "ask"
    assert decide([rule("ask", arguments={"branch": "main"}), rule("allow")], push, {}) == "ask"
    assert decide([rule("deny", arguments={"other": "main"}), rule("allow")], push, {}) == "allow"


def test_text_inside_a_value_is_no_other_argument(decide, tools):
    text = 'a", "limit": 1, "x": "'
    assert decide([rule("allow", arguments={"limit": 1})], tools.save, {"path": text}) == "ask"
    assert (
        decide([rule("allow", arguments={"path": {"glob": '*"limit": 1*'}})], tools.save, {"path": "b", "limit": 1})
        == "ask"
    )


def test_true_is_not_one(decide, tools):
    assert decide([rule("allow", arguments={"force": 1})], tools.save, {"path": "a", "force": True}) == "ask"
    assert decide([rule("allow", arguments={"limit": True})], tools.save, {"path": "a", "limit": 1}) == "ask"
    assert decide([rule("allow", arguments={"force": {"min": 0}})], tools.save, {"path": "a", "force": True}) == "ask"


def test_to_allow_a_list_every_value_must_be_named_and_an_empty_list_names_none(decide, tools):
    rules = [rule("allow", arguments={"tags": {"glob": "t*"}})]
    assert decide(rules, tools.save, {"path": "a", "tags": ["ta", "tb"]}) == "allow"
    assert decide(rules, tools.save, {"path": "a", "tags": ["ta", "b"]}) == "ask"
    assert decide(rules, tools.save, {"path": "a", "tags": []}) == "ask"
    assert decide(rules, tools.save, {"path": "a", "tags": None}) == "ask"


@pytest.mark.parametrize("text", ['{"path": "a", "path": "b"}', '{"path": 1', "[]", '{"pth": "a"}', "{}"])
def test_arguments_that_the_tool_refuses_are_decided_about_by_nobody(tools, place, text):
    with pytest.raises(InvalidArguments):
        Policy(files=[]).decide(ToolCall("1", "save", text), tools.save)


def test_a_strict_tool_is_judged_strictly(place):
    @tool(strict=True)
    def count(n: int) -> int:
        """Counts."""
        return n

    with pytest.raises(InvalidArguments):
        Policy(files=[]).decide(ToolCall("1", "count", {"n": "2"}), count)


def test_one_schema_in_a_strict_and_a_lax_tool_is_read_in_both_ways(place):
    class Count(Tool):
        """Counts."""

        name = "count"

        def execute(self, n: int) -> int:
            return n

    lax, strict = Count(), Count()
    strict.strict = True
    policy = Policy([rule("deny", arguments={"n": 2})], files=[])
    assert policy.decide(ToolCall("1", "count", {"n": "2"}), lax).outcome == "deny"
    with pytest.raises(InvalidArguments):
        policy.decide(ToolCall("1", "count", {"n": "2"}), strict)


def test_any_schema_will_do(place):
    schema = {"type": "object", "properties": {"x": True, "y": {}, "z": {"default": 3}}}

    def anything(**arguments):
        """Takes anything."""

    made = tool(anything, input_schema=schema)
    policy = Policy([rule("deny", arguments={"z": 3}), rule("allow", arguments={"x": "a"})], files=[])
    assert policy.decide(ToolCall("1", "anything", {"x": "a"}), made).outcome == "deny"
    assert policy.decide(ToolCall("1", "anything", {"x": "a", "z": None}), made).outcome == "allow"


# ---------------------------------------------------------------------------------------------------------------- names


def test_a_name_that_only_looks_like_another_is_another(decide):
    @tool(name="save_x")
    def save(n: int = 0) -> int:
        """Saves."""
        return n

    assert decide([rule("allow", tool="save")], save) == "ask"
    assert decide([rule("allow", tool="SAVE_X")], save) == "ask"
    assert decide([rule("allow", tool="save_x")], save, name="dist:save_x") == "allow"


def test_a_call_that_names_another_tool_than_the_one_it_reaches_is_not_allowed(decide, tools):
    assert decide([rule("allow", tool=["look", "save"])], tools.save, {"path": "a"}, name="look") == "ask"
    assert decide([rule("deny", tool="look")], tools.save, {"path": "a"}, name="look") == "deny"
    assert decide([], tools.look, name="other") == "ask"


def test_brackets_in_a_tool_glob_are_a_choice_of_letters(decide, tools):
    assert decide([rule("allow", tool="[st]ave")], tools.save, {"path": "a"}) == "allow"
    assert decide([rule("allow", tool="[!s]ave")], tools.save, {"path": "a"}) == "ask"


# ------------------------------------------------------------------------------------------------- what cannot be known


def test_what_cannot_be_known_is_never_allowed_by_what_it_would_touch(decide, tools):
    assert decide([rule("allow", tool="run", commands=["*"])], tools.run) == "ask"
    assert decide([rule("allow", tool="run", paths=["/**"])], tools.run) == "ask"


def test_what_cannot_be_known_may_be_what_a_rule_forbids(decide, tools):
    rules = [rule("deny", commands=["rm *"]), rule("allow", tool="run")]
    assert decide(rules, tools.run) == "ask"
    assert decide(rules, tools.run, {"commands": [["rm", "x"]]}) == "deny"
    assert decide(rules, tools.run, {"commands": [["ls"]]}) == "allow"
    assert decide(rules, tools.run, {"commands": [["r", None]]}) == "allow"
    assert decide(rules, tools.run, {"commands": [[None, "x"]]}) == "ask"
    assert decide([rule("deny", paths=["/x"]), rule("allow", tool="run")], tools.run) == "ask"
    assert decide([rule("deny", paths=["/x"], tool="save"), rule("allow", tool="run")], tools.run) == "allow"


def test_a_tool_that_says_nothing_is_allowed_by_no_path_and_no_command(decide, tools):
    assert decide([rule("allow", tool="peek", paths=["/**"])], tools.peek) == "ask"
    assert decide([rule("allow", tool="peek", commands=["*"])], tools.peek) == "ask"


def test_a_tool_that_reads_its_arguments_in_its_own_way_is_judged_on_what_was_sent(decide):
    class Lenient(Tool):
        """Takes anything."""

        name = "lenient"

        def execute(self, n: int = 0) -> int:
            return n

        def call(self, arguments=None, /, context=None, **keywords):
            return Result.ok("ran")

    assert decide([rule("allow", tool="lenient", arguments={"n": 2})], Lenient(), {"n": "2"}) == "ask"
    assert decide([rule("deny", arguments={"other": 1})], Lenient(), {"other": 1}) == "deny"


def test_a_decision_changes_nothing(place, tools):
    policy = Policy(files=[])
    arguments = {"path": "a", "tags": ["x"]}
    first = policy.decide(ToolCall("1", "save", arguments), tools.save, Context(workspace=place.project))
    second = policy.decide(ToolCall("2", "save", arguments), tools.save, Context(workspace=place.project))
    assert first == second
    assert arguments == {"path": "a", "tags": ["x"]}
    assert not place.approvals.exists()
