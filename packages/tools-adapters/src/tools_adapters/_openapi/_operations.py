"""`Operation`: the arguments of a tool, and the parts of its request."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin

from tools_adapters._openapi._bodies import Body
from tools_adapters._openapi._document import CannotSendError, Document, Schema
from tools_adapters._openapi._parameters import Parameter
from tools_adapters._openapi._security import Credential

_PLACES = ("path", "query", "header", "cookie")
_FILE_BODY = {"type": "string", "format": "path", "description": "A file of the workspace whose bytes are the body."}


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """An operation that can be sent."""

    name: str
    method: str
    address: str
    path: str
    description: str
    schema: Schema
    parameters: Mapping[str, Parameter]  # by argument
    body: Body | None
    fields: Mapping[str, str]  # the properties of the body by argument
    body_argument: str = ""  # the argument that is the whole body
    file_argument: str = ""  # the argument that names a file with the whole body
    credentials: tuple[Credential, ...] = ()


@dataclass(frozen=True, slots=True)
class Servers:
    """The addresses of an API: of the document, and of paths and operations with other servers."""

    base_url: str | None
    variables: Mapping[str, str]

    def address(self, *levels: Any) -> str:
        """Return the address of the innermost level with servers; `base_url` replaces the servers of the document."""
        *inner, outer = levels
        for servers in filter(None, inner):
            if address := self._first(servers, self.base_url or self._first(outer or (), None)):
                return address
        address = self.base_url or self._first(outer or (), None)
        if address is None:
            raise ValueError("the document names no absolute address: pass base_url='https://...'")
        return address.rstrip("/")

    def _first(self, servers: Any, base: str | None) -> str | None:
        urls = [self._expanded(server) for server in servers]
        absolute = [url for url in urls if re.match(r"https?://", url, re.IGNORECASE)]
        if not absolute and base is not None:
            absolute = [urljoin(base, url) for url in urls]
        if absolute and "?" in absolute[0]:
            raise ValueError(f"the server {absolute[0]} has a query: pass base_url without it")
        if absolute and (unknown := re.search(r"\{([^{}]+)\}", absolute[0])):
            raise ValueError(f"the server variable {unknown[1]} has no default: pass variables={{{unknown[1]!r}: ...}}")
        return absolute[0].rstrip("/") if absolute else None

    def _expanded(self, server: Mapping[str, Any]) -> str:
        def value(match: re.Match[str]) -> str:
            variable = (server.get("variables") or {}).get(match[1]) or {}
            text = str(self.variables.get(match[1], variable.get("default", match[0])))
            allowed = variable.get("enum")
            if allowed and text not in map(str, allowed):
                raise ValueError(
                    f"the server variable {match[1]} is one of {', '.join(map(str, allowed))}; got {text!r}"
                )
            return text

        return re.sub(r"\{([^{}]+)\}", value, str(server.get("url", "")).strip())


def read_operation(
    document: Document,
    method: str,
    path: str,
    item: Mapping[str, Any],
    *,
    name: str,
    address: str,
    reserved: Collection[str],
    credentials: tuple[Credential, ...],
) -> Operation:
    """Return an operation; CannotSendError if a part of it cannot be sent.

    Headers with `reserved` names and parameters that are credentials are not arguments.
    """
    operation = item[method]
    secret = {(credential.place, credential.name.lower()) for credential in credentials}
    parameters = [
        parameter
        for parameter in _parameters(document, item, operation)
        if not (parameter.place == "header" and parameter.name.lower() in reserved)
        and (parameter.place, parameter.name.lower()) not in secret
    ]
    absent = set(re.findall(r"\{([^}]*)\}", path)) - {
        parameter.name for parameter in parameters if parameter.place == "path"
    }
    if absent:
        raise CannotSendError(f"the path parameter {min(absent)} is not defined")
    arguments: dict[str, Parameter] = {}
    for parameter in parameters:
        key = _argument(parameter.name)
        longer = f"{parameter.place}_{key}"[:60]
        names = (key, longer, *(f"{longer}_{number}" for number in range(2, len(parameters) + 2)))
        arguments[next(name for name in names if name not in arguments)] = parameter
    similar = Counter(_argument(name) for name in {parameter.name for parameter in parameters})
    body = Body.read(document, operation.get("requestBody"))
    schema: Schema = {
        "type": "object",
        "properties": {
            key: _labelled(parameter.schema, parameter.name, is_clear=similar[_argument(parameter.name)] == 1)
            for key, parameter in arguments.items()
        },
        "required": [key for key, parameter in arguments.items() if parameter.required],
        "additionalProperties": False,
    }
    shape = _body_arguments(body, schema) if body is not None else {"fields": {}}
    texts = (operation.get("summary"), operation.get("description"))
    description = "\n\n".join(text for text in dict.fromkeys(texts) if text)
    return Operation(
        name=name, method=method, address=address, path=path, description=description or f"{method.upper()} {path}",
        schema=document.json_schema(schema), parameters=arguments, body=body, credentials=credentials, **shape,
    )  # fmt: skip


def _parameters(document: Document, item: Mapping[str, Any], operation: Mapping[str, Any]) -> Iterator[Parameter]:
    """Yield the parameters; a parameter of the operation replaces an equal one of the path."""
    entries: dict[tuple[str, str], Any] = {}
    for entry in (*(item.get("parameters") or ()), *(operation.get("parameters") or ())):
        value = document.resolve(entry)
        entries[value["name"], value["in"]] = value
    for _, value in sorted(entries.items(), key=lambda pair: _PLACES.index(pair[0][1]) if pair[0][1] in _PLACES else 9):
        yield Parameter.read(document, value)


def _body_arguments(body: Body, schema: Schema) -> dict[str, Any]:
    """Add the arguments of a body to the schema, and return what they mean."""
    properties, required = schema["properties"], schema["required"]
    fields = {_argument(name): name for name in body.properties}
    is_flat = fields or body.kind in ("form", "multipart")
    if is_flat and not fields.keys() & properties.keys() and len(fields) == len(body.properties):
        properties |= {key: _labelled(body.properties[name], name) for key, name in fields.items()}
        needed = [key for key, name in fields.items() if name in body.required]
        if body.is_required:
            required += needed
        elif needed:  # all of them, or no body
            schema["dependentRequired"] = {key: [other for other in needed if other != key] for key in fields}
        if body.others:
            schema["additionalProperties"] = body.others
        return {"fields": fields}
    key = "body" if "body" not in properties else "request_body"
    properties[key] = body.schema
    if body.kind == "binary":
        file_key = f"{key}_file"
        properties[key], properties[file_key] = {"type": "string", "description": "The body as text."}, _FILE_BODY
        if body.is_required:
            schema["oneOf"] = [{"required": [key]}, {"required": [file_key]}]
        return {"fields": {}, "body_argument": key, "file_argument": file_key}
    required += [key] if body.is_required else []
    return {"fields": {}, "body_argument": key}


def _labelled(schema: Schema, name: str, *, is_clear: bool = True) -> Schema:
    """Return a schema whose description begins with the name in the document if the argument does not show it."""
    if is_clear and name.isascii():
        return schema
    return {**schema, "description": f"{name}: {schema['description']}" if "description" in schema else name}


def _argument(name: str) -> str:
    """Return a name that every provider accepts: `filter_name` for `filter[name]`."""
    return re.sub(r"[^\w.-]+", "_", name, flags=re.ASCII).strip("_")[:64] or "value"
