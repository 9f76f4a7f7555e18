"""Shared by these tests: a tool with one type hint, validated by `jsonschema` and called."""

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tools_core import tool


class OneArgument:
    """A tool of a function that takes `x`."""

    def __init__(self, hint: Any, *default: Any) -> None:
        def take(x):
            self.taken = x

        take.__annotations__ = {"x": hint}
        take.__defaults__ = default
        self.tool = tool(take, repair=False)
        Draft202012Validator.check_schema(self.tool.input_schema)

    @property
    def schema(self) -> dict[str, Any]:
        return self.tool.input_schema["properties"]["x"]

    def accepts(self, value: Any) -> bool:
        valid = Draft202012Validator(self.tool.input_schema).is_valid({"x": value})
        assert valid or not self.tool.call({"x": value}).ok
        return valid

    def convert(self, value: Any) -> Any:
        """Return what the function receives; raises InvalidArguments."""
        self.tool.call({"x": value}).unwrap()
        return self.taken


@pytest.fixture
def read():
    return OneArgument
