"""Every exception of the contract, in one tree.

BaseException
├── Halt                      a decision, not an error: the conversation ends after this result
└── Exception
    ├── ToolError             an expected failure; the model reads its message
    │   └── InvalidArguments  the arguments do not fit the tool's schema
    ├── DefinitionError       a tool that cannot work (TypeError and ValueError)
    │   └── SchemaError       a JSON Schema that cannot be enforced
    └── UnknownToolError      no tool of that name (KeyError)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tools_core._values._problem import Problem

_MAX_PROBLEMS = 20  # in one message


class ToolError(Exception):
    """Raise for an expected failure; the model reads `message`.

    `type` is one of the documented error types, or a tool's own.
    """

    type: str = "execution_error"  # here as well, for subclasses whose __init__ does not call this one

    def __init__(self, message: str, type: str = "execution_error") -> None:
        super().__init__(message)
        self.type = type

    @property
    def message(self) -> str:
        """The message that the model reads."""
        return str(self)


class InvalidArguments(ToolError):
    """The arguments do not fit the schema; `problems` has every reason, each with its path.

    `reason` names what is wrong with arguments that could not even be read: `invalid_json`, `too_deep` and so on.
    """

    type = "validation_error"
    reason: str | None = None

    def __init__(self, problems: Sequence[Problem], reason: str | None = None) -> None:
        # `args` is set already, and rendering a message for ToolError would cost every rejected call.
        self.problems = tuple(problems)
        if reason is not None:
            self.reason = reason

    def __str__(self) -> str:
        texts = [str(problem) for problem in self.problems[:_MAX_PROBLEMS]]
        if len(self.problems) > _MAX_PROBLEMS:
            texts.append(f"and {len(self.problems) - _MAX_PROBLEMS} more problems")
        return "; ".join(texts)


class DefinitionError(TypeError, ValueError):
    """A tool that cannot work; raised by its definition, never by a call.

    Both a TypeError and a ValueError, because a wrong signature is the one and a wrong name is the other.
    """


class SchemaError(DefinitionError):
    """A JSON Schema that is malformed, or asks for what this library does not enforce."""


class UnknownToolError(KeyError):
    """No tool has this name; `similar` are the names that come closest."""

    def __init__(self, name: str, message: str, similar: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.name = name
        self.similar = tuple(similar)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.name, self.args[0], self.similar), self.__dict__

    def __str__(self) -> str:  # a KeyError shows the repr of its argument
        return str(self.args[0])


class Halt(BaseException):
    """Raise or return it to end the conversation after this tool's result.

    It is not an `Exception`, so that a tool's own `except Exception` cannot swallow the decision.
    `output` is the last result; a `Result.error(...)` halts with a failure.
    """

    output: Any = None  # here as well, for subclasses whose __init__ does not call this one

    def __init__(self, output: Any = None) -> None:
        super().__init__(output)
        self.output = output
