"""Cases: questions for a model, and the tool calls that they must lead to. Read from TOML and Python files."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, PlainValidator, PrivateAttr, ValidationError, model_validator

from tools_agent import Message, System, User, message_from_dict
from tools_core import ToolCall
from tools_eval._expect import CaseError, ExpectedCall, Schemas, assign, run_file

NO_CALL = "(no call)"


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, Mapping | ExpectedCall) else value


def _as_message(value: Any) -> Message:
    return value if isinstance(value, Message) else message_from_dict(value)


Expected = Annotated[list[ExpectedCall], BeforeValidator(_as_list)]


class Case(BaseModel, frozen=True, extra="forbid"):
    """A question, and the calls that a good reply has.

    Attributes:
        name: The name in reports; by default the question.
        question: The user's message; or `messages`, a conversation that ends with the user's turn.
        instructions: The system message.
        expect: Calls that the model must make, all of them; `ordered` fixes their order.
        any_of: Calls of which the model must make one.
        forbid: Names or patterns of tools that the model must not call, except the expected ones.
        no_call: The model must not call a tool.
        tools: Patterns that select the offered tools; a case file has them for all of its cases.
        distractors: The number of other installed tools that are offered as well, the most similar ones.
        workspace: A folder, relative to the file. An agent runs the calls in a copy of it until the model has replied;
            all calls are checked. Commands are refused unless `approve` is "all".
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
    tools: list[str] = []
    distractors: int = 0
    workspace: str | None = None
    approve: str | None = None
    _file: Path = PrivateAttr(default=Path())

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if bool(self.question) == bool(self.messages):
            raise ValueError("a case has a question, or messages")
        if not (self.expect or self.any_of or self.forbid or self.no_call):
            raise ValueError("a case has expect, any_of, forbid or no_call")
        if self.no_call and (self.expect or self.any_of):
            raise ValueError("a case with no_call expects no calls")
        if not self.name:
            object.__setattr__(self, "name", self.conversation[-1].content)  # type: ignore[attr-defined]
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
        folder = _package_folder(self._file)
        return folder if self.tools and self.tools == _tools_of_package(folder) else None

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
        allowed = self.expected_tools
        for call in calls:
            pattern = next((pattern for pattern in self.forbid if fnmatchcase(call.name, pattern)), None)
            if pattern and call.name not in allowed:
                problems.append(f"{call.name} is forbidden" + (f" by {pattern}" if pattern != call.name else ""))
        return problems

    def chosen(self, calls: Sequence[ToolCall]) -> tuple[str, str]:
        """Return the expected tool and the tool that the model chose, for the confusion matrix."""
        names = [call.name for call in calls]
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


class _File(BaseModel, frozen=True, extra="forbid"):
    """The content of a TOML file."""

    case: list[Case]
    tools: list[str] = []
    distractors: int = 0
    instructions: str = ""


def load_cases(*paths: str | Path) -> list[Case]:
    """Return the cases of files, and of all `*.toml` and `*cases.py` files in folders.

    A Python file has a list `cases`. Without `tools`, the cases of a file are about the package whose `pyproject.toml`
    is in the folder above. Cases of several files that have the same name get the path of their file as a prefix.

    Raises:
        CaseError: A file is missing or invalid.
    """
    files: list[Path] = []
    for path in map(Path, paths):
        files += sorted([*path.glob("*.toml"), *path.glob("*cases.py")]) if path.is_dir() else [path]
    cases = [case for file in files for case in _load(file)]
    counts = Counter(case.name for case in cases)
    return [
        case if counts[case.name] == 1 else case.model_copy(update={"name": f"{case._file}: {case.name}"})
        for case in cases
    ]


def _load(path: Path) -> list[Case]:
    text = ""
    try:
        text = path.read_text("utf-8")
        if path.suffix == ".py":
            content = _File.model_validate({"case": _python_cases(path)})
        else:
            content = _File.model_validate(tomllib.loads(text), context={"folder": path.parent})
    except tomllib.TOMLDecodeError as error:
        raise CaseError(f"{path}: {error}") from error
    except OSError as error:
        raise CaseError(f"{path}: {error.strerror}") from error
    except ValidationError as error:
        raise CaseError("\n".join(_places(path, text, error))) from error
    names = [case.name for case in content.case]
    if repeated := next((name for name in names if names.count(name) > 1), None):
        raise CaseError(f"{path}: two cases have the name {repeated!r}")
    tools = content.tools or _tools_of_package(_package_folder(path))
    return [_with_defaults(case, content, tools, path) for case in content.case]


def _python_cases(path: Path) -> list[Any]:
    cases = run_file(path).get("cases")
    if not isinstance(cases, list):
        raise CaseError(f"{path} has no list `cases`; a Python file of cases has one: cases = [Case(...)]")
    return cases


def _with_defaults(case: Case, content: _File, tools: list[str], path: Path) -> Case:
    values = {
        "tools": case.tools or tools,
        "distractors": case.distractors or content.distractors,
        "instructions": case.instructions or content.instructions,
    }
    copy = case.model_copy(update=values)
    copy._file = path  # type: ignore[misc]  # a private attribute of a frozen model can be set
    return copy


def _package_folder(file: Path) -> Path:
    return file.resolve().parent.parent


def _tools_of_package(folder: Path) -> list[str]:
    try:
        project = tomllib.loads((folder / "pyproject.toml").read_text("utf-8")).get("project", {})
    except (OSError, tomllib.TOMLDecodeError):
        return []
    return [project["name"]] if "ask_tools.tools" in project.get("entry-points", {}) else []


def _places(path: Path, text: str, error: ValidationError) -> Iterable[str]:
    """Yield each problem with the file, the line and the key."""
    lines = text.splitlines()
    starts = [number for number, line in enumerate(lines) if re.match(r"\s*\[\[\s*case\s*\]\]", line)]
    for problem in error.errors():
        location = list(problem["loc"])
        line, end = 0, starts[0] if starts else len(lines)
        if (
            location[:1] == ["case"]
            and len(location) > 1
            and isinstance(location[1], int)
            and location[1] < len(starts)
        ):
            line, end = starts[location[1]], [*starts, len(lines)][location[1] + 1]
            location = location[2:]
        for key in location:
            pattern = re.compile(rf"(^|[\s.\[{{,\"']){re.escape(str(key))}[\"']?\s*[=.\]]")
            line = next((number for number in range(line, end) if pattern.search(lines[number])), line)
        key = "".join(f"{part}." for part in location).rstrip(".") or "case"
        yield f"{path}:{line + 1}: {key}: {problem['msg'].removeprefix('Value error, ')}"
