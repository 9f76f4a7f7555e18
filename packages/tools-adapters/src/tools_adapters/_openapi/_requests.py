"""Requests for calls, and results from responses."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import httpx2

from tools_adapters._bridge import block_of
from tools_adapters._openapi._bodies import file_body, kind_of
from tools_adapters._openapi._operations import Operation
from tools_adapters._openapi._parameters import Parameter
from tools_adapters._openapi._security import put
from tools_core import Context, Result

RESPONSE_LIMIT = 1_000_000  # bytes of a response that are read


class Api(NamedTuple):
    """The client, headers and authentication of all requests."""

    client: httpx2.Client
    headers: dict[str, str]
    auth: Any


def call(api: Api, operation: Operation, arguments: Mapping[str, Any], context: Context) -> Any:
    """Send the request for a call, and return its result."""
    try:
        request = _request(api, operation, arguments, context)
    except ValueError as error:  # of a value that has no form in the request
        return Result.error(str(error), type="validation_error")
    if context.remaining is not None:
        request.extensions["timeout"] = httpx2.Timeout(max(context.remaining, 0.001)).as_dict()
    try:
        response = api.client.send(request, auth=api.auth, stream=True, follow_redirects=False)
        unlink = context.on_cancel(response.close)
        try:
            data, is_whole = _read(response)
        finally:
            unlink()
            response.close()
    except httpx2.TimeoutException:
        return Result.error(f"{operation.name} was not answered in time", type="timeout_error")
    except (httpx2.HTTPError, httpx2.StreamError) as error:
        return Result.error(f"{operation.name} failed: {str(error) or type(error).__name__}", type="connection_error")
    return _result(response, data, is_whole)


def _request(api: Api, operation: Operation, arguments: Mapping[str, Any], context: Context) -> httpx2.Request:
    path, query, headers, cookies = operation.path, list[str](), dict[str, Any](), list[str]()
    rest = dict(arguments)
    for key, parameter in operation.parameters.items():
        value = rest.pop(key, None)
        if parameter.place == "path":
            path = _with_segment(path, key, parameter, value)
        elif value is None:
            continue
        elif parameter.place == "query":
            query += parameter.in_query(value)
        elif parameter.place == "header":
            headers[parameter.name] = parameter.in_header(value)
        else:
            cookies.append(parameter.in_cookie(value))
    content = _content(operation, rest, context)
    headers |= content.pop("headers", {})
    put(operation.credentials, query, headers, cookies)
    headers |= api.headers
    if cookies:
        headers["cookie"] = "; ".join(cookies)
    path = path.partition("#")[0]
    url = f"{operation.address}{path}" + (f"{'&' if '?' in path else '?'}{'&'.join(query)}" if query else "")
    return api.client.build_request(operation.method.upper(), url, headers=headers, **content)


def _with_segment(path: str, key: str, parameter: Parameter, value: Any) -> str:
    place, text = f"{{{parameter.name}}}", parameter.in_path(value)
    for segment in path.split("/"):
        if place in segment and segment.replace(place, text) in ("", ".", ".."):
            raise ValueError(f"{key} must not be {json.dumps(value)}: it is a part of the path")
    return path.replace(place, text)


def _content(operation: Operation, rest: dict[str, Any], context: Context) -> dict[str, Any]:
    """Return the options of a request for its body."""
    body = operation.body
    if body is None:
        return {}
    if operation.body_argument:
        if operation.body_argument in rest and operation.file_argument in rest:
            raise ValueError(f"give {operation.body_argument} or {operation.file_argument}, not both")
        if operation.file_argument in rest:
            return body.content(file_body(rest[operation.file_argument]), context.workspace)
        present = operation.body_argument in rest
        return body.content(rest[operation.body_argument], context.workspace) if present else {}
    if not rest and not body.is_required:
        return {}
    return body.content({operation.fields.get(key, key): value for key, value in rest.items()}, context.workspace)


def _read(response: httpx2.Response) -> tuple[bytes, bool]:
    data = b""
    for chunk in response.iter_bytes():
        data += chunk
        if len(data) > RESPONSE_LIMIT:
            return data[:RESPONSE_LIMIT], False
    return data, True


def _result(response: httpx2.Response, data: bytes, is_whole: bool) -> Result:
    media_type = response.headers.get("content-type", "").split(";")[0].strip().lower()
    status = f"HTTP {response.status_code} {response.reason_phrase}".strip()
    is_text = not media_type or media_type.endswith(("json", "xml")) or kind_of(media_type) in ("text", "form")
    text = _decoded(data, response.charset_encoding) if is_text else ""
    cut = "" if is_whole else f"\n[only the first {RESPONSE_LIMIT:,} bytes of the response were read]"
    metadata = {"status": response.status_code}
    if response.status_code >= 300:
        location = f" to {response.headers['location']}" if "location" in response.headers else ""
        return Result.error(f"{status}{location}\n{text}{cut}".strip(), type="http_error", metadata=metadata)
    if media_type.endswith("json") and is_whole:
        try:
            return Result.ok(json.loads(text), metadata=metadata)
        except (ValueError, RecursionError):
            pass  # the server lies about its type, or nests too deeply
    content = text + cut if is_text else block_of(data, media_type)
    return Result.ok(content or status, metadata=metadata)


def _decoded(data: bytes, charset: str | None) -> str:
    """Return a body as text; UTF-8 if the server names no charset, or an unknown one."""
    try:
        text = data.decode(charset or "utf-8", "replace")
    except (LookupError, UnicodeError):  # unknown, or no encoding of text
        text = data.decode("utf-8", "replace")
    return text.removeprefix("\ufeff")
