"""What every format of a provider must do, whoever the provider is."""

from __future__ import annotations

import copy
import json
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from tools_core import Image, Result, ToolCall
from tools_testing._conformance._tools import STRAINING_NAMES, add, refuse, stop, surroundings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools_core.formats import Format

_NAME_LIMIT = 64
_PIXEL = b"\x89PNG\r\n\x1a\n" + bytes(20)


class FormatConformance(ABC):
    """Tests of a `tools_core.formats.Format`: definitions out, calls in, results out, over plain dicts.

    ```python
    class TestChat(FormatConformance):
        def format(self):
            return formats.openai

        def wire_name(self, definition):
            return definition["function"]["name"]

        def response(self, calls):
            return {"tool_calls": [{"id": i, "type": "function", "function": {"name": n, "arguments": json.dumps(a)}}
                                   for i, n, a in calls]}
    ```
    """

    has_ids = True  # False for a provider that matches results to calls by name and order

    @abstractmethod
    def format(self) -> Format:
        """The format to test."""

    @abstractmethod
    def wire_name(self, definition: dict[str, Any]) -> str:
        """The tool's name in one of the definitions that the format made."""

    @abstractmethod
    def response(self, calls: Sequence[tuple[str, str, dict[str, Any]]]) -> Any:
        """The provider's answer that asks for these calls: id, name on the wire, arguments."""

    def test_each_tool_becomes_one_definition_in_the_same_order(self) -> None:
        made = self.format().definitions([add, refuse, stop])
        assert [self.wire_name(each) for each in made] == ["add", "refuse", "stop"]

    def test_definitions_are_plain_json(self) -> None:
        made = self.format().definitions([add, surroundings])
        assert json.loads(json.dumps(made, allow_nan=False)) == made

    def test_the_same_definitions_always_become_the_same(self) -> None:
        texts = {json.dumps(self.format().definitions([add, refuse, surroundings])) for _ in range(3)}
        assert len(texts) == 1

    def test_what_was_given_is_neither_changed_nor_shared(self) -> None:
        given = [add.definition, surroundings.definition]
        before = copy.deepcopy(given)
        made = self.format().definitions(given)
        _empty(made)
        assert given == before
        assert self.format().definitions(given) != made

    def test_no_tools_are_no_definitions(self) -> None:
        assert self.format().definitions([]) == []

    def test_the_description_of_a_tool_and_of_its_parameters_arrive(self) -> None:
        text = json.dumps(self.format().definitions([add]))
        assert "Add two numbers." in text
        assert "What to add" in text

    def test_names_stay_apart_and_are_at_most_64_characters_long(self) -> None:
        names = self.straining_wire_names()
        assert len(set(names)) == len(STRAINING_NAMES)
        assert all(0 < len(name) <= _NAME_LIMIT for name in names)

    def test_a_call_comes_back_under_the_name_of_its_tool(self) -> None:
        tools = [add.renamed(name) for name in STRAINING_NAMES]
        asked = [(f"call_{index}", name, {"a": index}) for index, name in enumerate(self.straining_wire_names())]
        calls = self.format().calls(self.response(asked), tools)
        assert [call.name for call in calls] == STRAINING_NAMES
        assert [call.arguments for call in calls] == [{"a": index} for index in range(len(STRAINING_NAMES))]

    def test_calls_keep_their_order_and_their_ids(self) -> None:
        calls = self.format().calls(self.response([("one", "add", {"a": 1}), ("two", "add", {"a": 2, "b": 3})]), [add])
        assert [call.arguments for call in calls] == [{"a": 1}, {"a": 2, "b": 3}]
        if self.has_ids:
            assert [call.id for call in calls] == ["one", "two"]

    def test_an_answer_without_calls_has_none(self) -> None:
        assert self.format().calls(self.response([]), [add]) == []

    def test_a_name_that_no_tool_has_is_left_as_the_model_wrote_it(self) -> None:
        (call,) = self.format().calls(self.response([("one", "no_such_tool", {"x": 1})]), [add])
        assert (call.name, call.arguments) == ("no_such_tool", {"x": 1})

    def test_arguments_of_any_script_and_depth_arrive_as_they_were(self) -> None:
        arguments = {"text": 'ÜЖ日🙂 "\\\n', "nested": {"list": [1, 2.5, None, True, {"deep": []}]}}
        (call,) = self.format().calls(self.response([("one", "anything", arguments)]))
        assert call.arguments == arguments

    def test_results_follow_in_the_order_of_the_calls(self) -> None:
        answers = [(ToolCall(f"call_{n}", "add", {"a": n}), Result.ok(f"answer {n}")) for n in range(3)]
        text = json.dumps(self.format().results(answers, [add]))
        places = [text.index(f"answer {n}") for n in range(3)]
        assert places == sorted(places)
        if self.has_ids:
            assert all(f"call_{n}" in text for n in range(3))

    def test_errors_halts_nothing_and_pictures_all_become_plain_json(self) -> None:
        outcomes = [
            Result.error("no such city", type="not_found"),
            Result.halt("the end"),
            Result.ok(),
            Result.ok({"temperature": 21.5}),
            Result.ok(Image(_PIXEL)),
        ]
        answers = [(ToolCall(f"call_{n}", "add", {"a": n}), outcome) for n, outcome in enumerate(outcomes)]
        text = json.dumps(self.format().results(answers, [add]), allow_nan=False)
        for said in ("no such city", "the end", "21.5"):
            assert said in text

    def test_no_answers_are_no_results(self) -> None:
        assert json.dumps(self.format().results([], [add])) == "[]"

    def straining_wire_names(self) -> list[str]:
        """What the wire calls tools whose names strain it."""
        made = self.format().definitions([add.renamed(name) for name in STRAINING_NAMES])
        return [self.wire_name(each) for each in made]


def _empty(value: Any) -> None:
    """Take everything out of a structure, from the inside."""
    for item in list(value.values()) if isinstance(value, dict) else list(value):
        if isinstance(item, dict | list):
            _empty(item)
    if isinstance(value, dict):
        value.clear()
