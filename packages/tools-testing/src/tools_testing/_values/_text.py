"""Strings: of a format, of a pattern, or of those that break programs."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from tools_testing._values._pattern import matching

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tools_testing._values._choices import Choices

# Short ones first: what fails is shown by the simplest.
NAUGHTY = (
    "", " ", "0", "-1", "None", "null", "true", "NaN", "é", "ß", "日本", "🙂", "e\u0301", "\u202e", "\ufeff", "\x00",
    "\x1b[31m", "\n", "\r\n", "\t", "'", '"', "\\", "%s", "{}", "${HOME}", "$(id)", "; ls", "--help", "*", "~", "..",
    "../../etc/passwd", "/dev/null", "CON", "<script>", "' OR '1'='1", "{{7*7}}", "[" * 50, "a" * 300,
)  # fmt: skip


def text(schemas: Sequence[dict[str, Any]], choices: Choices) -> str:
    """Make a string for all of these flat schemas; whether it fits is for the judge to say."""
    low = max((int(schema.get("minLength", 0)) for schema in schemas), default=0)
    high = min((int(schema["maxLength"]) for schema in schemas if "maxLength" in schema), default=None)
    patterns = [schema["pattern"] for schema in schemas if "pattern" in schema]
    if patterns:
        return matching(choices.pick(patterns), choices, reach=max(5, low))
    for schema in schemas:
        if schema.get("format") in FORMATS:
            return FORMATS[schema["format"]](choices)
        if str(schema.get("contentEncoding")).lower() == "base64":
            return base64.b64encode(choices.text(0, 20).encode()).decode()
    fitting = [sample for sample in NAUGHTY if low <= len(sample) and (high is None or len(sample) <= high)]
    if fitting and choices.integer(0, 2) == 2:
        return choices.pick(fitting)
    return choices.text(low, low + 20 if high is None else min(high, low + 20))


def _date(choices: Choices) -> str:
    return f"{choices.integer(1, 9999):04}-{choices.integer(1, 12):02}-{choices.integer(1, 28):02}"


def _time(choices: Choices) -> str:
    zone = choices.pick(("", "Z", "+01:00", "-11:30"))
    second = choices.pick(("", ".5", ".123456"))
    return f"{choices.integer(0, 23):02}:{choices.integer(0, 59):02}:{choices.integer(0, 59):02}{second}{zone}"


def _date_time(choices: Choices) -> str:
    return f"{_date(choices)}T{_time(choices)}"


def _duration(choices: Choices) -> str:
    return choices.pick(("PT0S", "P1D", "PT1H30M", "P2W", "-PT0.5S", "P1DT2H"))


def _uuid(choices: Choices) -> str:
    digits = f"{choices.integer(0, 2**128 - 1):032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def _host(choices: Choices) -> str:
    return choices.pick(("localhost", "example.com", "a.b-c.example", "xn--bcher-kva.example"))


def _address(choices: Choices) -> str:
    return ".".join(str(choices.integer(0, 255)) for _ in range(4))


def _address_6(choices: Choices) -> str:
    return ":".join(f"{choices.integer(0, 0xFFFF):x}" for _ in range(8))


def _mail(choices: Choices) -> str:
    return f"{choices.pick(('a', 'first.last', 'a+b'))}@{_host(choices)}"


def _address_of_page(choices: Choices) -> str:
    return f"https://{_host(choices)}/{choices.pick(('', 'a/b', '?q=1', '%20', '#top'))}"


FORMATS: dict[str, Callable[[Choices], str]] = {
    "date": _date,
    "date-time": _date_time,
    "duration": _duration,
    "email": _mail,
    "hostname": _host,
    "ipv4": _address,
    "ipv6": _address_6,
    "json-pointer": lambda choices: choices.pick(("", "/a", "/a/0", "/~0~1")),
    "regex": lambda choices: choices.pick(("", "a+", "^[a-z]$", "(a|b)*")),
    "time": _time,
    "uri": _address_of_page,
    "uri-reference": lambda choices: choices.pick(("", "a/b", "#a", "https://example.com/")),
    "url": _address_of_page,
    "uuid": _uuid,
}
