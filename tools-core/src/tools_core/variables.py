"""Variables that scripts set for one command, such as `NODE_ENV=test npm test`."""

from __future__ import annotations

import re
from collections.abc import Sequence

# Names and values that choose a language, a format or a test environment. Programs take none of them for a path, a
# program or an option; a name that is not here may be one, such as NODE_OPTIONS, or a production environment.
_HARMLESS = re.compile(
    r"""
    (NODE|RAILS|RACK|MIX|APP|FLASK|DJANGO)_ENV=(test|testing|dev|development|ci)
    | (CI|NO_COLOR|FORCE_COLOR|CLICOLOR|PYTHONUNBUFFERED|PYTHONDONTWRITEBYTECODE|RUST_BACKTRACE)=(\d|true|false|full)
    | (LANG|LC_[A-Z]+)=(C|POSIX|C\.UTF-8|[a-z][a-z]_[A-Z][A-Z]\.UTF-8)
    | TZ=[A-Za-z]+(/[A-Za-z_]+)?
    | (COLUMNS|LINES)=\d+
    | TERM=[a-z][\w-]*
    """,
    re.VERBOSE | re.ASCII,
)


def without_harmless_variables(words: Sequence[str | None]) -> Sequence[str | None]:
    """Return the words of a command without the variables in front that change neither what it runs nor where."""
    for place, word in enumerate(words):
        if word is None or not _HARMLESS.fullmatch(word):
            return words[place:]
    return words
