"""OpenAPI documents as others write them, and the requests that they describe."""

from __future__ import annotations

import json
from datetime import date

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
    ({"x": {"$ref": "#/components/schemas/A", "nullable": True}}, {"x": None}, {"x": 3}),
    ({"x": {"type": "string", "default": None}}, {"x": "a"}, {"x": []}),
    ({"x": {"enum": [{"example": 1, "nullable": 2}]}}, {"x": {"example": 1, "nullable": 2}}, {"x": {}}),
    # As YAML reads `enum: [2026-01-31]`, `default: 2026-01-31`, `enum: [1, on, null]`, and dates in examples.
    ({"x": {"type": "string", "enum": [date(2026, 1, 31)]}}, {"x": "2026-01-31"}, {"x": "2026-01-30"}),
    ({"x": {"type": "string", "default": date(2026, 1, 31), "example": date(2026, 1, 31)}}, {"x": "a"}, {"x": 1}),
    ({"x": {"type": "string", "nullable": True, "enum": [1, True, None]}}, {"x": "1"}, {"x": "2"}),
    ({"x": {"type": "integer", "enum": [1, 2]}}, {"x": 1}, {"x": "one"}),
]


@pytest.mark.parametrize(("properties", "good", "bad"), REFERENCES, ids=lambda value: str(value)[:60])
def test_schemas_keep_their_meaning(properties, good, bad):
    operation = body({"type": "object", "properties": properties})
    request = sent(operation, good, components={"schemas": SCHEMAS})
    assert json.loads(request.content) == good
    assert sent(operation, bad, components={"schemas": SCHEMAS}).error_type == "validation_error"


def test_a_patch_described_as_an_object_is_sent_as_a_merge_patch():
    kinds = ["application/json-patch+json", "application/merge-patch+json"]  # as Kubernetes describes both
    content = {kind: {"schema": {"type": "object"}} for kind in kinds}
    request = sent({"requestBody": {"required": True, "content": content}}, {"body": {"a": 1}}, method="patch")
    assert request.headers["content-type"] == "application/merge-patch+json"
    content[kinds[0]] = {"schema": {"type": "array", "items": {}}}
    request = sent({"requestBody": {"required": True, "content": content}}, {"body": [{}]}, method="patch")
    assert request.headers["content-type"] == "application/json-patch+json"


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


@pytest.mark.parametrize("token", ["s\n", " s \r\n", "Bearer s", "bearer  s\n"])
def test_a_token_as_a_file_or_a_page_has_it_is_sent_plainly(token):
    components = {"securitySchemes": SCHEMES}
    request = sent({"security": [{"bearer": []}]}, {}, components=components, auth={"bearer": token})
    assert request.headers["authorization"] == "Bearer s"
    assert sent({}, {}, headers={"X-Key": f"{token}\n"}).headers["x-key"] == token.strip()


@pytest.mark.parametrize("options", [{"auth": {"bearer": "hush\nX: y"}}, {"headers": {"X-Key": "hush\nX: y"}}])
def test_a_credential_that_no_header_can_have_is_refused_without_its_value(options):
    with pytest.raises(ValueError, match="has a line break") as caught:
        operations({"/a": {"get": {}}}, components={"securitySchemes": SCHEMES}, **options)
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize(
    ("auth", "message"),
    [
        ({"bearer": " "}, "a text: the token"),
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


INHERITANCE = {
    "Pet": {
        "type": "object",
        "required": ["kind"],
        "properties": {"kind": {"type": "string"}},
        "discriminator": {"propertyName": "kind"},
        "oneOf": [{"$ref": "#/components/schemas/Cat"}, {"$ref": "#/components/schemas/Dog"}],
    },
    "Cat": {"allOf": [{"$ref": "#/components/schemas/Pet"}, {"properties": {"lives": {"type": "integer"}}}]},
    "Dog": {"allOf": [{"$ref": "#/components/schemas/Pet"}, {"properties": {"barks": {"type": "boolean"}}}]},
    "Loop": {"allOf": [{"$ref": "#/components/schemas/Loop"}, {"properties": {"n": {"type": "integer"}}}]},
    "Tree": {
        "type": "object",
        "properties": {"children": {"type": "array", "items": {"$ref": "#/components/schemas/Tree"}}},
    },
    "Either": {"anyOf": [{"$ref": "#/components/schemas/Either"}, {"type": "string"}]},
}


@pytest.mark.parametrize(
    ("name", "arguments", "bad"),
    [
        ("Pet", {"body": {"kind": "cat", "lives": 9}}, {"body": {"lives": 9}}),
        ("Cat", {"kind": "cat", "lives": 9}, {"kind": "cat", "lives": "many"}),
        ("Loop", {"n": 1}, {"n": "x"}),
        ("Tree", {"children": [{"children": []}]}, {"children": [{"children": 3}]}),
    ],
)
def test_a_schema_may_be_a_part_of_itself(name, arguments, bad):
    operation = body({"$ref": f"#/components/schemas/{name}"})
    request = sent(operation, arguments, components={"schemas": INHERITANCE})
    assert json.loads(request.content) == arguments.get("body", arguments)
    assert sent(operation, bad, components={"schemas": INHERITANCE}).error_type == "validation_error"


def test_a_schema_that_only_refers_to_itself_leaves_the_others():
    good = {"get": {"operationId": "good"}}
    either = {"post": {"operationId": "either", **body({"$ref": "#/components/schemas/Either"})}}
    loop = {"post": {"operationId": "bad", **body({"$ref": "#/components/schemas/Self"})}}
    components = {"schemas": {**INHERITANCE, "Self": {"$ref": "#/components/schemas/Self"}}}
    tools = operations({"/a": good, "/b": loop, "/c": either}, components=components)
    assert {"good"} <= {tool.name for tool in tools}
    assert "bad (POST /b): a reference leads back to itself" in tools.problems


ODD = [  # as generators and people write them
    ("/a", {"parameters": None, "requestBody": None, "security": None, "tags": None}, {}, "/v1/a"),
    ("/a", parameter("query", LIST, style=None, explode=None), {"p": ["a", "b"]}, "/v1/a?p=a&p=b"),
    ("/a", parameter("query", LIST, style="FORM"), {"p": ["a"]}, "/v1/a?p=a"),
    ("/a?x=1", parameter("query", LIST), {"p": ["a"]}, "/v1/a?x=1&p=a"),
    ("/a#Target=B", parameter("query", LIST), {"p": ["a"]}, "/v1/a?p=a"),
    ("/{p}:cancel", parameter("path", {"type": "string"}), {"p": "7"}, "/v1/7:cancel"),
    ("/{p}-x.json", parameter("path", {"type": "integer"}), {"p": 7}, "/v1/7-x.json"),
    ("/a", {"parameters": [{"name": "p", "in": "query"}]}, {"p": "a b"}, "/v1/a?p=a%20b"),
    ("/a", {"parameters": [{"name": "p", "in": "query", "type": "integer"}]}, {"p": 5}, "/v1/a?p=5"),
    ("/a", parameter("query", {"type": "string", "pattern": "/^[a-z]+$/i"}), {"p": "Abc"}, "/v1/a?p=Abc"),
    ("/a", parameter("query", {"type": "integer", "minimum": "1"}), {"p": 5}, "/v1/a?p=5"),
    ("/a", parameter("query", LIST, name="ids[]"), {"ids": ["a"]}, "/v1/a?ids%5B%5D=a"),
]


@pytest.mark.parametrize(("path", "operation", "arguments", "target"), ODD)
def test_an_odd_operation_that_can_be_sent_is_sent(path, operation, arguments, target):
    request = sent(operation, arguments, path=path, method="get")
    assert request.url.raw_path.decode() == target


@pytest.mark.parametrize(("identifier", "name"), [(5, "get_a"), ("получить", "get_a"), ("Get it (v2)", "Get_it__v2_")])
def test_an_odd_identifier_becomes_a_legible_name(identifier, name):
    assert [tool.name for tool in operations({"/a": {"get": {"operationId": identifier}}})] == [name]


def test_only_paths_are_operations():
    tools = operations({"/a": {"get": {}}, "x-more": {"get": {}}, "b": {"get": {}}, "/c": {"query": {}}})
    assert [tool.name for tool in tools] == ["get_a", "query_c"]
    assert tools.problems == ["b: a path begins with /"]
    assert tools[1].read_only


def test_definitions_inside_of_a_schema_are_found():
    schema = {"type": "object", "properties": {"x": {"$ref": "#/$defs/X"}}, "$defs": {"X": {"type": "integer"}}}
    assert sent(body(schema), {"x": 3}).content == b'{"x":3}'
    assert sent(body(schema), {"x": "a"}).error_type == "validation_error"


def test_the_server_decides_between_alternatives_that_overlap():
    parts = [{"type": "object", "properties": {name: {"type": "string"}}} for name in "ab"]
    assert sent(body({"oneOf": parts}), {"body": {"a": "x", "b": "y"}}).content == b'{"a":"x","b":"y"}'


def test_a_server_with_a_query_is_refused():
    with pytest.raises(ValueError, match="has a query: pass base_url without it"):
        operations({"/a": {"get": {}}}, servers=[{"url": "https://a.test/?key=1"}])


def test_an_enumeration_has_no_value_twice():
    values = ["a", "b", "a", 1, True, 1]
    [operation_tool] = operations({"/a": {"get": parameter("query", {"enum": values})}})
    assert operation_tool.input_schema["properties"]["p"]["enum"] == ["a", "b", 1, True]


def answered(response):
    """The result of a call that gets this response."""
    client = httpx2.Client(transport=httpx2.MockTransport(lambda _: response))
    document = {"openapi": "3.0.3", "servers": SERVERS, "paths": {"/a": {"get": {"operationId": "f"}}}}
    return from_openapi(document, client=client)[0].call({})


@pytest.mark.parametrize(
    ("media_type", "content", "output"),
    [
        ("application/json; charset=utf8mb4", b'{"a":1}', {"a": 1}),
        ("application/json; charset=base64", b'{"a":1}', {"a": 1}),
        ("text/plain; charset=idna", b"a", "a"),
        ("application/json; charset=utf-8", b'\xef\xbb\xbf{"a":1}', {"a": 1}),
        ("Application/JSON", b'{"a":1}', {"a": 1}),
        ("application/x-www-form-urlencoded", b"a=1", "a=1"),
        ("application/yaml", b"a: 1", "a: 1"),
        ("application/json", b"[" * 50_000, "[" * 50_000),
    ],
)
def test_a_response_is_read_in_every_common_form(media_type, content, output):
    assert answered(httpx2.Response(200, content=content, headers={"content-type": media_type})).output == output


class Interrupted(httpx2.SyncByteStream):
    """A body that ends with an exception."""

    def __init__(self, error):
        self.error = error

    def __iter__(self):
        yield b'{"a":'
        raise self.error


@pytest.mark.parametrize(
    ("stream", "headers", "text"),
    [
        (Interrupted(httpx2.ReadTimeout("slow")), {}, "f was not answered in time"),
        (Interrupted(httpx2.RemoteProtocolError("closed")), {}, "f failed: closed"),
        (httpx2.ByteStream(b"no gzip"), {"content-encoding": "gzip"}, "f failed: Error -3"),
    ],
)
def test_a_response_that_fails_half_way_is_a_failure_of_the_connection(stream, headers, text):
    assert text in answered(httpx2.Response(200, stream=stream, headers=headers)).error


BINARY = {"type": "string", "format": "binary"}


@pytest.mark.parametrize(
    "schema",
    [
        {"anyOf": [BINARY, {"type": "null"}]},
        {"anyOf": [{"type": "string", "contentMediaType": "application/octet-stream"}, {"type": "null"}]},
        {"anyOf": [{"type": "array", "items": BINARY}, {"type": "null"}]},
        {"oneOf": [BINARY, {"type": "array", "items": BINARY}]},
        {"format": "binary"},
        {"type": "file"},
    ],
)
def test_an_optional_file_is_sent_as_a_file(workspace, schema):
    (workspace / "a.png").write_bytes(b"\x89PNG")
    operation = body({"type": "object", "properties": {"f": schema}}, "multipart/form-data")
    value = ["a.png"] if "array" in str(schema) else "a.png"
    request = sent(operation, {"f": value}, context=Context(workspace=workspace))
    assert b'filename="a.png"' in request.content


@pytest.mark.parametrize("names", [["At", "At<", "At>"], ["城市", "日期", "页"], ["q" * 70, "q" * 80, "q" * 90]])
def test_parameters_with_similar_names_are_all_sent(names):
    requests = []
    parameters = [{"name": name, "in": "query", "schema": {"type": "string"}} for name in names]
    [operation_tool] = operations({"/a": {"get": {"operationId": "f", "parameters": parameters}}}, requests)
    properties = operation_tool.input_schema["properties"]
    assert [value["description"] for value in properties.values()] == names
    assert max(map(len, properties)) <= 64
    operation_tool.call(dict.fromkeys(properties, "x"))
    assert list(requests[0].url.params) == names


@pytest.mark.parametrize("part", [{"properties": []}, {"properties": None}, {"required": True}, {"required": None}])
def test_an_operation_with_a_keyword_of_the_wrong_type_is_sent(part):
    schema = {"type": "object", "properties": {"x": {"type": "object", **part}}}
    assert sent(body(schema), {"x": {"a": 1}}).content == b'{"x":{"a":1}}'
    assert sent(body({"type": "object", **part}), {"body": {"a": 1}}).content == b'{"a":1}'


def test_parts_of_an_object_may_each_allow_no_other_members():
    parts = [{"type": "object", "properties": {name: {}}, "additionalProperties": False} for name in "ab"]
    schema = {"allOf": [{"$ref": "#/components/schemas/P"}, parts[1]]}
    operation = body({"type": "object", "properties": {"x": schema}})
    request = sent(operation, {"x": {"a": 1, "b": 2}}, components={"schemas": {"P": parts[0]}})
    assert request.content == b'{"x":{"a":1,"b":2}}'


def test_a_schema_that_extends_itself_without_end_leaves_the_others():
    schema = {"allOf": [{"$ref": "#/components/schemas/A"}, {"properties": {}}], "additionalProperties": False}
    bad = {"operationId": "bad", **body({"type": "array", "items": {"$ref": "#/components/schemas/A"}})}
    paths = {"/a": {"get": {"operationId": "good"}, "post": bad}}
    tools = operations(paths, components={"schemas": {"A": schema}})
    assert [operation_tool.name for operation_tool in tools] == ["good"]


def reference(name):
    return {"$ref": f"#/components/schemas/{name}"}


def test_alternatives_that_refer_to_each_other_are_read_once():
    names = [f"S{number}" for number in range(30)]
    schemas = {name: {"oneOf": [*map(reference, names), BINARY]} for name in names}
    paths = {
        "/a": {"post": {"operationId": "json", **body(reference("S1"))}},
        "/b": {"post": {"operationId": "form", **body({"properties": {"f": reference("S1")}}, "multipart/form-data")}},
        "/c": {"get": {"operationId": "query", **parameter("query", reference("S1"))}},
    }
    tools = operations(paths, components={"schemas": schemas})
    assert [operation_tool.name for operation_tool in tools] == ["json", "form", "query"]
    assert tools[1].input_schema["properties"]["f"]["format"] == "path"


def test_a_long_chain_of_references_is_read_to_its_end():
    schemas = {
        f"S{number}": {"type": "object", "properties": {"x": reference(f"S{number + 1}")}} for number in range(500)
    }
    components = {"schemas": {**schemas, "S500": {"type": "integer"}}}
    operation = body({"type": "object", "properties": {"a": reference("S0"), "b": reference("S499")}})
    assert sent(operation, {"b": {"x": 3}}, components=components).content == b'{"b":{"x":3}}'
    assert sent(operation, {"b": {"x": "a"}}, components=components).error_type == "validation_error"


@pytest.mark.parametrize("reference", ["#", "#Pet"])
def test_a_reference_to_the_whole_document_is_refused(reference):
    with pytest.raises(ValueError, match=f"{reference} is not in the document"):
        operations({"/a": {"post": body({"type": "object", "properties": {"x": {"$ref": reference}}})}})


@pytest.mark.parametrize("document", ["openapi.json", '{"paths": {}}', b"{}", [], None])
def test_an_unread_document_is_refused_with_the_fix(document):
    with pytest.raises(ValueError, match=r"as `json\.load` or `yaml\.safe_load` return it"):
        from_openapi(document)


@pytest.mark.parametrize("base_url", ["localhost:8000", "api.test", "https://api.test/?key=1", "https://api.test/#/a"])
def test_an_address_that_no_path_can_follow_is_refused(base_url):
    with pytest.raises(ValueError, match="base_url is an address like https"):
        operations({"/a": {"get": {}}}, base_url=base_url)


def test_the_address_and_the_headers_of_a_client_are_used():
    requests = []
    transport = httpx2.MockTransport(lambda request: (requests.append(request), httpx2.Response(204))[1])
    client = httpx2.Client(transport=transport, base_url="https://client.test/x", headers={"X-Key": "s"})
    document = {"paths": {"/a": {"get": parameter("header", {"type": "string"}, name="X-Key", required=True)}}}
    [operation_tool] = from_openapi(document, client=client)
    assert operation_tool.call({}).ok
    assert (str(requests[0].url), requests[0].headers["x-key"]) == ("https://client.test/x/a", "s")


def test_an_asynchronous_client_is_refused():
    with pytest.raises(TypeError, match="must be an httpx2"):
        from_openapi({"paths": {"/a": {"get": {}}}}, client=httpx2.AsyncClient(base_url="https://api.test"))
