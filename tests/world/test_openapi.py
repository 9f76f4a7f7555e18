"""OpenAPI documents as others write them, and the requests that they describe."""

from __future__ import annotations

import json

import httpx2
import pytest

from tools_adapters import from_openapi
from tools_core import Context

SERVERS = [{"url": "https://api.test/v1"}]


def operations(paths, requests=None, servers=SERVERS, version="3.0.3", components=None, more=None, **options):
    """The tools of a document whose requests are collected."""

    def answer(request):
        if requests is not None:
            requests.append(request)
        return httpx2.Response(200, json={})

    client = httpx2.Client(transport=httpx2.MockTransport(answer))
    document = {"openapi": version, "servers": servers, "paths": paths, "components": components or {}, **(more or {})}
    return from_openapi(document, client=client, requires_approval=False, **options)


def sent(operation, arguments, path="/a", method="post", context=None, **options):
    """The request of one operation; the result of the call if nothing was sent."""
    requests = []
    [operation_tool] = operations({path: {method: {"operationId": "f", **operation}}}, requests, **options)
    result = operation_tool.call(arguments, context)
    return requests[0] if requests else result


def parameter(place, schema, name="p", **more):
    return {"parameters": [{"name": name, "in": place, "schema": schema, **more}]}


LIST = {"type": "array", "items": {"type": "string"}}
OBJECT = {"type": "object", "properties": {"role": {"type": "string"}, "name": {"type": "string"}}}
COLORS, PERSON = ["blue", "a,b/ü"], {"role": "admin", "name": "A B"}
QUERIES = [  # the table of OpenAPI 3.1.1, with encoded values
    (LIST, "form", True, COLORS, "p=blue&p=a%2Cb%2F%C3%BC"),
    (LIST, "form", False, COLORS, "p=blue,a%2Cb%2F%C3%BC"),
    (LIST, "spaceDelimited", False, COLORS, "p=blue%20a%2Cb%2F%C3%BC"),
    (LIST, "pipeDelimited", False, COLORS, "p=blue%7Ca%2Cb%2F%C3%BC"),
    (LIST, None, None, ["a", "b"], "p=a&p=b"),
    (LIST, "form", False, [], ""),
    (OBJECT, "form", True, PERSON, "role=admin&name=A%20B"),
    (OBJECT, "form", False, PERSON, "p=role,admin,name,A%20B"),
    (OBJECT, "deepObject", True, PERSON, "p%5Brole%5D=admin&p%5Bname%5D=A%20B"),
    (
        {"type": "array", "items": OBJECT},
        "deepObject",
        True,
        [PERSON],
        "p%5B0%5D%5Brole%5D=admin&p%5B0%5D%5Bname%5D=A%20B",
    ),
    ({"type": "object"}, "deepObject", True, {"created": {"gte": 5}}, "p%5Bcreated%5D%5Bgte%5D=5"),
    ({"type": "boolean"}, None, None, True, "p=true"),
    ({"type": "number"}, None, None, 0.1, "p=0.1"),
    ({"type": "integer"}, None, None, 12345678901234567890, "p=12345678901234567890"),
    ({"type": "string"}, None, None, "", "p="),
    ({"type": "string"}, None, None, "a&b=c#d+e", "p=a%26b%3Dc%23d%2Be"),
]


@pytest.mark.parametrize(("schema", "style", "explode", "value", "query"), QUERIES)
def test_a_query_has_the_style_of_its_parameter(schema, style, explode, value, query):
    more = {key: item for key, item in (("style", style), ("explode", explode)) if item is not None}
    request = sent(parameter("query", schema, **more), {"p": value}, method="get")
    assert request.url.query.decode() == query
    assert request.content == b""


PATHS = [
    ({"type": "string"}, "simple", False, "a/b ü", "a%2Fb%20%C3%BC"),
    (LIST, "simple", False, ["a", "b"], "a,b"),
    (OBJECT, "simple", False, PERSON, "role,admin,name,A%20B"),
    (OBJECT, "simple", True, PERSON, "role=admin,name=A%20B"),
    (LIST, "label", False, ["a", "b"], ".a,b"),
    (LIST, "label", True, ["a", "b"], ".a.b"),
    (OBJECT, "label", True, PERSON, ".role=admin.name=A%20B"),
    (LIST, "matrix", False, ["a", "b"], ";p=a,b"),
    (LIST, "matrix", True, ["a", "b"], ";p=a;p=b"),
    (OBJECT, "matrix", True, PERSON, ";role=admin;name=A%20B"),
    ({"type": "integer"}, "matrix", False, 5, ";p=5"),
]


@pytest.mark.parametrize(("schema", "style", "explode", "value", "segment"), PATHS)
def test_a_path_has_the_style_of_its_parameter(schema, style, explode, value, segment):
    operation = parameter("path", schema, style=style, explode=explode, required=True)
    request = sent(operation, {"p": value}, path="/a/{p}/b", method="get")
    assert request.url.raw_path.decode() == f"/v1/a/{segment}/b"


@pytest.mark.parametrize("value", ["..", ".", "", ["..", None], [""]])
def test_no_value_leaves_the_path(value):
    result = sent(parameter("path", {}, required=True), {"p": value}, path="/a/{p}", method="delete")
    assert "part of the path" in result.error


@pytest.mark.parametrize(
    ("schema", "explode", "value", "text"),
    [
        (LIST, False, ["a", "b c"], b"a,b c"),
        (OBJECT, True, PERSON, b"role=admin,name=A B"),
        ({"type": "string"}, False, "ü", "ü".encode()),
        ({"type": "boolean"}, False, False, b"false"),
    ],
)
def test_a_header_has_the_style_of_its_parameter(schema, explode, value, text):
    request = sent(parameter("header", schema, name="X-P", explode=explode), {"X-P": value}, method="get")
    assert (b"X-P", text) in request.headers.raw


@pytest.mark.parametrize("value", ["a\r\nx: y", "a\n", "a\0"])
def test_a_header_cannot_begin_another_one(value):
    assert "header" in sent(parameter("header", {"type": "string"}, name="X-P"), {"X-P": value}, method="get").error


def test_a_cookie_cannot_begin_another_one():
    request = sent(parameter("cookie", {"type": "string"}), {"p": "a; admin=1"}, method="get")
    assert request.headers["cookie"] == "p=a%3B%20admin=1"
    request = sent(parameter("cookie", LIST, explode=False), {"p": ["a", "b"]}, method="get")
    assert request.headers["cookie"] == "p=a,b"


def test_a_parameter_may_be_a_document():
    operation = {"parameters": [{"name": "p", "in": "query", "content": {"application/json": {"schema": OBJECT}}}]}
    request = sent(operation, {"p": {"role": "a b"}}, method="get")
    assert request.url.query == b"p=%7B%22role%22%3A%22a%20b%22%7D"


def body(schema, media_type="application/json", required=True, **media):
    return {"requestBody": {"required": required, "content": {media_type: {"schema": schema, **media}}}}


NESTED = {"type": "object", "properties": {"meta": {"type": "object"}, "ids": LIST, "n": {"type": "integer"}}}
PATCH = {"type": "object", "properties": {"n": {"type": "integer", "nullable": True}}}
VALUES = {"meta": {"k": "v w"}, "ids": ["a", "b"], "n": 3}
DEEP = {"style": "deepObject", "explode": True}


@pytest.mark.parametrize(
    ("schema", "media_type", "media", "arguments", "content"),
    [
        (NESTED, "application/json", {}, VALUES, '{"meta":{"k":"v w"},"ids":["a","b"],"n":3}'),
        (PATCH, "application/merge-patch+json", {}, {"n": None}, '{"n":null}'),
        (NESTED, "application/vnd.api+json; charset=utf-8", {}, {}, "{}"),
        (
            {"type": "array", "items": {}},
            "application/json-patch+json",
            {},
            {"body": [{"op": "add"}]},
            '[{"op":"add"}]',
        ),
        ({"type": "object"}, "application/json", {}, {"body": {}}, "{}"),
        ({"type": "string"}, "application/json", {}, {"body": "ü"}, '"ü"'),
        (
            NESTED,
            "application/x-www-form-urlencoded",
            {"encoding": {"meta": DEEP}},
            VALUES,
            "meta%5Bk%5D=v%20w&ids=a&ids=b&n=3",
        ),
        (NESTED, "application/x-www-form-urlencoded", {"encoding": {"ids": DEEP}}, {"ids": ["a"]}, "ids%5B0%5D=a"),
        (NESTED, "application/x-www-form-urlencoded", {}, {"meta": {"k": 1}}, "meta=%7B%22k%22%3A1%7D"),
        (
            NESTED,
            "application/x-www-form-urlencoded",
            {"encoding": {"ids": {"style": "form", "explode": False}}},
            {"ids": ["a", "b"]},
            "ids=a,b",
        ),
        ({"type": "string"}, "text/plain", {}, {"body": "a ü"}, "a ü"),
        ({"type": "object"}, "text/csv", {}, {"body": "a;b"}, "a;b"),
        ({"type": "string"}, "application/xml", {}, {"body": "<a/>"}, "<a/>"),
        ({"type": "string", "format": "binary"}, "application/octet-stream", {}, {"body": "abc"}, "abc"),
        ({}, "image/png", {}, {"body": "abc"}, "abc"),
    ],
)
def test_a_body_has_its_media_type(schema, media_type, media, arguments, content):
    request = sent(body(schema, media_type, **media), arguments)
    assert (request.headers["content-type"], request.content.decode()) == (media_type, content)


def test_files_of_the_workspace_are_parts_and_bodies(workspace):
    (workspace / "a.png").write_bytes(b"\x89PNG")
    schema = {
        "type": "object",
        "required": ["file"],
        "properties": {
            "file": {"type": "string", "format": "binary"},
            "more": {"type": "array", "items": {"type": "string", "contentEncoding": "binary"}},
            "note": {"type": "string"},
            "meta": OBJECT,
        },
    }
    context = Context(workspace=workspace)
    arguments = {"file": "a.png", "more": ["a.png"], "note": "ü", "meta": {"role": "x"}}
    encoding = {"file": {"contentType": "image/png, image/jpeg"}}
    request = sent(body(schema, "multipart/form-data", encoding=encoding), arguments, context=context)
    assert request.headers["content-type"].startswith("multipart/form-data; boundary=")
    text = request.content.decode("latin-1")
    assert 'name="file"; filename="a.png"\r\nContent-Type: image/png\r\n\r\n\x89PNG' in text
    assert 'name="more"; filename="a.png"\r\nContent-Type: application/octet-stream\r\n\r\n\x89PNG' in text
    assert 'name="note"\r\n\r\n\xc3\xbc' in text
    assert 'name="meta"\r\nContent-Type: application/json\r\n\r\n{"role":"x"}' in text
    request = sent(body({}, "application/pdf"), {"body_file": "a.png"}, context=context)
    assert (request.headers["content-type"], request.content) == ("application/pdf", b"\x89PNG")
    for path in ("../secret", "/etc/passwd", "missing"):
        result = sent(body(schema, "multipart/form-data"), {"file": path}, context=context)
        assert "not in the workspace" in result.error or "cannot be read" in result.error


def test_a_link_out_of_the_workspace_is_not_sent(workspace):
    (workspace.parent / "secret").write_text("x")
    (workspace / "link").symlink_to(workspace.parent / "secret")
    result = sent(body({}, "application/pdf"), {"body_file": "link"}, context=Context(workspace=workspace))
    assert "not in the workspace" in result.error


def test_an_optional_body_has_all_its_required_members_or_is_left_out():
    schema = {"type": "object", "required": ["title"], "properties": {"title": {"type": "string"}, "parent": {}}}
    assert not sent(body(schema, required=False), {"parent": "p"}).ok
    request = sent(body(schema, required=False), {})
    assert (request.content, request.headers.get("content-type")) == (b"", None)
    assert sent(body(schema, required=False), {"title": "t"}).content == b'{"title":"t"}'


SERVER_CASES = [
    ({}, {}, SERVERS, {}, "https://api.test/v1/a"),
    ({"servers": [{"url": "https://uploads.test/"}]}, {}, SERVERS, {}, "https://uploads.test/a"),
    ({}, {"servers": [{"url": "https://path.test"}]}, SERVERS, {}, "https://path.test/a"),
    (
        {"servers": [{"url": "https://op.test"}]},
        {"servers": [{"url": "https://path.test"}]},
        SERVERS,
        {},
        "https://op.test/a",
    ),
    ({"servers": [{"url": "/v2"}]}, {}, SERVERS, {}, "https://api.test/v2/a"),
    (
        {},
        {},
        [{"url": "https://{region}.test/{v}", "variables": {"region": {"default": "eu"}, "v": {"default": "v3"}}}],
        {},
        "https://eu.test/v3/a",
    ),
    (
        {},
        {},
        [{"url": "https://{r}.test", "variables": {"r": {"default": "eu", "enum": ["eu", "us"]}}}],
        {"variables": {"r": "us"}},
        "https://us.test/a",
    ),
    ({}, {}, [{"url": "/v1"}], {"base_url": "http://localhost:1/x/"}, "http://localhost:1/x/a"),
    (
        {"servers": [{"url": "https://uploads.test"}]},
        {},
        [],
        {"base_url": "http://localhost:1"},
        "https://uploads.test/a",
    ),
]


@pytest.mark.parametrize(("operation", "item", "servers", "options", "url"), SERVER_CASES)
def test_the_innermost_server_is_used_with_its_variables(operation, item, servers, options, url):
    requests = []
    paths = {"/a": {"get": {"operationId": "f", **operation}, **item}}
    [operation_tool] = operations(paths, requests, servers=servers, **options)
    operation_tool.call({})
    assert str(requests[0].url) == url


def test_a_server_variable_without_a_value_is_refused():
    servers = [{"url": "https://{tenant}.test"}, {"url": "https://{other}.test"}]
    with pytest.raises(ValueError, match="tenant has no default"):
        operations({"/a": {"get": {}}}, servers=servers)
    assert len(operations({"/a": {"get": {}}}, servers=servers, variables={"tenant": "ann"})) == 1


def test_an_unknown_value_of_a_server_variable_is_refused():
    servers = [{"url": "https://{r}.test", "variables": {"r": {"default": "eu", "enum": ["eu", "us"]}}}]
    with pytest.raises(ValueError, match="one of eu, us; got 'xx'"):
        operations({"/a": {"get": {}}}, servers=servers, variables={"r": "xx"})


SCHEMAS = {
    "A": {"type": "object", "properties": {"id": {"type": "integer"}, "a/b~c": {"type": "boolean"}}},
    "B": {"type": "object", "properties": {"id": {"type": "string"}, "next": {"$ref": "#/components/schemas/B"}}},
    "Pet": {
        "allOf": [{"$ref": "#/components/schemas/A"}, {"required": ["id"], "properties": {"tag": {"type": "string"}}}]
    },
    "Null": {"type": "string", "nullable": True, "enum": ["x"]},
    "Secret": {
        "type": "object",
        "required": ["id", "n"],
        "properties": {"id": {"readOnly": True}, "n": {"type": "integer"}},
    },
}
REFERENCES = [
    (
        {"x": {"$ref": "#/components/schemas/A/properties/id"}, "y": {"$ref": "#/components/schemas/B/properties/id"}},
        {"x": 1, "y": "s"},
        {"x": 1, "y": 1.5},
    ),
    ({"x": {"$ref": "#/components/schemas/A/properties/a~1b~0c"}}, {"x": True}, {"x": "s"}),
    (
        {"x": {"$ref": "#/components/schemas/B"}},
        {"x": {"next": {"next": {"id": "s"}}}},
        {"x": {"next": {"next": {"id": []}}}},
    ),
    ({"x": {"$ref": "#/components/schemas/Pet"}}, {"x": {"id": 1, "tag": "t"}}, {"x": {"tag": "t"}}),
    ({"x": {"$ref": "#/components/schemas/Null"}}, {"x": None}, {"x": "y"}),
    ({"x": {"allOf": [{"$ref": "#/components/schemas/A"}], "nullable": True}}, {"x": None}, {"x": 3}),
    (
        {"type": {"type": "string"}, "example": {"type": "string"}, "xml": {}, "nullable": {}},
        {"type": "a", "example": "b", "xml": 1},
        {"example": []},
    ),
    ({"x": {"$ref": "#/components/schemas/Secret"}}, {"x": {"n": 1}}, {"x": {}}),
    ({"x": {"type": "string", "pattern": r"^\p{L}+$"}}, {"x": "é"}, {"x": []}),
    ({"x": {"type": "string", "enum": []}}, {"x": "a"}, {"x": []}),
    ({"x": {"type": "integer", "minimum": 0, "exclusiveMinimum": True}}, {"x": 1}, {"x": 0}),
    ({"x": {"enum": [{"example": 1, "nullable": 2}]}}, {"x": {"example": 1, "nullable": 2}}, {"x": {}}),
]


@pytest.mark.parametrize(("properties", "good", "bad"), REFERENCES, ids=lambda value: str(value)[:60])
def test_schemas_keep_their_meaning(properties, good, bad):
    operation = body({"type": "object", "properties": properties})
    request = sent(operation, good, components={"schemas": SCHEMAS})
    assert json.loads(request.content) == good
    assert sent(operation, bad, components={"schemas": SCHEMAS}).error_type == "validation_error"


def test_a_body_of_several_parts_is_one_object():
    operation = body({"$ref": "#/components/schemas/Pet"})
    [operation_tool] = operations({"/a": {"post": operation}}, components={"schemas": SCHEMAS})
    assert set(operation_tool.input_schema["properties"]) == {"id", "a_b_c", "tag"}
    request = sent(operation, {"id": 1, "a_b_c": True}, components={"schemas": SCHEMAS})
    assert json.loads(request.content) == {"id": 1, "a/b~c": True}


def test_both_versions_say_null_in_their_own_way():
    schema = {"type": "object", "properties": {"x": {"type": ["integer", "null"], "description": "X"}}}
    assert sent(body(schema), {"x": None}, version="3.1.0").content == b'{"x":null}'
    reference = {"$ref": "#/components/schemas/N", "maximum": 3, "description": "Beside"}
    operation = body({"type": "object", "properties": {"x": reference}})
    components = {"schemas": {"N": {"type": "integer"}}}
    assert sent(operation, {"x": 5}, version="3.1.0", components=components).error_type == "validation_error"
    assert sent(operation, {"x": 5}, version="3.0.3", components=components).content == b'{"x":5}'


SCHEMES = {
    "key": {"type": "apiKey", "in": "query", "name": "api_key"},
    "head": {"type": "apiKey", "in": "header", "name": "X-Key"},
    "jar": {"type": "apiKey", "in": "cookie", "name": "sid"},
    "basic": {"type": "http", "scheme": "basic"},
    "bearer": {"type": "http", "scheme": "bearer"},
    "oauth": {"type": "oauth2", "flows": {}},
    "mtls": {"type": "mutualTLS"},
}
CREDENTIALS = [
    ({"key": "s&t"}, [{"key": []}], lambda request: request.url.query == b"api_key=s%26t"),
    ({"head": "s"}, [{"oauth": []}, {"head": []}], lambda request: request.headers["x-key"] == "s"),
    ({"jar": "s"}, [{"jar": []}], lambda request: request.headers["cookie"] == "sid=s"),
    (
        {"basic": ("ann", "pass")},
        [{"basic": []}],
        lambda request: request.headers["authorization"] == "Basic YW5uOnBhc3M=",
    ),
    ({"bearer": "s"}, [{"bearer": []}], lambda request: request.headers["authorization"] == "Bearer s"),
    ({"oauth": "s", "head": "t"}, [{"oauth": ["read"]}], lambda request: "x-key" not in request.headers),
    ({"bearer": "s"}, [], lambda request: "authorization" not in request.headers),
    ({"bearer": "s"}, [{}], lambda request: "authorization" not in request.headers),
]


@pytest.mark.parametrize(("auth", "security", "check"), CREDENTIALS)
def test_credentials_are_sent_by_the_names_of_their_schemes(auth, security, check):
    operation = {"security": security, **parameter("header", {"type": "string"}, name="X-Key")}
    assert check(sent(operation, {}, method="get", components={"securitySchemes": SCHEMES}, auth=auth))


@pytest.mark.parametrize(
    ("auth", "message"),
    [
        ({"bear": "s"}, "no security scheme 'bear'; it has key"),
        ({"basic": "s"}, "a user and a password"),
        ({"mtls": "s"}, "mutualTLS"),
    ],
)
def test_credentials_that_do_not_fit_the_document_are_refused(auth, message):
    with pytest.raises(ValueError, match=message):
        operations({"/a": {"get": {}}}, components={"securitySchemes": SCHEMES}, auth=auth)


UNSENDABLE = [
    (parameter("query", {"type": "array", "items": LIST}), "nested"),
    (parameter("path", LIST, style="deepObject"), "style 'deepObject'"),
    (parameter("cookie", LIST), "explode"),
    (parameter("body", {}), "is in 'body'"),
    ({"parameters": [{"name": "p", "in": "query", "content": {"application/xml": {}}}]}, "is application/xml"),
    (body(OBJECT, "application/xml"), "cannot be written"),
    (body(OBJECT, "multipart/mixed"), "cannot be written"),
    (body(LIST, "application/x-www-form-urlencoded"), "not an object"),
    (body({"$ref": "other.yaml#/A"}), "bundle"),
    (body({"$ref": "#/components/schemas/Missing"}), "Missing is not in the document"),
    ({"parameters": [{"in": "query"}]}, "KeyError"),
    (parameter("path", {}, name="other"), "path parameter q is not defined"),
]


@pytest.mark.parametrize(("operation", "reason"), UNSENDABLE, ids=[reason for _, reason in UNSENDABLE])
def test_an_operation_that_cannot_be_sent_is_left_out_with_the_reason(operation, reason):
    path = "/b/{q}" if "is not defined" in reason else "/b"
    tools = operations({"/a": {"get": {"operationId": "good"}}, path: {"post": {"operationId": "bad", **operation}}})
    assert [tool.name for tool in tools] == ["good"]
    [problem] = tools.problems
    assert problem.startswith("bad (POST /b")
    assert reason in problem
    with pytest.raises(ValueError, match="no operation can be sent"):
        operations({path: {"post": {"operationId": "bad", **operation}}})


def test_names_are_legal_and_different():
    paths = {
        "/a": {"get": {"operationId": "x.y"}, "put": {"operationId": "x_y"}, "post": {"operationId": "x_y"}},
        "/1/{id}": {"get": {"parameters": [{"name": "id", "in": "path", "required": True}]}},
    }
    names = [tool.name for tool in operations(paths)]
    assert len(set(names)) == 4
    assert {"x_y", "post_a", "get_1_id"} <= {*names}


def test_parameters_of_one_name_stay_apart():
    parameters = [{"name": "id", "in": place, "required": place == "path", "schema": {}} for place in ("query", "path")]
    operation = {"parameters": [*parameters, {"name": "filter[x]", "in": "query", "schema": {"type": "string"}}]}
    arguments = {"id": "p", "query_id": "q", "filter_x": "f"}
    request = sent(operation, arguments, path="/a/{id}", method="get")
    assert str(request.url) == "https://api.test/v1/a/p?id=q&filter%5Bx%5D=f"
