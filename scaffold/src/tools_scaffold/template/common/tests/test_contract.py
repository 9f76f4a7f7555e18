"""What every tool of this package promises, whatever it does: each is found through its entry point."""

import tomllib
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import Distribution, PackageNotFoundError
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tools_core import Registry, Tool

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))["project"]
ENTRY_POINTS: dict[str, str] = PROJECT["entry-points"]["ask_tools.tools"]


def every_tool() -> Iterator[Tool]:
    """Load what the entry points name, as a host does."""
    for place in ENTRY_POINTS.values():
        module, _, attribute = place.partition(":")
        found = Registry()
        found.register(getattr(import_module(module), attribute))
        yield from found.all()


TOOLS = list(every_tool())
EVERY_TOOL = pytest.mark.parametrize("subject", TOOLS, ids=[each.name for each in TOOLS])


@EVERY_TOOL
def test_a_model_is_told_all_it_needs(subject: Tool) -> None:
    told = subject.definition
    assert told["description"].strip()
    parts = told["input_schema"].get("properties", {})
    assert [name for name, part in parts.items() if not part.get("description")] == []


@EVERY_TOOL
@pytest.mark.parametrize(
    "sent",
    [
        pytest.param('{"cut": "off"', id="cut off"),
        pytest.param("[]", id="no object"),
        pytest.param({"no such argument": 1}, id="unknown"),
    ],
)
def test_what_no_tool_takes_is_refused_before_anything_runs(subject: Tool, sent: Any) -> None:
    assert subject.call(sent).error_type == "validation_error"


@EVERY_TOOL
def test_a_missing_argument_is_named(subject: Tool) -> None:
    needed = subject.definition["input_schema"].get("required", [])
    message = str(subject.call({}).error) if needed else ""
    assert [name for name in needed if name not in message] == []


# Tools that change something are left out: what is made up here would really be done.
@pytest.mark.parametrize("subject", [each for each in TOOLS if each.read_only], ids=lambda each: each.name)
def test_whatever_arrives_is_answered_and_never_with_a_crash(subject: Tool) -> None:
    chance = Random(2026)
    schema = subject.definition["input_schema"]
    for _ in range(300):
        sent = likely(schema, chance)
        for name in chance.sample([*sent, "unknown"], k=chance.randrange(2)):
            sent[name] = anything(chance)
        answered = subject.call(sent)
        assert answered.error_type != "execution_error", (sent, answered.error)


def test_an_installation_is_a_registration() -> None:
    try:
        Distribution.from_name(PROJECT["name"])
    except PackageNotFoundError:
        pytest.skip("not installed; python -m pip install --editable .")
    known = Registry()
    known.discover()
    for each in TOOLS:
        assert known[f"{PROJECT['name']}:{each.name}"].definition == each.definition


def likely(schema: dict[str, Any], chance: Random) -> Any:
    """Make up a value that fits a schema, or nearly."""
    if "enum" in schema:
        return chance.choice(schema["enum"])
    kinds = schema.get("type", "null")
    kind = chance.choice(kinds) if isinstance(kinds, list) else kinds
    if kind == "object":
        needed = schema.get("required", [])
        parts = schema.get("properties", {}).items()
        return {name: likely(part, chance) for name, part in parts if name in needed or chance.random() < 0.5}
    if kind == "array":
        return [likely(schema.get("items", {}), chance) for _ in range(chance.randrange(3))]
    return chance.choice(SAMPLES.get(schema.get("format") or kind, [None]))


def anything(chance: Random, depth: int = 3) -> Any:
    """Make up a value, as a confused model might."""
    if depth == 0 or chance.random() < 0.7:
        return chance.choice([None, True, -1, 10**30, 0.5, float("nan"), "", "word", "\x00é☃", "{"])
    parts = [anything(chance, depth - 1) for _ in range(chance.randrange(4))]
    return parts if chance.random() < 0.5 else {str(part): part for part in parts}


SAMPLES: dict[str, list[Any]] = {
    "string": ["", "Oslo", "été", "two words"],
    "integer": [0, 3, -7],
    "number": [0.5, 3, -1e9],
    "boolean": [True, False],
    "date": ["2026-01-31"],
    "date-time": ["2026-01-31T12:00:00+00:00"],
    "time": ["12:30:00"],
    "uuid": ["6fa459ea-ee8a-4ca4-894e-db77e160355e"],
    "path": ["notes.txt"],
}
