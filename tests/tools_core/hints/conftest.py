"""Shared by these tests: a function with one hinted parameter, read, judged by `jsonschema`, and called."""

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tools_core._definition._define import define
from tools_core._definition._spec import Spec
from tools_core._jsonschema import compile_schema


class OneArgument:
    """The signature of a function that takes `x`."""

    def __init__(self, signature: Spec) -> None:
        self.signature = signature
        Draft202012Validator.check_schema(signature.input_schema)

    @property
    def schema(self) -> dict[str, Any]:
        return self.signature.input_schema["properties"]["x"]

    def accepts(self, value: Any) -> bool:
        arguments = {"x": value}
        ours = not compile_schema(self.signature.input_schema).check(arguments, repair=False).problems
        assert ours == Draft202012Validator(self.signature.input_schema).is_valid(arguments)
        return ours

    def convert(self, value: Any) -> Any:
        assert self.accepts(value)
        return self.signature.convert({"x": value})["x"] if self.signature.convert else value


@pytest.fixture
def read():
    def read(hint: Any, *default: Any) -> OneArgument:
        def take(x): ...

        take.__annotations__ = {"x": hint}
        take.__defaults__ = default
        return OneArgument(define(take))

    return read
