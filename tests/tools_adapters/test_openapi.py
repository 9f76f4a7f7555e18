"""`from_openapi`, against a real HTTP server."""

from __future__ import annotations

import contextlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tools_adapters import from_openapi
from tools_core import Context, Registry, ToolCall

PET = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "example": "Rex"},
        "age": {"type": "integer", "minimum": 0, "exclusiveMinimum": True, "nullable": True},
        "parent": {"$ref": "#/components/schemas/Pet"},
    },
    "required": ["name"],
}
DOCUMENT = {
    "openapi": "3.0.3",
    "paths": {
        "/pets/{id}": {
            "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}],
            "get": {"operationId": "getPet", "summary": "Read a pet."},
            "delete": {"operationId": "deletePet"},
        },
        "/pets": {
            "get": {
                "operationId": "listPets",
                "parameters": [
                    {"$ref": "#/components/parameters/Tag"},
                    {"name": "X-Trace", "in": "header", "schema": {"type": "string"}},
                    {"name": "x-key", "in": "header", "schema": {"type": "string"}},
                    {"name": "authorization", "in": "header", "required": True, "schema": {"type": "string"}},
                ],
            },
            "post": {
                "requestBody": {
                    "required": True,
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Pet"}}},
                }
            },
        },
        "/large": {"get": {"operationId": "large"}},
        "/move": {"get": {"operationId": "move"}},
        "/slow": {"get": {"operationId": "slow"}},
        "/cut": {"get": {"operationId": "cut"}},
        "/picture": {"get": {"operationId": "picture"}},
    },
    "components": {
        "schemas": {"Pet": PET},
        "parameters": {
            "Tag": {
                "name": "tag",
                "in": "query",
                "description": "Tags to look for.",
                "schema": {"type": "array", "items": {"type": "string"}},
            }
        },
    },
}


@pytest.fixture
def api():
    """The address of a server that describes each request that it receives."""
    release = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            if self.path == "/slow":
                release.wait(30)
            status, media_type = (404, "text/plain") if self.path.endswith("missing") else (200, "application/json")
            length = int(self.headers.get("Content-Length", 0))
            body = json.loads(self.rfile.read(length)) if length else None
            answer = {"method": self.command, "path": self.path, "body": body, "key": self.headers.get("X-Key")}
            answer |= {"trace": self.headers.get("X-Trace"), "authorization": self.headers.get("Authorization")}
            data = json.dumps(answer).encode()
            if self.path == "/large":
                data, media_type = b"x" * 2_000_000, "text/plain"
            if self.path == "/picture":
                data, media_type = b"\x89PNG", "image/png"
            if self.path == "/move":
                status = 302
            self.send_response(status)
            self.send_header("Content-Type", media_type)
            if status == 302:
                self.send_header("Location", "http://elsewhere.invalid/")
            self.send_header("Content-Length", str(len(data) + (self.path == "/cut")))
            self.end_headers()
            with contextlib.suppress(ConnectionError):
                self.wfile.write(data)

        do_POST = do_DELETE = do_GET

        def log_message(self, *arguments):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    release.set()
    server.shutdown()
    server.server_close()


@pytest.fixture
def tools(api):
    tools = from_openapi(DOCUMENT, base_url=api, headers={"X-Key": "secret"}, auth=("ann", "pass"))
    return {tool.name: tool for tool in tools}


def test_an_operation_is_a_tool_with_its_name_parameters_and_effects(tools):
    assert set(tools) == {"getPet", "deletePet", "listPets", "post_pets", "large", "move", "slow", "cut", "picture"}
    assert (tools["getPet"].description, tools["getPet"].read_only) == ("Read a pet.", True)
    assert [tool.name for tool in tools.values() if tool.requires_approval] == ["deletePet", "post_pets"]
    schema = tools["post_pets"].input_schema
    assert schema["properties"]["age"] == {"type": ["integer", "null"], "exclusiveMinimum": 0}
    assert (schema["required"], schema["properties"]["parent"]) == (["name"], {"$ref": "#/$defs/Pet"})


def test_arguments_reach_the_path_the_query_the_headers_and_the_body(tools):
    listed = tools["listPets"].call({"tag": ["a b", "c"], "X-Trace": "t"}).output
    assert (listed["path"], listed["trace"]) == ("/pets?tag=a%20b&tag=c", "t")
    assert tools["getPet"].call({"id": "a/b ?"}).output["path"] == "/pets/a%2Fb%20%3F"
    created = tools["post_pets"].call({"name": "Rex", "age": "3"}).output
    assert (created["method"], created["body"]) == ("POST", {"name": "Rex", "age": 3})


def test_a_registry_asks_before_operations_that_write(tools):
    registry = Registry()
    for tool in tools.values():
        registry.register(tool)
    assert registry.call(ToolCall("1", "getPet", {"id": "1"})).output["path"] == "/pets/1"
    assert registry.call(ToolCall("2", "deletePet", {"id": "1"})).error_type == "approval_required"


def test_credentials_are_sent_and_never_shown_to_the_model(tools):
    answer = tools["listPets"].call({}).output
    assert (answer["key"], answer["authorization"]) == ("secret", "Basic YW5uOnBhc3M=")
    assert set(tools["listPets"].input_schema["properties"]) == {"tag", "X-Trace"}


@pytest.mark.parametrize("segment", ["..", ".", ""])
def test_an_argument_cannot_leave_the_path_of_its_operation(tools, segment):
    assert "part of the path" in tools["getPet"].call({"id": segment}).error


def test_failures_are_errors_with_the_status_and_the_text(tools):
    missing = tools["getPet"].call({"id": "missing"})
    assert (missing.ok, missing.error_type, missing.metadata["status"]) == (False, "http_error", 404)
    assert missing.error.startswith("HTTP 404 Not Found\n")
    assert tools["move"].call({}).error.startswith("HTTP 302 Found to http://elsewhere.invalid/")
    assert "days" not in tools["getPet"].call({}).error
    cut = tools["cut"].call({})
    assert (cut.error_type, cut.error.partition(":")[0]) == ("connection_error", "cut failed")


def test_a_large_response_is_cut_and_a_picture_is_a_picture(tools):
    large = tools["large"].call({})
    assert (len(large.output) < 1_000_100, "only the first 1,000,000 bytes" in large.output) == (True, True)
    assert tools["picture"].call({}).content[0].kind == "image"


def test_a_call_ends_at_its_limit(tools):
    assert tools["slow"].call({}, context=Context(timeout=0.2)).error_type == "timeout_error"


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"swagger": "2.0"}, "convert it to OpenAPI 3"),
        ({"openapi": "3.1.0"}, "no `paths`"),
        ({"paths": {}}, "pass base_url"),
        ({"paths": {"/a/{b}": {"get": {}}}, "servers": [{"url": "https://a.example"}]}, "parameter b is not defined"),
        (
            {"paths": {"/a": {"get": {"parameters": [{"$ref": "#/x"}]}}}, "servers": [{"url": "https://a.example"}]},
            "#/x is not in the document",
        ),
    ],
)
def test_an_invalid_document_is_an_error_that_names_the_problem(document, message):
    with pytest.raises(ValueError, match=message):
        from_openapi(document)
