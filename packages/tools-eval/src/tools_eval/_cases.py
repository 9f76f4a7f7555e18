"""`Case`: a question for a model, and what it must lead to: calls of tools, and an answer."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, NonNegativeInt, PlainValidator, PrivateAttr, model_validator

from tools_agent import Message, System, User, message_from_dict
from tools_core import ToolCall
from tools_eval._answer import Answer
from tools_eval._expect import ExpectedCall, Schemas, assign

NO_CALL = "(no call)"


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, Mapping | ExpectedCall) else value


def _as_message(value: Any) -> Message:
    return value if isinstance(value, Message) else message_from_dict(value)


Expected = Annotated[list[ExpectedCall], BeforeValidator(_as_list)]


class Case(BaseModel, frozen=True, extra="forbid"):
    """A question, and the calls and the answer that a good run has.

    Attributes:
        name: The name in reports; by default the question.
        question: The user's message; or `messages`, a conversation that ends with the user's turn.
        instructions: The system message.
        expect: Calls that the model must make, all of them; `ordered` fixes their order.
        any_of: Calls of which the model must make one.
        forbid: Names or patterns of tools that the model must not call, except the expected ones.
        no_call: The model must not call a tool.
        max_calls: The most calls that the model may make.
        answer: What the last reply must say: a text that it contains, or an `Answer`.
        results: The results of tools, by name: a value, or in Python a function of the arguments. Then an agent goes
            on until the model has replied; all calls are checked, and no tool runs.
        tools: Patterns that select the offered tools; a case file has them for all of its cases.
        distractors: The number of other installed tools that are offered as well, the most similar ones.
        workspace: A folder, relative to the file. The same, and tools run in a copy of it. Commands are refused
            unless `approve` is "all".
    """

    name: str = ""
    question: str = ""
    messages: list[Annotated[Any, PlainValidator(_as_message)]] = []
    instructions: str = ""
    expect: Expected = []
    any_of: Expected = []
    ordered: bool = False
    forbid: list[str] = []
    no_call: bool = False
    max_calls: NonNegativeInt | None = None
    answer: Answer | None = None
    results: dict[str, Any] = {}
    tools: list[str] = []
    distractors: NonNegativeInt = 0
    workspace: str | None = None
    approve: str | None = None
    _file: Path = PrivateAttr(default=Path())

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if bool(self.question) == bool(self.messages):
            raise ValueError("a case has a question, or messages")
        calls = self.expect or self.any_of or self.forbid or self.no_call or self.max_calls is not None
        if not calls and self.answer is None:
            raise ValueError("a case has expect, any_of, forbid, no_call, max_calls or answer")
        if self.results and self.workspace:
            raise ValueError("tools have results, or run in a workspace")
        if self.no_call and (self.expect or self.any_of):
            raise ValueError("a case with no_call expects no calls")
        if not self.name:
            object.__setattr__(self, "name", self.conversation[-1].content)  # type: ignore[attr-defined]  # it ends with a user's message
        return self

    @property
    def conversation(self) -> list[Message]:
        """The messages of the request."""
        start: list[Message] = [System(content=self.instructions)] if self.instructions else []
        return [*start, *(self.messages or [User(content=self.question)])]

    @property
    def workspace_folder(self) -> Path | None:
        """The folder that is copied for calls that run."""
        return self._file.parent / self.workspace if self.workspace else None

    @property
    def package_folder(self) -> Path | None:
        """The folder of the package that the case is about, if it offers only the tools of that package."""
        folder = package_folder(self._file)
        return folder if self.tools and self.tools == tools_of_package(folder) else None

    @property
    def expected_tools(self) -> list[str]:
        """The names of the expected tools."""
        return [call.tool for call in (*self.expect, *self.any_of)] or [NO_CALL]

    def judge(self, calls: Sequence[ToolCall], schemas: Schemas) -> list[str]:
        """Return what is wrong with the calls of a reply; an empty list if the case has passed."""
        if self.no_call:
            return [f"expected no call, got {call.name}" for call in calls]
        assigned = assign(self.expect, calls, schemas, ordered=self.ordered)
        problems = [
            self._difference(expected, calls, schemas)
            for index, expected in enumerate(self.expect)
            if index not in assigned
        ]
        if self.any_of and not assign(self.any_of, calls, schemas, ordered=False):
            problems += [f"any of: {self._difference(expected, calls, schemas)}" for expected in self.any_of]
        if self.max_calls is not None and len(calls) > self.max_calls:
            problems.append(f"expected at most {self.max_calls} calls, got {len(calls)}")
        allowed = self.expected_tools
        for call in calls:
            pattern = next((pattern for pattern in self.forbid if fnmatchcase(call.name, pattern)), None)
            if pattern and call.name not in allowed:
                problems.append(f"{call.name} is forbidden" + (f" by {pattern}" if pattern != call.name else ""))
        return problems

    def chosen(self, calls: Sequence[ToolCall]) -> tuple[str, str]:
        """Return the expected tool and the tool that the model chose."""
        names = [call.name for call in calls]
        if not (self.expect or self.any_of or self.forbid or self.no_call):
            return NO_CALL, NO_CALL  # any tool may be right
        if self.any_of and not self.expect:
            match = next((name for name in names if name in self.expected_tools), None)
            return (match, match) if match else (self.expected_tools[0], [*names, NO_CALL][0])
        for call in self.expect:
            if call.tool not in names:
                others = [name for name in names if name not in self.expected_tools]
                return call.tool, [*others, NO_CALL][0]
        return (self.expected_tools[0], self.expected_tools[0]) if self.expect else (NO_CALL, [*names, NO_CALL][0])

    def _difference(self, expected: ExpectedCall, calls: Sequence[ToolCall], schemas: Schemas) -> str:
        attempts = [expected.problems(call, schemas) for call in calls if call.name == expected.tool]
        if attempts:
            fewest = min(attempts, key=len)
            return "; ".join(fewest) or f"{expected.tool} was called too early or too rarely"
        return f"expected {expected.tool}, got {', '.join(call.name for call in calls) or 'no call'}"


def package_folder(file: Path) -> Path:
    return file.resolve().parent.parent


def tools_of_package(folder: Path) -> list[str]:
    try:
        project = tomllib.loads((folder / "pyproject.toml").read_text("utf-8")).get("project", {})
    except (OSError, ValueError):  # no TOML, or no UTF-8
        return []
    return [project["name"]] if "ask_tools.tools" in project.get("entry-points", {}) else []
