"""Names on the wire: legal for the provider, different for different tools, and the same in every order."""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from collections.abc import Iterable

_LONGEST = 64  # of all providers the least that any allows; the others take up to 128
_DIGITS = 8  # of the digest; more only where those meet

# What each takes besides the letters A-Z and a-z, and digits.
_MARKS = {
    "openai": "_-",
    "openai-strict": "_-",
    "responses": "_-",
    "responses-strict": "_-",
    "anthropic": "_-",
    "gemini": "_-.:",
    "mcp": "_-.",
}


def legal_names(names: Iterable[str], format: str) -> dict[str, str]:  # noqa: A002  (the field's word)
    """Map every name to one that the format's provider takes: at most 64 characters, and no two alike.

    A legal name stays. Of another one, each character that is not allowed becomes `_`; where that is too long, says
    nothing or is the name of another tool, a digest of the name tells them apart. The order of the names, and a name
    given twice, change nothing.
    """
    marks = _MARKS[format]
    starts_freely = format != "gemini"
    made = {name: name for name in names}
    illegal = sorted([name for name in made if not _is_legal(name, marks, starts_freely=starts_freely)])
    if not illegal:
        return made
    plain = {name: _replaced(name, marks, starts_freely=starts_freely) for name in illegal}
    uses: dict[str, int] = {}
    for short in plain.values():
        uses[short] = uses.get(short, 0) + 1
    taken = made.keys() - plain.keys()
    unique = {
        name: short
        for name, short in plain.items()
        if uses[short] == 1 and short not in taken and len(short) <= _LONGEST and short.strip("_")
    }
    made.update(unique)
    taken.update(unique.values())
    for name in illegal:  # sorted: which came first decides nothing
        if name not in unique:
            made[name] = _with_digest(name, plain[name], taken)
            taken.add(made[name])
    return made


def _is_legal(name: str, marks: str, *, starts_freely: bool) -> bool:
    letters = name
    for mark in marks:
        letters = letters.replace(mark, "")
    return (
        0 < len(name) <= _LONGEST
        and name.isascii()
        and (letters.isalnum() or not letters)
        and (starts_freely or name[0].isalpha() or name[0] == "_")
    )


def _replaced(name: str, marks: str, *, starts_freely: bool) -> str:
    short = "".join([c if c.isascii() and (c.isalnum() or c in marks) else "_" for c in name])
    return short if starts_freely or short[:1].isalpha() or short[:1] == "_" else f"_{short}"


def _with_digest(name: str, short: str, taken: set[str]) -> str:
    from hashlib import sha256  # a shared library, for the rare name that needs it

    digest = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
    for digits in range(_DIGITS, _LONGEST - 1, 8):
        made = f"{short[: _LONGEST - 1 - digits]}_{digest[:digits]}"
        if made not in taken:
            return made
    return _with_digest(f"{name} ", short, taken)  # all of it is taken: another text has another digest
