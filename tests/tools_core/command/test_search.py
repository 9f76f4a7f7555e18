"""`ask-tools search`: installed tools that match some words."""

from __future__ import annotations

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


def test_the_best_match_comes_first(ask_tools, site):
    site.install("tools-office", {"translate": "translate", "ship": "ship"}, SOURCE)
    result = ask_tools("search", "parcels", "for", "customers")
    assert result.out.splitlines()[1].split() == [
        "ship",
        "tools-office",
        "1.0",
        "Send",
        "a",
        "parcel",
        "to",
        "a",
        "customer.",
    ]
    [row] = ask_tools("search", "translating text", "--json").json
    assert (row["name"], row["distribution"], row["score"] > 0) == ("translate", "tools-office", True)


def test_a_search_without_a_match_fails_with_a_hint(ask_tools, site):
    site.install("tools-office", {"translate": "translate", "ship": "ship"}, SOURCE)
    result = ask_tools("search", "zebra")
    assert (result.code, result.out) == (1, "")
    assert "no tool matches" in result.err


def test_only_the_named_tools_are_searched(ask_tools, site):
    site.install("tools-office", {"translate": "translate", "ship": "ship"}, SOURCE)
    assert ask_tools("search", "parcel", "--tools", "translate").code == 1
