"""The official JSON-Schema-Test-Suite, draft 2020-12, which the source distribution of `jsonschema` contains."""

from __future__ import annotations

import json
import tarfile
from collections import Counter
from pathlib import PurePath
from typing import Any

import pytest

from tools_core.schema import SchemaError, Validator
from tools_core.schema import compile as compile_schema

pytestmark = pytest.mark.slow

# The optional files about patterns and numbers.
OPTIONAL = ("bignum", "float-overflow", "non-bmp-regex")
RARE = ("$id", "$anchor", "$dynamic", "$vocabulary")


@pytest.fixture(scope="module")
def groups(download) -> list[dict[str, Any]]:
    groups_in_suite = []
    with tarfile.open(download("jsonschema==4.26.0", "--no-binary=:all:")) as archive:
        for member in archive:
            path = PurePath(member.name)
            if member.isfile() and (
                path.match("tests/draft2020-12/*.json")
                or (path.match("tests/draft2020-12/optional/*.json") and path.stem in OPTIONAL)
            ):
                text = archive.extractfile(member).read()
                groups_in_suite += [{**group, "file": path.stem} for group in json.loads(text)]
    return groups_in_suite


def compiled(group: dict[str, Any]) -> Validator | None:
    try:
        return compile_schema(group["schema"])
    except SchemaError:
        return None


def wrong_answers(group: dict[str, Any], validator: Validator) -> list[str]:
    wrong = []
    for case in group["tests"]:
        label = f"{group['file']}: {group['description']}: {case['description']}"
        before = json.dumps(case["data"])
        problems = validator.check(case["data"], repair=False).problems
        if (not problems) != case["valid"]:
            wrong.append(f"{label}: check says {problems}")
        if validator.accepts(case["data"]) and not case["valid"]:
            wrong.append(f"{label}: accepts an invalid value")
        if json.dumps(case["data"]) != before:
            wrong.append(f"{label}: the value was changed")
    return wrong


def test_verdicts_match_the_official_suite(groups) -> None:
    wrong: list[str] = []
    cases = 0
    for group in groups:
        if "custom metaschema" in group["description"]:  # `$schema` selects no vocabulary here
            continue
        validator = compiled(group)
        if validator is not None:
            wrong += wrong_answers(group, validator)
            cases += len(group["tests"])
    assert wrong == []
    assert cases >= 1_150


def test_only_rare_keywords_and_remote_references_are_refused(groups) -> None:
    reasons: Counter[str] = Counter()
    for group in groups:
        if compiled(group) is None:
            text = json.dumps(group["schema"])
            if any(f'"{keyword}' in text for keyword in RARE):
                reasons["rare keyword"] += 1
            elif "http" in text:
                reasons["remote reference"] += 1
            else:
                reasons[f"{group['file']}: {group['description']}"] += 1
    assert set(reasons) == {"rare keyword", "remote reference"}
    assert reasons["remote reference"] < 40
