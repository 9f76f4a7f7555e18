"""Hypothesis strategies for JSON Schema 2020-12, each of values that fit most of a schema's keywords.

Rare keywords (`not`, `contains`, `dependentRequired`, two patterns at once) are ignored: the validator filters values.
"""

from __future__ import annotations

import base64
import json
import math
import re
from datetime import UTC
from fractions import Fraction
from functools import reduce
from itertools import chain
from typing import TYPE_CHECKING, Any

from hypothesis import provisional
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from tools_testing._schema import ANNOTATIONS, merged, resolve, types_of

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

_DEEP = 3  # nested references; below them only required members and items are generated
_DEEPEST = 12  # nested references that are followed at all
_MORE_ITEMS = 5  # in addition to the required ones
_MORE_MEMBERS = 2  # with names that the schema does not list

_CHARACTERS = st.characters(codec="utf-8")
_SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(_CHARACTERS)
)
_ANYTHING: SearchStrategy[Any] = st.recursive(
    _SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(_CHARACTERS), inner), max_leaves=5
)

# Strings that programs often mishandle; hypothesis adds its own.
_TROUBLESOME = (
    "", " ", "-1", "null", "NaN", "e\u0301", "\u202e", "\ufeff", "\x00", "\x1b[31m", "\r\n", "'", '"', "\\", "%s", "{}",
    "$(id)", "; ls", "--help", "*", "~", "..", "../../etc/passwd", "/dev/null", "<script>", "[" * 50, "a" * 300,
)  # fmt: skip

_FORMATS: dict[str, SearchStrategy[str]] = {
    "date": st.dates().map(str),
    "date-time": st.datetimes(timezones=st.sampled_from((None, UTC))).map(lambda moment: moment.isoformat()),
    "duration": st.sampled_from(("PT0S", "P1D", "PT1H30M", "P2W", "-PT0.5S", "P1DT2H")),
    "email": st.emails(),
    "hostname": provisional.domains(),
    "ipv4": st.ip_addresses(v=4).map(str),
    "ipv6": st.ip_addresses(v=6).map(str),
    "ipv4interface": st.ip_addresses(v=4).map(str),
    "ipv4network": st.ip_addresses(v=4).map(str),
    "ipv6interface": st.ip_addresses(v=6).map(str),
    "ipv6network": st.ip_addresses(v=6).map(str),
    "regex": st.sampled_from(("", "a+", "[0-9]{2}", "^(x|y)*$", r"\d\.", "(?i)z?")),
    "time": st.times().map(str),
    "timezone": st.just("UTC"),
    "uri": provisional.urls(),
    "uuid": st.uuids().map(str),
}

# The keywords that imply a type if a schema names none.
_TYPE_OF_KEYWORD = {
    "object": ("properties", "required", "additionalProperties", "patternProperties", "propertyNames", "minProperties"),
    "array": ("items", "prefixItems", "minItems", "maxItems", "uniqueItems"),
    "string": ("pattern", "minLength", "maxLength", "format", "contentEncoding"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}


class Strategies:
    """Strategies for the parts of one schema."""

    def __init__(self, root: dict[str, Any]) -> None:
        self._root = root
        self._by_reference: dict[tuple[str, int], SearchStrategy[Any]] = {}

    def of(self, schema: Any, depth: int = 0) -> SearchStrategy[Any]:
        """Return a strategy for one part; an empty one if no value can fit."""
        if isinstance(schema, bool):
            return _ANYTHING if schema else st.nothing()
        schema = {key: item for key, item in schema.items() if key not in ANNOTATIONS}
        if "$ref" in schema:
            return self._reference(schema.pop("$ref"), schema, depth)
        if alternatives := _alternatives(schema):
            return st.one_of([self.of(part, depth) for part in alternatives])
        if "allOf" in schema:
            return self.of(reduce(merged, schema.pop("allOf"), schema), depth)
        if "const" in schema or "enum" in schema:
            options = [schema["const"]] if "const" in schema else schema["enum"]
            return st.sampled_from(options) if options else st.nothing()
        implied = tuple(kind for kind, keywords in _TYPE_OF_KEYWORD.items() if schema.keys() & {*keywords})
        kinds = implied if implied and "type" not in schema else types_of(schema)
        return st.one_of([self._of_type(kind, schema, depth) for kind in kinds])

    def _reference(self, reference: str, beside: dict[str, Any], depth: int) -> SearchStrategy[Any]:
        if depth > _DEEPEST:
            return st.nothing()
        key = (reference, depth)
        if beside:
            return self.of(merged(beside, resolve(self._root, reference)), depth + 1)
        if key not in self._by_reference:
            self._by_reference[key] = self.of(resolve(self._root, reference), depth + 1)
        return self._by_reference[key]

    def _of_type(self, kind: str, schema: dict[str, Any], depth: int) -> SearchStrategy[Any]:
        if kind == "object":
            return self._objects(schema, depth)
        if kind == "array":
            return self._arrays(schema, depth)
        if kind == "string":
            return _strings(schema)
        if kind == "boolean":
            return st.booleans()
        return st.none() if kind == "null" else _numbers(schema, is_integer=kind == "integer")

    def _arrays(self, schema: dict[str, Any], depth: int) -> SearchStrategy[list[Any]]:
        rest = schema.get("items", True)
        low = schema.get("minItems", 0)
        high = min(schema.get("maxItems", math.inf), low if depth > _DEEP else low + _MORE_ITEMS)
        parts = [self.of(part, depth).map(lambda item: [item]) for part in schema.get("prefixItems", ())[: int(high)]]
        low, high = max(low - len(parts), 0), int(high) - len(parts)
        parts.append(self._items(rest, low, high, schema, depth))
        return st.tuples(*parts).map(lambda lists: [*chain(*lists)]) if len(parts) > 1 else parts[0]

    def _items(self, item: Any, low: int, high: int, schema: dict[str, Any], depth: int) -> SearchStrategy[list[Any]]:
        unique = json.dumps if schema.get("uniqueItems") else None
        items = st.lists(self.of(item, depth), min_size=low, max_size=high, unique_by=unique)
        try:
            items.validate()
        except InvalidArgument:  # there are no items, or too few different ones
            return st.nothing() if low else st.just([])
        return items

    def _objects(self, schema: dict[str, Any], depth: int) -> SearchStrategy[dict[str, Any]]:
        properties = schema.get("properties", {})
        others = schema.get("additionalProperties", True)
        patterns = schema.get("patternProperties", {})
        required = {name: self.of(properties.get(name, others), depth) for name in schema.get("required", ())}
        optional = {name: self.of(part, depth) for name, part in properties.items() if name not in required}
        if depth > _DEEP:
            optional = {}
        low = schema.get("minProperties", 0)
        more = [(_matching(pattern), part) for pattern, part in patterns.items()]
        if others is not False:
            names = (
                st.text(_CHARACTERS)
                if "propertyNames" not in schema
                else self.of(merged({"type": "string"}, schema["propertyNames"]), depth)
            )
            more.append((names, others))
        fixed = st.fixed_dictionaries(required, optional=optional)
        least = max(low - len(required) - len(optional), 0)
        if depth > _DEEP and not least:
            more = []
        added = [
            st.dictionaries(names, self.of(part, depth), min_size=least, max_size=least + _MORE_MEMBERS)
            for names, part in more
        ]
        members = st.tuples(st.one_of(added), fixed).map(lambda both: {**both[0], **both[1]}) if added else fixed
        high = schema.get("maxProperties", math.inf)
        return members if (low, high) == (0, math.inf) else members.filter(lambda drawn: low <= len(drawn) <= high)


def _alternatives(schema: dict[str, Any]) -> list[Any]:
    """Return the schemas of which a value must fit one, for the first keyword that asks for it; it is removed."""
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema:
            parts = schema.pop(keyword)
            return [merged(schema, part) for part in parts]
    if "if" in schema:
        condition, then, otherwise = (schema.pop(keyword, True) for keyword in ("if", "then", "else"))
        return [merged(merged(schema, condition), then), merged(schema, otherwise)]
    return []


def _numbers(schema: dict[str, Any], *, is_integer: bool) -> SearchStrategy[Any]:
    low = max(schema.get("minimum", -math.inf), above := schema.get("exclusiveMinimum", -math.inf))
    high = min(schema.get("maximum", math.inf), below := schema.get("exclusiveMaximum", math.inf))
    step = Fraction(str(schema.get("multipleOf", 1)))
    if is_integer:
        step = Fraction(step.numerator)
    first = None if low == -math.inf else math.ceil(_exact(low) / step)
    last = None if high == math.inf else math.floor(_exact(high) / step)
    if first is not None and first * step == above:
        first += 1
    if last is not None and last * step == below:
        last -= 1
    multiples: SearchStrategy[Any] = st.nothing()
    if first is None or last is None or first <= last:
        multiples = st.integers(first, last).map(lambda count: _number(count * step))
    if is_integer or "multipleOf" in schema or not low < high:
        return multiples
    floats = st.floats(
        None if low == -math.inf else float(low), None if high == math.inf else float(high),
        exclude_min=low == above > -math.inf, exclude_max=high == below < math.inf,
        allow_nan=False, allow_infinity=False,
    )  # fmt: skip
    return multiples | floats


def _exact(value: float) -> Fraction:
    return Fraction(str(value))  # 0.1 means a tenth


def _number(exact: Fraction) -> float:
    return int(exact) if exact.denominator == 1 else float(exact)


def _strings(schema: dict[str, Any]) -> SearchStrategy[str]:
    low, high = schema.get("minLength", 0), schema.get("maxLength", math.inf)
    if low > high:
        return st.nothing()
    if "pattern" in schema:
        return _matching(schema["pattern"], low, high).filter(lambda text: low <= len(text) <= high)
    if schema.get("format") in _FORMATS:
        return _FORMATS[schema["format"]].filter(lambda text: low <= len(text) <= high)
    if str(schema.get("contentEncoding")).lower() == "base64":
        return st.binary().map(lambda content: base64.b64encode(content).decode())
    texts = st.text(_CHARACTERS, min_size=low, max_size=None if high == math.inf else high)
    troublesome = [text for text in _TROUBLESOME if low <= len(text) <= high]
    return texts | st.sampled_from(troublesome) if troublesome else texts


# Notations of ECMA-262 that Python writes in another way.
_ECMA = re.compile(r"\\u\{(?P<point>\w+)\}|\\c(?P<control>[A-Za-z])|\(\?<(?P<name>\w+)>")


def _matching(pattern: str, low: int = 0, high: float = math.inf) -> SearchStrategy[str]:
    """Return a strategy for strings with a match of an ECMA-262 pattern; any text if Python cannot compile it."""

    def translated(match: re.Match[str]) -> str:
        if match["name"]:
            return f"(?P<{match['name']}>"
        return re.escape(chr(int(match["point"], 16) if match["point"] else ord(match["control"]) % 32))

    python_pattern = _ECMA.sub(translated, pattern)
    if low > 1:  # without a longer last repetition, hardly any text is long enough
        python_pattern = re.sub(r"[+*](\$?)$", f"{{{low},{'' if high == math.inf else high}}}\\1", python_pattern)
    try:
        return st.from_regex(re.compile(python_pattern, re.ASCII), alphabet=_CHARACTERS)
    except (re.error, OverflowError):
        return st.text(_CHARACTERS)
