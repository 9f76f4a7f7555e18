"""The arguments of `ask-tools serve` in the entries of clients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def arguments(entry: Mapping[str, Any] | None) -> list[str]:
    """Return the arguments of `serve` in an entry."""
    words = [str(word) for word in entry["args"]] if entry else ["serve"]
    return words[words.index("serve") + 1 :]


def by_option(words: Sequence[str]) -> dict[str, list[str]]:
    """Return the words of each option by its name."""
    options: dict[str, list[str]] = {}
    name = ""
    for word in words:
        name = word.partition("=")[0] if word.startswith("--") else name
        options.setdefault(name, []).append(word)
    return options


def merged(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """Update options; tools that were allowed stay allowed."""
    options, given = by_option(old), by_option(new)
    if "--allow" in options and "--allow" in given:
        values = [word.removeprefix("--allow=") for word in options["--allow"] + given["--allow"] if word != "--allow"]
        patterns = dict.fromkeys(pattern.strip() for value in values for pattern in value.split(","))
        given["--allow"] = ["--allow", ",".join(patterns)]
    return [word for words in (options | given).values() for word in words]
