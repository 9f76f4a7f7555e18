"""What everything that holds tools by name must do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tools_core import ToolCall, UnknownToolError
from tools_testing._conformance._tools import add, refuse, stop


class RegistryConformance(ABC):
    """Tests of a registry: a `Mapping` of name to tool with `register`, `unregister`, `definitions` and `call`.

    ```python
    class TestRegistry(RegistryConformance):
        def registry(self):
            return Registry()
    ```
    """

    @abstractmethod
    def registry(self) -> Any:
        """A new registry without tools."""

    def filled(self) -> Any:
        """A registry with `add` and `refuse`."""
        registry = self.registry()
        registry.register(add)
        registry.register(refuse)
        return registry

    def test_a_new_one_is_empty(self) -> None:
        registry = self.registry()
        assert (list(registry), len(registry), registry.definitions()) == ([], 0, [])

    def test_register_gives_back_what_it_got(self) -> None:
        assert self.registry().register(add) is add

    def test_a_tool_is_found_by_its_name_and_names_keep_their_order(self) -> None:
        registry = self.filled()
        assert list(registry) == ["add", "refuse"]
        assert registry["add"].call(a=1).output == 2
        assert "add" in registry
        assert "stop" not in registry
        assert registry.get("stop") is None

    def test_an_unknown_name_is_a_key_error_that_names_the_nearest(self) -> None:
        with pytest.raises(UnknownToolError, match="add"):
            self.filled()["ad"]

    def test_a_second_tool_of_a_name_is_refused_and_nothing_changes(self) -> None:
        registry = self.filled()
        before = registry.definitions()
        with pytest.raises(ValueError, match="add"):
            registry.register(stop.renamed("add"))
        assert registry.definitions() == before

    def test_the_same_tool_twice_is_no_second_one(self) -> None:
        registry = self.filled()
        registry.register(add)
        assert list(registry) == ["add", "refuse"]

    def test_a_tool_can_be_replaced_on_purpose(self) -> None:
        registry = self.filled()
        registry.register(stop.renamed("add"), replace=True)
        assert registry["add"].call(answer="done").is_halted

    def test_what_is_no_tool_is_refused(self) -> None:
        with pytest.raises((TypeError, ValueError)):
            self.registry().register("add")

    def test_what_was_unregistered_is_gone_and_unknown(self) -> None:
        registry = self.filled()
        registry.unregister("add")
        assert list(registry) == ["refuse"]
        with pytest.raises(UnknownToolError):
            registry.unregister("add")

    def test_definitions_are_those_of_the_tools_and_the_callers_own(self) -> None:
        registry = self.filled()
        made = registry.definitions()
        assert made == [add.definition, refuse.definition]
        made[0].clear()
        assert registry.definitions() == [add.definition, refuse.definition]

    def test_a_call_is_answered_by_its_tool_and_an_unknown_one_by_an_error(self) -> None:
        registry = self.filled()
        assert registry.call(ToolCall("1", "add", '{"a": 2, "b": 3}')).output == 5
        assert registry.call(ToolCall("1", "no_such_tool", {})).error_type == "unknown_tool"

    def test_two_registries_know_nothing_of_each_other(self) -> None:
        first, second = self.filled(), self.registry()
        assert list(first) == ["add", "refuse"]
        assert list(second) == []

    def test_threads_that_register_at_once_lose_nothing(self) -> None:
        registry = self.registry()
        names = [f"add_{number}" for number in range(50)]
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda name: registry.register(add.renamed(name)), names))
        assert sorted(registry) == sorted(names)
