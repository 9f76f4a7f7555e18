"""Values that JSON can carry: what of a result would reach a model as a name in brackets."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from tools_core import Result

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_ADDRESS = re.compile(r"<.+ at 0x[0-9a-fA-F]+>")
_SCALARS = (str, int, bool, type(None))


def unclean(result: Result) -> Iterator[str]:
    """Say where a result holds what is no JSON and becomes none that means anything."""
    yield from _unclean(result.output, "output", 0)
    yield from _unclean(dict(result.metadata), "metadata", 0)
    text = result.to_json()
    again = Result.from_dict(json.loads(text))
    if again != result:
        yield f"after a round trip through JSON it is {again!r:.200}"
    if again.is_halted != result.is_halted:
        yield "whether it halts is lost on a round trip through JSON"


def _unclean(value: Any, place: str, depth: int) -> Iterator[str]:
    if type(value) in _SCALARS or depth > 60:
        return
    if isinstance(value, float):
        if value - value != 0.0:
            yield f"{place} is {value!r}, which JSON has no number for"
        return
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str | int | bool):
                yield from _unclean(key, f"a key of {place}", depth + 1)
            yield from _unclean(item, f"{place}[{key!r:.60}]", depth + 1)
        return
    if isinstance(value, list | tuple | set | frozenset):
        for index, item in enumerate(value):
            yield from _unclean(item, f"{place}[{index}]", depth + 1)
        return
    yield from _opaque(value, place)


def _opaque(value: Any, place: str) -> Iterator[str]:
    """Whether the core could make anything of an object that is no JSON by itself."""
    kind = type(value).__name__
    written = Result.ok(value).to_dict()["output"]
    if isinstance(written, str) and (
        written == f"({kind})" or " that cannot be shown: " in written or _ADDRESS.fullmatch(written)
    ):
        yield f"{place} is a {kind}, which becomes the text {written!r:.100}"


def output_misfit(definition: Mapping[str, Any], result: Result) -> str | None:
    """Why the output does not fit the output schema of the definition, None when it does or there is none."""
    schema = definition.get("output_schema")
    if schema is None or result.is_error or result.is_halted:
        return None
    from tools_testing._values._judge import Judge, moved  # only tools that promise an output

    output = json.loads(result.to_json())["output"]
    # References of the schema are to its own root, which becomes a part of the judge's.
    judge = Judge({"$defs": {"output": moved(schema, "#/$defs/output")}})
    if judge.fits([{"$ref": "#/$defs/output"}], output):
        return None
    return f"the output {json.dumps(output, ensure_ascii=False):.200} does not fit its output_schema"
