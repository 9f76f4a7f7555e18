"""`ask-tools search`: tools that match some words."""

import json

import pytest

from tools_core.command import main

SOURCE = '''
from tools_core import tool


@tool
def translate(text: str) -> str:
    """Translate a text into English."""
    return text


@tool
def ship(order: str) -> str:
    """Send a parcel to a customer."""
    return order
'''


@pytest.fixture
def search(tmp_path, capsys):
    (tmp_path / "office.py").write_text(SOURCE)

    def run(*words, tools="office.py"):
        code = main(["search", *words, "--tools", f"{tmp_path}/{tools}"])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def test_the_best_match_comes_first(search):
    code, out, _ = search("parcels", "for", "customers")
    assert code == 0
    assert out.splitlines()[1].endswith("Send a parcel to a customer.")
    row, *_ = json.loads(search("translating text", "--json")[1])
    assert row["name"].endswith("translate")
    assert row["score"] > 0


def test_a_search_without_a_match_fails_with_a_hint(search):
    code, out, err = search("zebra")
    assert (code, out) == (1, "")
    assert "no tool matches" in err


def test_only_the_named_tools_are_searched(search):
    assert search("parcel", tools="office.py:translate")[0] == 1
