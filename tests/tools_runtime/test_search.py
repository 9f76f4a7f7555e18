"""`tools_runtime.search`: definitions ranked by the words of a query."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools_core import tool
from tools_runtime.search import Index


@tool
def get_forecast(city: str) -> str:
    """Return the weather of the next days.

    Args:
        city: The name of a municipality.
    """
    return city


@tool
def sendMail(recipient: str, priority: str = "low") -> str:
    """Send a message to a person."""
    return recipient


@tool(examples=[{"path": "invoice.pdf"}])
def open_document(path: str) -> str:
    """Show a file."""
    return path


DEFINITIONS = [item.definition for item in (get_forecast, sendMail, open_document)]


def names(index, query, limit=10):
    return [hit.name for hit in index.search(query, limit)]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("forecasts", "get_forecast"),
        ("what will the weather be?", "get_forecast"),
        ("municipality", "get_forecast"),
        ("MAIL a person", "sendMail"),
        ("sending", "sendMail"),
        ("priority", "sendMail"),
        ("an invoice", "open_document"),
    ],
)
def test_each_text_of_a_definition_can_be_found(query, expected):
    assert names(Index(DEFINITIONS), query)[0] == expected


def test_a_match_in_the_name_ranks_above_a_match_in_the_description():
    tools = [
        {"name": "archive", "description": "Move a ticket out of sight.", "input_schema": {}},
        {"name": "ticket", "description": "Move it out of sight.", "input_schema": {}},
    ]
    hits = Index(tools).search("ticket")
    assert [hit.name for hit in hits] == ["ticket", "archive"]
    assert hits[0].score > hits[1].score > 0


@pytest.mark.parametrize("query", ["", "the of", "zebra", "🦓"])
def test_a_query_without_a_match_has_no_hits(query):
    assert Index(DEFINITIONS).search(query) == []
    assert Index([]).search(query) == []


def test_nested_parameters_and_choices_can_be_found():
    schema = {
        "type": "object",
        "properties": {
            "items": {
                "type": "array",
                "items": {"type": "object", "properties": {"colour": {"enum": ["crimson", "navy"]}}},
            }
        },
    }
    index = Index([*DEFINITIONS, {"name": "paint", "description": "", "input_schema": schema}])
    assert names(index, "crimson") == names(index, "colour") == ["paint"]


@given(st.text(), st.integers(0, 20), st.lists(st.text(min_size=1), max_size=5))
def test_any_text_can_be_indexed_and_searched(query, limit, descriptions):
    tools = [
        {"name": f"tool_{number}", "description": text, "input_schema": {}} for number, text in enumerate(descriptions)
    ]
    hits = Index(tools).search(query, limit)
    assert len(hits) <= limit
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("天気", "weather"),
        ("メールの送信", "mail"),
        ("削除して", "delete"),
        ("文件", "read"),
        ("날씨", "korean"),
        ("HTTP報告", "weather"),
    ],
)
def test_words_are_found_in_scripts_without_spaces(query, expected):
    descriptions = {
        "mail": "メールを送信する", "weather": "都市の天気を報告する", "delete": "ファイルを削除する",
        "read": "读取文件内容", "korean": "도시의 날씨를 알려준다",
    }  # fmt: skip
    index = Index([{"name": name, "description": text} for name, text in descriptions.items()])
    assert names(index, query)[0] == expected
