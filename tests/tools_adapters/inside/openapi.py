"""The requests of `from_openapi`: FastMCP sends the same for the same arguments."""

from __future__ import annotations

import asyncio
import json
import re
from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import HTTP
from urllib.parse import parse_qsl, unquote, urlsplit

import httpx2
import pytest
from documents import DOCUMENTS
from fastmcp import FastMCP

from tools_adapters import from_openapi

CASES = {
    operation["operationId"]: (document, operation)
    for document in DOCUMENTS.values()
    for item in document["paths"].values()
    for method, operation in item.items()
    if method != "parameters"
}
# FastMCP does not write these styles; the requests are in tests/world.
NOT_WRITTEN = {
    "labelText", "labelList", "matrixText", "matrixList", "listCharges", "getCharge", "createCustomer",
    "createSubscription", "createRefund",
}  # fmt: skip
PLACES = ("path", "query", "header", "cookie")


def argument(name):
    return re.sub(r"[^\w.-]+", "_", name).strip("_")


def arguments_of(operation, properties):
    """The arguments of a sample for a tool, side by side."""
    sample, flat = operation["x-sample"], {}
    for place in PLACES:
        for name, value in sample.get(place, {}).items():
            flat[next(key for key in (f"{name}__{place}", argument(name), name) if key in properties)] = value
    body = sample.get("body", {})
    is_whole = "body" in properties or not isinstance(body, dict)
    return flat | (({"body": body} if "body" in sample else {}) if is_whole else body)


def ours(identifier):
    """The request that a tool of ours sends."""
    document, operation = CASES[identifier]
    sent = []
    client = httpx2.Client(transport=httpx2.MockTransport(lambda request: sent.append(request) or httpx2.Response(200)))
    tools = from_openapi(document, client=client, requires_approval=False)
    [tool] = [tool for tool in tools if tool.name == identifier]
    result = tool.call(arguments_of(operation, tool.input_schema["properties"]))
    assert result.ok, result.error
    return sent[0]


def theirs(identifier):
    """The request that a tool of FastMCP sends."""
    document, operation = CASES[identifier]
    sent = []

    async def answer(request):
        sent.append(request)
        return httpx2.Response(200, json={})

    async def main():
        client = httpx2.AsyncClient(transport=httpx2.MockTransport(answer), base_url="https://one.test")
        server = FastMCP.from_openapi(document, client=client, validate_output=False)
        tool = await server.get_tool(identifier)
        await tool.run(arguments_of(operation, tool.parameters["properties"]))

    asyncio.run(main())
    return sent[0]


def meaning(request):
    """The method, path, query, headers and body of a request, in one spelling."""
    media_type = request.headers.get("content-type", "").partition(";")[0]
    headers = {name: value for name, value in request.headers.items() if name in ("x-p", "api_key", "notion-version")}
    cookies = sorted(part.strip() for part in request.headers.get("cookie", "").split(";"))
    query = parse_qsl(request.url.query.decode(), keep_blank_values=True)
    return request.method, path_of(request), query, headers, cookies, media_type, body_of(request)


def path_of(request):
    """The segments of a path: servers with a path, and characters that need no encoding, do not differ."""
    path = urlsplit(str(request.url)).path
    path = path.removeprefix("/api/v3").removeprefix("/v1/") if not path.startswith("/v1/") else path
    return [unquote(segment) for segment in path.strip("/").split("/") if segment != "v1"]


def body_of(request):
    content, media_type = request.read(), request.headers.get("content-type", "")
    if "json" in media_type and content:
        return json.loads(content)
    if "urlencoded" in media_type:
        return sorted(parse_qsl(content.decode(), keep_blank_values=True))
    if "multipart" in media_type:
        head = f"Content-Type: {media_type}\r\n\r\n".encode()
        parts = BytesParser(EmailMessage, policy=HTTP).parsebytes(head + content).iter_parts()
        return [(part.get_param("name", header="content-disposition"), part.get_payload(decode=True)) for part in parts]
    return content


@pytest.mark.parametrize("identifier", [name for name in CASES if name not in NOT_WRITTEN])
def test_fastmcp_sends_the_same_request(identifier):
    assert meaning(ours(identifier)) == meaning(theirs(identifier))


def test_every_operation_of_the_documents_is_a_tool():
    tools = {name: from_openapi(document) for name, document in DOCUMENTS.items()}
    assert [problem for api in tools.values() for problem in api.problems] == []
    assert sum(map(len, tools.values())) == len(CASES) == 80
