"""The official JSON-Schema-Test-Suite, draft 2020-12, judges the validator.

It is found in the folder that JSON_SCHEMA_SUITE names, or in `.cache/json-schema-suite` of this repository.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tools_core._errors import SchemaError
from tools_core._schema import Validator, compile_schema

ROOT = Path(__file__).parents[3]
SUITE = Path(os.environ.get("JSON_SCHEMA_SUITE", ROOT / ".cache" / "json-schema-suite")) / "tests" / "draft2020-12"

pytestmark = pytest.mark.skipif(
    not SUITE.is_dir(), reason=f"no JSON-Schema-Test-Suite at {SUITE}; name its folder in JSON_SCHEMA_SUITE"
)

# Of the optional files, those that are about what every validator has: patterns and numbers.
OPTIONAL = [f"optional/{name}.json" for name in ("bignum", "ecmascript-regex", "float-overflow", "non-bmp-regex")]
IDENTIFIED = ("$id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$vocabulary")


def groups(*files: str) -> list[dict[str, Any]]:
    names = files or [*sorted(path.name for path in SUITE.glob("*.json")), *OPTIONAL]
    paths = [SUITE / name for name in names]
    return [{**group, "file": path.stem} for path in paths for group in json.loads(path.read_text(encoding="utf-8"))]


def compiled(group: dict[str, Any]) -> Validator | None:
    try:
        return compile_schema(group["schema"])
    except SchemaError:
        return None


def wrong_answers(group: dict[str, Any], validator: Validator) -> list[str]:
    wrong = []
    for case in group["tests"]:
        where = f"{group['file']}: {group['description']}: {case['description']}"
        before = json.dumps(case["data"])
        problems = validator.check(case["data"], repair=False).problems
        if (not problems) != case["valid"]:
            wrong.append(f"{where}: check says {problems}")
        if validator.accepts(case["data"]) and not case["valid"]:
            wrong.append(f"{where}: accepts an invalid value")
        if (validator.count(case["data"]) is not None) != validator.accepts(case["data"]):
            wrong.append(f"{where}: count and accepts differ")
        if json.dumps(case["data"]) != before:
            wrong.append(f"{where}: the value was changed")
    return wrong


def test_every_group_that_compiles_is_answered_as_the_suite_says() -> None:
    wrong: list[str] = []
    cases = 0
    for group in groups():
        validator = compiled(group)
        if validator is not None:
            wrong += wrong_answers(group, validator)
            cases += len(group["tests"])
    assert wrong == []
    assert cases >= 1_000


def test_only_identifiers_remote_references_and_unicode_properties_are_refused() -> None:
    reasons: Counter[str] = Counter()
    for group in groups():
        if compiled(group) is None:
            text = json.dumps(group["schema"])
            if "\\p{" in text:
                reasons["unicode property"] += 1
            elif any(f'"{keyword}"' in text for keyword in IDENTIFIED):
                reasons["identifier"] += 1
            elif "http" in text:
                reasons["remote reference"] += 1
            else:
                reasons[f"{group['file']}: {group['description']}"] += 1
    assert set(reasons) == {"unicode property", "identifier", "remote reference"}
    assert reasons["unicode property"] <= 5
    assert reasons.total() < 80


def test_most_plain_valid_cases_are_accepted_without_an_explaining_pass() -> None:
    valid = accepted = 0
    for group in groups("type.json", "properties.json", "required.json", "items.json", "enum.json", "ref.json"):
        validator = compiled(group)
        for case in group["tests"] if validator is not None else ():
            if case["valid"]:
                valid += 1
                accepted += validator.accepts(case["data"])
    assert accepted / valid > 0.85
