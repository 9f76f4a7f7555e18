"""`Body`: request bodies as JSON, forms, parts, text or bytes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from tools_adapters._openapi._document import CannotSendError, Document, Schema
from tools_adapters._openapi._parameters import document_text, is_json, pairs, text_of
from tools_core.files import is_inside

Kind = Literal["json", "form", "multipart", "text", "binary"]
_PREFERRED: tuple[Kind, ...] = ("json", "form", "multipart", "text", "binary")
_FILE = {"type": "string", "format": "path", "description": "A file of the workspace."}
_TEXTS = {"application/xml", "application/yaml", "application/x-yaml", "application/graphql", "application/javascript"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """The body of an operation, in one of its media types.

    `properties` and `required` describe it as an object; without `properties` it is one value of `schema`.
    """

    kind: Kind
    media_type: str
    is_required: bool
    schema: Schema
    properties: dict[str, Schema] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    others: Any = False  # `additionalProperties`
    encodings: Mapping[str, Any] = field(default_factory=dict)
    files: frozenset[str] = frozenset()  # the properties of a multipart body that are files

    @classmethod
    def read(cls, document: Document, entry: Any) -> Body | None:
        """Return the body in the first media type that can be sent; CannotSendError without one."""
        value = document.resolve(entry)
        content: Mapping[str, Any] = (value or {}).get("content") or {}
        reasons = []
        for media_type in sorted(content, key=lambda name: _rank(document, name, content[name] or {})):
            try:
                is_required = value.get("required") is True
                return _read(document, media_type, content[media_type] or {}, is_required=is_required)
            except CannotSendError as error:
                reasons.append(str(error))
        if reasons:
            raise CannotSendError("; ".join(reasons))
        return None

    def content(self, value: Any, workspace: str | os.PathLike[str] | None) -> dict[str, Any]:
        """Return the options of a request for a value; ValueError for one that cannot be written."""
        headers = {"content-type": self.media_type}
        if self.kind == "json":
            return {"content": document_text(value, "application/json").encode(), "headers": headers}
        if self.kind == "form":
            return {"content": "&".join(self._pairs(value)).encode(), "headers": headers}
        if self.kind == "multipart":
            return {"files": [*self._parts(value, workspace)]}
        if isinstance(value, _FilePath):
            return {"content": _read_file(value, workspace)[1], "headers": headers}
        return {"content": text_of(value).encode(), "headers": headers}

    def _pairs(self, value: Mapping[str, Any]) -> Iterator[str]:
        for name, item in value.items():
            encoding = self.encodings.get(name, {})
            style = encoding.get("style")
            if style is not None or not _is_nested(item):
                style = style or "form"
                explode = encoding.get("explode", style in ("form", "deepObject"))
                yield from pairs(name, item, style, explode=explode)
            else:  # a document in a field
                for element in item if isinstance(item, list) else [item]:
                    yield from pairs(name, document_text(element, "application/json"), "form", explode=True)

    def _parts(self, value: Mapping[str, Any], workspace: str | os.PathLike[str] | None) -> Iterator[tuple[str, Any]]:
        for name, item in value.items():
            media_type = str(self.encodings.get(name, {}).get("contentType", "")).partition(",")[0].strip()
            for element in item if isinstance(item, list) else [item]:
                if element is None:
                    continue
                if name in self.files:
                    file_name, data = _read_file(element, workspace)
                    yield name, (file_name, data, media_type or "application/octet-stream")
                elif isinstance(element, Mapping | list):
                    text = document_text(element, "application/json")
                    yield name, (None, text.encode(), media_type or "application/json")
                else:
                    part = (None, text_of(element).encode())
                    yield name, (*part, media_type) if media_type else part


class _FilePath(str):
    """The path of a file whose bytes are the body."""

    __slots__ = ()


def file_body(path: str) -> str:
    """Return the value of a body that has the bytes of a file."""
    return _FilePath(path)


def kind_of(media_type: str) -> Kind:
    """Return how a body of a media type is written."""
    name = media_type.partition(";")[0].strip().lower()
    if is_json(name) or name in ("*/*", "application/*"):
        return "json"
    if name == "application/x-www-form-urlencoded":
        return "form"
    if name == "multipart/form-data":
        return "multipart"
    return "text" if name.startswith("text/") or name in _TEXTS or name.endswith(("+xml", "+yaml")) else "binary"


def _rank(document: Document, media_type: str, media: Mapping[str, Any]) -> tuple[int, bool]:
    """Return the place of a media type: JSON of any kind before forms; in a kind, the order of the document.

    A JSON Patch is a list: Kubernetes describes it, and the other kinds of patches, as one object.
    """
    kind = _PREFERRED.index(kind_of(media_type))
    is_patch = media_type.partition(";")[0].strip().lower() == "application/json-patch+json"
    return kind, is_patch and "array" not in document.types(media.get("schema") or {})


def _read(document: Document, media_type: str, media: Mapping[str, Any], *, is_required: bool) -> Body:
    kind, schema = kind_of(media_type), media.get("schema") or {}
    merged, types = document.object_of(schema), document.types(schema)
    name = media_type.partition(";")[0].strip()
    if kind == "json":
        media_type = "application/json" if "*" in name else media_type
    elif kind in ("form", "multipart"):
        if not merged.get("properties") and types - {"object"}:
            raise CannotSendError(f"a body of {name} is not an object")
    elif kind == "text":
        if types - {"string"} and not name.startswith("text/"):
            raise CannotSendError(f"a body of {name} cannot be written from its schema")
        schema = {"type": "string", **{key: merged[key] for key in ("description", "enum") if key in merged}}
    else:
        if name.startswith("multipart/") or (types & {"object", "array"} and "xml" not in name and "*" not in name):
            raise CannotSendError(f"a body of {name} cannot be written from its schema")
        media_type = "application/octet-stream" if "*" in name else media_type
        return Body(kind=kind, media_type=media_type, is_required=is_required, schema={"type": "string"})
    body = Body(kind=kind, media_type=media_type, is_required=is_required, schema=schema)
    is_plain = not merged.keys() & {"oneOf", "anyOf", "not", "if", "enum", "const"}
    if kind == "text" or (kind == "json" and not (merged.get("properties") and is_plain)):
        return body
    return _as_object(document, body, merged, media.get("encoding") or {})


def _as_object(document: Document, body: Body, merged: Schema, encodings: Mapping[str, Any]) -> Body:
    properties = {key: item for key, item in merged.get("properties", {}).items() if not document.is_read_only(item)}
    files: dict[str, Schema] = {}
    if body.kind == "multipart":
        files = {key: _file_schema(document, item) for key, item in properties.items() if _is_file(document, item)}
    others = merged.get("additionalProperties", body.kind != "json" and not properties)
    return Body(
        kind=body.kind, media_type=body.media_type, is_required=body.is_required, schema=body.schema,
        properties=properties | files, required=tuple(key for key in merged.get("required", ()) if key in properties),
        others=others, encodings=encodings, files=frozenset(files),
    )  # fmt: skip


def _is_file(document: Document, value: Any, *, is_item: bool = False) -> bool:
    """Return whether a property of a multipart body has bytes, or offers them: a file or null, or a list of files."""
    schemas = document.alternatives(value)
    items = [] if is_item else [schema["items"] for schema in schemas if schema.get("items")]
    return any(map(_has_bytes, schemas)) or any(_is_file(document, item, is_item=True) for item in items)


def _has_bytes(schema: Schema) -> bool:
    """Return whether a value has bytes, as 3.0, 3.1 and Swagger 2 say it."""
    types = schema.get("type") or "string"
    kinds = {types} if isinstance(types, str) else {*types}
    encoding = schema.get("contentEncoding", "binary" if "contentMediaType" in schema else None)
    is_binary = schema.get("format") in ("binary", "byte") or encoding == "binary"
    return (is_binary and kinds <= {"string", "null"}) or kinds == {"file"}


def _file_schema(document: Document, value: Any) -> Schema:
    text = document.object_of(value).get("description", "")
    schema = {**_FILE, "description": f"{text} {_FILE['description']}".strip()}
    return {"type": "array", "items": schema} if "array" in document.types(value) else schema


def _is_nested(value: Any) -> bool:
    return isinstance(value, Mapping) or (isinstance(value, list) and any(isinstance(i, list | Mapping) for i in value))


def _read_file(path: str, workspace: str | os.PathLike[str] | None) -> tuple[str, bytes]:
    """Return the name and the bytes of a file of the workspace."""
    folder = Path(workspace or os.curdir).resolve()
    file = (folder / path).resolve()
    if not is_inside(str(file), [str(folder)]):
        raise ValueError(f"{path} is not in the workspace")
    try:
        return file.name, file.read_bytes()
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from error
