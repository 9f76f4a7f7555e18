"""`Parameter`: values in the path, the query, headers and cookies, in the styles of OpenAPI."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from tools_adapters._openapi._document import CannotSendError, Document, Schema

STYLES = {
    "path": ("simple", "label", "matrix"),
    "query": ("form", "spaceDelimited", "pipeDelimited", "deepObject"),
    "header": ("simple",),
    "cookie": ("form",),
}  # the first is the default
_SEPARATORS = {"form": ",", "spaceDelimited": "%20", "pipeDelimited": "%7C"}
_RESERVED = ":/?[]@!$'()*,;"  # without the characters that separate and end parts of a query
_COOKIE = "!#$&'()*+-./:<=>?@[]^_`{|}~"  # the octets of a cookie


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A parameter of an operation: its name there, and how its value is written."""

    name: str
    place: str
    schema: Schema
    required: bool = False
    style: str = "form"
    explode: bool = True
    allow_reserved: bool = False
    media_type: str = ""  # of a value that is written as a document

    @classmethod
    def read(cls, document: Document, entry: Any) -> Parameter:
        """Return a parameter; CannotSendError for a style or a type that has no form there."""
        value = document.resolve(entry)
        name, place = value["name"], value["in"]
        if place not in STYLES:
            raise CannotSendError(f"the parameter {name} is in {place!r}")
        media_type, schema = "", value.get("schema") or {}
        if content := value.get("content"):
            media_type, media = next(iter(content.items()))
            schema = media.get("schema") or {}
            if not (is_json(media_type) or media_type.startswith("text/")):
                raise CannotSendError(f"the parameter {name} is {media_type}")
        styles = {allowed.lower(): allowed for allowed in STYLES[place]}
        style = str(value.get("style") or STYLES[place][0])
        style = styles.get(style.lower(), style)
        if style not in STYLES[place]:
            raise CannotSendError(f"the parameter {name} has the style {style!r}, which a {place} does not have")
        schema = dict(schema) if isinstance(schema, Mapping) else {}  # true
        schema = {**schema, "description": value["description"]} if value.get("description") else schema
        explode = value.get("explode")
        parameter = cls(
            name=name, place=place, schema=schema, required=value.get("required") is True or place == "path",
            style=style, explode=style in ("form", "deepObject") if explode is None else explode,
            allow_reserved=value.get("allowReserved") is True, media_type=media_type,
        )  # fmt: skip
        if not media_type and style != "deepObject":
            parameter._check(document)
        return parameter

    def _check(self, document: Document) -> None:
        types, schema = document.types(self.schema), document.object_of(self.schema)
        if self.place == "cookie" and self.explode and types & {"array", "object"}:
            raise CannotSendError(f"the cookie {self.name} is a list or an object with `explode`")
        parts = [schema.get("items", {}), *schema.get("properties", {}).values()]
        if types & {"array", "object"} and any(document.types(part) & {"array", "object"} for part in parts):
            raise CannotSendError(f"the parameter {self.name} is nested, which the style {self.style!r} cannot write")

    def in_query(self, value: Any) -> list[str]:
        """Return encoded pairs `name=value`."""
        safe = _RESERVED if self.allow_reserved else ""
        if self.media_type:
            return [f"{_encoded(self.name)}={quote(document_text(value, self.media_type), safe=safe)}"]
        return [*pairs(self.name, value, self.style, explode=self.explode, safe=safe)]

    def in_path(self, value: Any) -> str:
        """Return the encoded text that replaces `{name}`."""
        if self.media_type:
            return _encoded(document_text(value, self.media_type))
        name, is_object = _encoded(self.name), isinstance(value, Mapping)
        items = [*_items(value, pair="=" if self.explode else ",")]
        if self.style == "simple":
            return ",".join(items)
        if self.style == "label":
            return "." + ("." if self.explode else ",").join(items)
        if self.explode and is_object:
            return "".join(f";{item}" for item in items)
        texts = items if self.explode and isinstance(value, list) else [",".join(items)]
        return "".join(f";{name}={text}" if text else f";{name}" for text in texts)

    def in_header(self, value: Any) -> bytes:
        """Return the value of the header; ValueError for characters that would end it."""
        pair = "=" if self.explode else ","
        is_document = bool(self.media_type)
        text = document_text(value, self.media_type) if is_document else ",".join(_items(value, pair=pair, raw=True))
        if not all(char.isprintable() or char in " \t" for char in text):
            raise ValueError(f"{self.name} must not contain line breaks or control characters: it is a header")
        return text.encode()

    def in_cookie(self, value: Any) -> str:
        """Return the pair `name=value`."""
        if self.media_type:
            return f"{self.name}={quote(document_text(value, self.media_type), safe=_COOKIE)}"
        return f"{self.name}={','.join(_items(value, pair=',', safe=_COOKIE))}"


def pairs(name: str, value: Any, style: str, *, explode: bool, safe: str = "") -> Iterator[str]:
    """Yield the encoded pairs of a query or form; none for null and for an empty list."""
    if style == "deepObject":
        for key, item in _deep(name, value):
            yield f"{_encoded(key)}={quote(item, safe=safe)}"
    elif value is None or value in ([], {}):
        return
    elif not isinstance(value, list | Mapping):
        yield f"{_encoded(name)}={quote(text_of(value), safe=safe)}"
    elif explode and isinstance(value, Mapping):
        yield from _items(value, pair="=", safe=safe)
    elif explode:
        yield from (f"{_encoded(name)}={item}" for item in _items(value, safe=safe))
    else:
        separator = _SEPARATORS[style]
        yield f"{_encoded(name)}={separator.join(_items(value, pair=separator, safe=safe))}"


def _deep(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping | list):
        for key, item in value.items() if isinstance(value, Mapping) else enumerate(value):
            yield from _deep(f"{name}[{key}]", item)
    elif value is not None:
        yield name, text_of(value)


def _items(value: Any, *, pair: str = ",", safe: str = "", raw: bool = False) -> Iterator[str]:
    """Yield the encoded texts of a list, an object or a single value."""

    def encoded(text: Any) -> str:
        return text_of(text) if raw else quote(text_of(text), safe=safe)

    if isinstance(value, Mapping):
        yield from (f"{encoded(key)}{pair}{encoded(item)}" for key, item in value.items() if item is not None)
    elif isinstance(value, list):
        yield from (encoded(item) for item in value if item is not None)
    else:
        yield encoded(value)


def text_of(value: Any) -> str:
    """Return a single value as text; ValueError for a list or an object."""
    if isinstance(value, str):
        return value
    if isinstance(value, list | Mapping):
        raise ValueError(f"{json.dumps(value)[:60]} is nested too deeply for its style")  # noqa: TRY004  (a value)
    return "" if value is None else json.dumps(value)


def is_json(media_type: str) -> bool:
    """Return whether a media type is JSON: `application/json`, `application/merge-patch+json`."""
    subtype = media_type.partition(";")[0].strip().lower().rpartition("/")[2]
    return subtype == "json" or subtype.endswith("+json")


def document_text(value: Any, media_type: str) -> str:
    """Return a value as JSON, or a text unchanged if the media type is text."""
    is_text = isinstance(value, str) and not is_json(media_type)
    return value if is_text else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _encoded(text: str) -> str:
    return quote(text, safe="")
