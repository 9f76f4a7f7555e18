"""The pages about agents name everything that an agent takes, yields and raises."""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest

import tools_agent
from tools_agent._options import Options, RunOptions

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "agent-options.md").read_text(encoding="utf-8")
EVENTS = (DOCS / "events.md").read_text(encoding="utf-8")
PUBLIC = {name: getattr(tools_agent, name) for name in tools_agent.__all__}
OTHER_VALUES = {"Block", "Guardrail", "Record", "Request", "Response", "Retry", "SessionInfo", "Skill"}
NAMES = sorted({*Options.__annotations__, *RunOptions.__annotations__})


def test_every_option_has_an_example_and_a_line_that_explains_it():
    programs = "\n".join(re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE))
    assert [name for name in NAMES if not re.search(rf"\b{name}=", programs)] == []
    assert [name for name in NAMES if f"\n| `{name}` |" not in PAGE] == []


def test_every_event_is_listed_with_its_fields():
    events = {
        name: [field.name for field in fields(kind)]
        for name, kind in PUBLIC.items()
        if is_dataclass(kind) and name not in OTHER_VALUES
    }
    rows = re.findall(r"^\| `(\w+)` \| (`.*?) \|", EVENTS, re.MULTILINE)
    assert {name: re.findall(r"`(\w+)`", columns) for name, columns in rows if name in events} == events


def test_every_error_is_listed_with_its_base():
    errors = {
        name: kind.__base__.__name__
        for name, kind in PUBLIC.items()
        if isinstance(kind, type) and issubclass(kind, BaseException)
    }
    rows = dict(re.findall(r"^\| `(\w+)` \| `(\w*)` \|", EVENTS, re.MULTILINE))
    assert {name: rows.get(name) for name in errors} == errors


@pytest.mark.parametrize("name", ["max_steps", "max_tokens", "max_cost", "max_tool_calls", "max_session_steps"])
def test_the_page_of_limits_says_how_each_binds_with_sub_agents(name):
    page = (DOCS / "how-to/budgets.md").read_text(encoding="utf-8")
    assert re.search(rf"^\| `{name}`.*\|.*\|.*\|.*counts .* \|$", page, re.MULTILINE)
