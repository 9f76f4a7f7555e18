"""OpenAPI: a tool for each operation of an HTTP API."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

import httpx2

from tools_adapters._bridge import block_of
from tools_core import Context, Result, Tool, tool

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
SAFE_METHODS = ("get", "head", "options")
RESPONSE_LIMIT = 1_000_000  # bytes of a response that are read


def from_openapi(
    document: Mapping[str, Any],
    *,
    base_url: str | None = None,
    headers: Mapping[str, str] | None = None,
    auth: Any = None,
    requires_approval: Callable[[str, str], bool] | bool | None = None,
    client: httpx2.Client | None = None,
) -> list[Tool]:
    """Return a tool for each operation of an OpenAPI 3.0 or 3.1 document.

    A tool is named after its `operationId`, else its method and path. Its parameters are the parameters of the path,
    query, headers and cookies, and the properties of a JSON body, or `body` if the body is not an object or shares a
    name. Arguments are validated before the request, and cannot leave the path of the operation. Operations that read
    are `read_only`; the others require approval. The output of a call is JSON if the response is, else its text; a
    status from 300 is an error of the result. At most 1,000,000 bytes of a response are read.

    Args:
        document: The document as plain data, as `json.load` and `yaml.safe_load` return it.
        base_url: The address of the API; the first absolute URL of the document's `servers` by default.
        headers: Headers for every request, such as credentials. The model never sees them, and cannot set them.
        auth: A user and password, or another authentication of httpx2.
        requires_approval: Whether calls need approval: a bool, or a function of the method and the path, such as
            `lambda method, path: method == "DELETE"`.
        client: Sends the requests, with its own limits, proxies and certificates; by default one with 30 s for a
            request that follows no redirects.

    Raises:
        ValueError: The document has no `paths`, an operation is not valid, or there is no absolute address.
    """
    paths = document.get("paths")
    if not isinstance(paths, Mapping):
        message = "the document has no `paths`: pass an OpenAPI 3 document as plain data"
        raise ValueError(message)  # noqa: TRY004  (the data is wrong, not an argument's type)
    address = base_url or next((s["url"] for s in document.get("servers", ()) if "://" in s.get("url", "")), None)
    if address is None:
        raise ValueError("the document names no absolute address: pass base_url='https://...'")
    api = _Api(httpx2.Client(timeout=30) if client is None else client, address.rstrip("/"), dict(headers or {}), auth)
    # OpenAPI reserves three, and a credential is not the model's to set.
    reserved = {"accept", "authorization", "content-type", *(key.lower() for key in api.headers)}
    result = []
    for path, item in paths.items():
        for method in METHODS:
            if method in item:
                operation = _operation(document, method, path, item, reserved)
                result.append(_tool(api, operation, requires_approval))
    return result


class _Api(NamedTuple):
    client: httpx2.Client
    address: str
    headers: dict[str, str]
    auth: Any


class _Operation(NamedTuple):
    name: str
    method: str
    path: str
    description: str
    schema: dict[str, Any]
    places: dict[str, str]  # where each argument goes: "path", "query", "header", "cookie", "body" or "whole body"
    media_type: str | None


def _operation(
    document: Mapping[str, Any], method: str, path: str, item: Mapping[str, Any], reserved: set[str]
) -> _Operation:
    operation = item[method]
    name = operation.get("operationId") or f"{method}{path}"
    properties: dict[str, Any] = {}
    required: list[str] = []
    places: dict[str, str] = {}
    # An operation's own parameters come last: they override the parameters of the path.
    for entry in (*item.get("parameters", ()), *operation.get("parameters", ())):
        parameter = _resolve(document, entry)
        key, place = parameter["name"], parameter["in"]
        if place == "header" and key.lower() in reserved:
            continue
        media: Any = next(iter(parameter.get("content", {}).values()), {})
        schema = dict(parameter.get("schema") or media.get("schema") or {})
        if parameter.get("description"):
            schema.setdefault("description", parameter["description"])
        properties[key], places[key] = schema, place
        if (parameter.get("required") or place == "path") and key not in required:
            required.append(key)
    absent = set(re.findall(r"\{([^}]*)\}", path)) - {key for key, place in places.items() if place == "path"}
    if absent:
        raise ValueError(f"{method.upper()} {path}: the path parameter {min(absent)} is not defined")
    body = _resolve(document, operation.get("requestBody") or {})
    media_type = _media_type(body.get("content", {}))
    if media_type:
        schema = _resolve(document, body["content"][media_type].get("schema") or {})
        fields = schema.get("properties", {})
        if fields and not (fields.keys() & properties.keys()):
            properties |= fields
            places |= dict.fromkeys(fields, "body")
            required += schema.get("required", []) if body.get("required") else []
        else:
            key = "body" if "body" not in properties else "request_body"
            properties[key], places[key] = schema, "whole body"
            required += [key] if body.get("required") else []
    arguments = {"type": "object", "properties": properties, "required": required}
    description = "\n\n".join(filter(None, (operation.get("summary"), operation.get("description"))))
    schema = _json_schema(arguments, document)
    return _Operation(_name(name), method, path, description or f"{method.upper()} {path}", schema, places, media_type)


def _name(text: str) -> str:
    return re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_")[:64]


def _media_type(content: Mapping[str, Any]) -> str | None:
    is_json = [key for key in content if key.split(";")[0].endswith("json")]
    return next(iter([*is_json, *content]), None)


def _resolve(document: Mapping[str, Any], value: Any) -> Any:
    """Follow a local reference, such as `#/components/parameters/Limit`."""
    for _ in range(20):
        if not isinstance(value, Mapping) or "$ref" not in value:
            return value
        reference = value["$ref"]
        if not reference.startswith("#/"):
            raise ValueError(f"{reference} is not in the document: bundle the document into one file")
        value = document
        for key in reference[2:].split("/"):
            try:
                value = value[key.replace("~1", "/").replace("~0", "~")]
            except (KeyError, TypeError) as error:
                raise ValueError(f"{reference} is not in the document") from error
    raise ValueError("a reference leads back to itself")


def _json_schema(schema: dict[str, Any], document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema with the components that it refers to as `$defs`, without what only OpenAPI has."""
    definitions: dict[str, Any] = {}

    def convert(value: Any) -> Any:
        if isinstance(value, list):
            return [convert(item) for item in value]
        if not isinstance(value, Mapping):
            return value
        reference = value.get("$ref")
        if isinstance(reference, str):
            name = reference.rpartition("/")[2]
            if name not in definitions:
                definitions[name] = {}  # a component may refer to itself
                definitions[name] = convert(_resolve(document, value))
            return {"$ref": f"#/$defs/{name}"}
        extra = OPENAPI_KEYWORDS if "type" in value else ()  # else they may be names of properties
        result = {key: convert(item) for key, item in value.items() if key not in extra}
        for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
            if isinstance(result.get(exclusive), bool) and result.pop(exclusive) and bound in result:
                result[exclusive] = result.pop(bound)
        if value.get("nullable") is True and isinstance(result.get("type"), str):
            result["type"] = [result["type"], "null"]
            if "enum" in result:
                result["enum"] = [*result["enum"], None]
        return result

    converted: dict[str, Any] = convert(schema)
    return {**converted, "$defs": definitions} if definitions else converted


OPENAPI_KEYWORDS = frozenset({"nullable", "example", "discriminator", "xml", "externalDocs", "readOnly", "writeOnly"})


def _tool(api: _Api, operation: _Operation, requires_approval: Callable[[str, str], bool] | bool | None) -> Tool:
    is_safe = operation.method in SAFE_METHODS
    if callable(requires_approval):
        asks = requires_approval(operation.method.upper(), operation.path)
    else:
        asks = not is_safe if requires_approval is None else requires_approval

    def execute(tools_adapters_context: Context, **arguments: Any) -> Any:
        return _call(api, operation, arguments, tools_adapters_context)

    execute.__qualname__ = operation.name
    return tool(
        execute,
        name=operation.name,
        description=operation.description,
        input_schema=operation.schema,
        read_only=is_safe,
        idempotent=is_safe or operation.method in ("put", "delete"),
        requires_approval=asks,
        stateful=True,  # the client cannot go to another process
    )


def _call(api: _Api, operation: _Operation, arguments: Mapping[str, Any], context: Context) -> Any:
    by_place: dict[str, dict[str, Any]] = {place: {} for place in ("path", "query", "header", "cookie", "body")}
    body: Any = None
    for key, value in arguments.items():
        place = operation.places.get(key, "body")
        if place == "whole body":
            body = value
        else:
            by_place[place][key] = value
    path = operation.path
    for key, value in by_place["path"].items():
        segment = quote(_text(value), safe="")
        if segment in ("", ".", ".."):
            return Result.error(f"{key} must not be {json.dumps(value)}: it is a part of the path")
        path = path.replace(f"{{{key}}}", segment)
    content: dict[str, Any] = {}
    if by_place["body"] or body is not None:
        value = by_place["body"] if body is None else body
        if operation.media_type and not operation.media_type.split(";")[0].endswith("json"):
            is_form = operation.media_type == "application/x-www-form-urlencoded"
            content = {"data": value} if is_form else {"content": _text(value)}
        else:
            content = {"json": value}
    request = api.client.build_request(
        operation.method.upper(),
        api.address + path,
        params=[pair for key, value in by_place["query"].items() for pair in _pairs(key, value)],
        headers={key: _text(value) for key, value in by_place["header"].items()} | api.headers,
        cookies={key: _text(value) for key, value in by_place["cookie"].items()},
        **content,
    )
    if context.remaining is not None:
        request.extensions["timeout"] = httpx2.Timeout(max(context.remaining, 0.001)).as_dict()
    try:
        response = api.client.send(request, auth=api.auth, stream=True, follow_redirects=False)
    except httpx2.TimeoutException as error:
        raise TimeoutError(f"{operation.name} was not answered in time") from error
    except httpx2.HTTPError as error:
        return Result.error(f"{operation.name} failed: {error}", type="connection_error")
    unlink = context.on_cancel(response.close)
    try:
        data, is_whole = _read(response)
    finally:
        unlink()
        response.close()
    return _result(response, data, is_whole)


def _read(response: httpx2.Response) -> tuple[bytes, bool]:
    data = b""
    for chunk in response.iter_bytes():
        data += chunk
        if len(data) > RESPONSE_LIMIT:
            return data[:RESPONSE_LIMIT], False
    return data, True


def _result(response: httpx2.Response, data: bytes, is_whole: bool) -> Result:
    media_type = response.headers.get("content-type", "").split(";")[0].strip()
    status = f"HTTP {response.status_code} {response.reason_phrase}".strip()
    is_text = media_type.startswith("text/") or media_type.endswith(("json", "xml")) or not media_type
    text = data.decode(response.charset_encoding or "utf-8", "replace") if is_text else ""
    cut = "" if is_whole else f"\n[only the first {RESPONSE_LIMIT:,} bytes of the response were read]"
    metadata = {"status": response.status_code}
    if response.status_code >= 300:
        location = f" to {response.headers['location']}" if "location" in response.headers else ""
        return Result.error(f"{status}{location}\n{text}{cut}".strip(), type="http_error", metadata=metadata)
    if media_type.endswith("json") and is_whole:
        try:
            return Result.ok(json.loads(text), metadata=metadata)
        except ValueError:
            pass  # the server lies about its type
    content = text + cut if is_text else block_of(data, media_type)
    return Result.ok(content or status, metadata=metadata)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _pairs(key: str, value: Any) -> Iterator[tuple[str, str]]:
    for item in value if isinstance(value, list) else [value]:
        yield key, _text(item)
