"""`load_cases`: cases from files in TOML, JSONL and Python."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, NonNegativeInt, ValidationError

from tools_eval._cases import Case, package_folder, tools_of_package
from tools_eval._expect import CaseError, run_file


class _File(BaseModel, frozen=True, extra="forbid"):
    """The content of a file."""

    case: Annotated[list[Case], BeforeValidator(lambda value: [value] if isinstance(value, dict) else value)]
    tools: list[str] = []
    distractors: NonNegativeInt = 0
    instructions: str = ""


def load_cases(*paths: str | Path) -> list[Case]:
    """Return the cases of files, and of all `*.toml`, `*cases.jsonl` and `*cases.py` files in folders.

    A JSONL file has a case in each line, and a Python file a list `cases`. Without `tools`, the cases of a file are
    about the package whose `pyproject.toml` is in the folder above. Cases of
    several files that have the same name get the path of their file as a prefix.

    Raises:
        CaseError: A file is missing or invalid.
    """
    files: list[Path] = []
    for path in map(Path, paths):
        names = ("*.toml", "*cases.jsonl", "*cases.py")
        files += sorted(file for name in names for file in path.glob(name)) if path.is_dir() else [path]
    cases = [case for file in files for case in _load(file)]
    counts = Counter(case.name for case in cases)
    return [
        case if counts[case.name] == 1 else case.model_copy(update={"name": f"{case._file}: {case.name}"})
        for case in cases
    ]


def _load(path: Path) -> list[Case]:
    text = ""
    try:
        text = path.read_text("utf-8-sig")
        if path.suffix == ".py":
            data: dict[str, Any] = {"case": _python_cases(path)}
        else:
            data = {"case": _json_cases(path, text)} if path.suffix == ".jsonl" else tomllib.loads(text)
        content = _File.model_validate(data, context={"folder": path.parent})
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CaseError(f"{path}: {error}") from error
    except OSError as error:
        raise CaseError(f"{path}: {error.strerror}") from error
    except ValidationError as error:
        raise CaseError("\n".join(_places(path, text, error))) from error
    names = [case.name for case in content.case]
    if repeated := next((name for name in names if names.count(name) > 1), None):
        raise CaseError(f"{path}: two cases have the name {repeated!r}")
    tools = content.tools or tools_of_package(package_folder(path))
    return [_with_defaults(case, content, tools, path) for case in content.case]


def _python_cases(path: Path) -> list[Any]:
    cases = run_file(path).get("cases")
    if not isinstance(cases, list):
        raise CaseError(f"{path} has no list `cases`; a Python file of cases has one: cases = [Case(...)]")
    return cases


def _json_cases(path: Path, text: str) -> list[Any]:
    cases: list[Any] = []
    for number, line in _json_lines(text):
        try:
            cases.append(json.loads(line))
        except (RecursionError, ValueError) as error:
            raise CaseError(f"{path}:{number}: {error}") from error
    return cases


def _json_lines(text: str) -> list[tuple[int, str]]:
    """Return the lines that are not empty, with their numbers; U+2028 ends none."""
    return [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]


def _with_defaults(case: Case, content: _File, tools: list[str], path: Path) -> Case:
    values = {
        "tools": case.tools or tools,
        "distractors": case.distractors or content.distractors,
        "instructions": case.instructions or content.instructions,
    }
    copy = case.model_copy(update=values)
    copy._file = path  # type: ignore[misc]  # a private attribute of a frozen model can be set
    return copy


def _places(path: Path, text: str, error: ValidationError) -> Iterable[str]:
    """Yield each problem with the file, the line and the key."""
    if path.suffix == ".jsonl":
        numbers = [number for number, _ in _json_lines(text)]
        for problem in error.errors():
            _, index, *parts = problem["loc"]
            yield _place(path, numbers[int(index)], parts, problem)
        return
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
        yield _place(path, line + 1, location, problem)


def _place(path: Path, line: int, key: Iterable[Any], problem: Mapping[str, Any]) -> str:
    text = ".".join(map(str, key)) or "case"
    return f"{path}:{line}: {text}: {problem['msg'].removeprefix('Value error, ')}"
