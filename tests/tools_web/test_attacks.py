"""Addresses and servers that attack whoever fetches for a model."""

from __future__ import annotations

import gzip
import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tools_core import Context
from tools_web import WebTools

INSIDE = [
    "http://127.0.0.1:{port}/",
    "http://localhost:{port}/",
    "http://LOCALHOST.:{port}/",
    "http://127.1:{port}/",
    "http://0:{port}/",
    "http://0.0.0.0:{port}/",
    "http://2130706433:{port}/",
    "http://0x7f000001:{port}/",
    "http://0177.0.0.1:{port}/",
    "http://127.0.0.1.:{port}/",
    "http://[::1]:{port}/",
    "http://[::]:{port}/",
    "http://[::ffff:127.0.0.1]:{port}/",
    "http://[::ffff:7f00:1]:{port}/",
    "http://[0:0:0:0:0:ffff:7f00:1]:{port}/",
    "http://[::127.0.0.1]:{port}/",
    "http://[64:ff9b::7f00:1]:{port}/",
    "http://[2002:7f00:1::]:{port}/",
    "http://[fe80::1]:{port}/",
    "http://[fd00::1]:{port}/",
    "http://[ff02::1]:{port}/",
    "http://169.254.169.254/latest/meta-data/",
    "http://10.0.0.1/",
    "http://172.16.0.1/",
    "http://192.168.0.1/",
    "http://100.64.0.1/",
    "http://224.0.0.1/",
    "http://255.255.255.255/",
    "http://①②⑦.⓪.⓪.①:{port}/",
    "http://127。0。0。1:{port}/",
    "http://ⓛocalhost:{port}/",
    "http://user:secret@127.0.0.1:{port}/",
    "http://example.org@127.0.0.1:{port}/",
    "http://127.0.0.1:{port}#@example.org/",
    "http://127.0.0.1:{port}\\@example.org/",
    "http://127.0.0.1:22/",
    "file:///etc/passwd",
    "data:text/plain,hello",
    "ftp://127.0.0.1/",
    "gopher://127.0.0.1:{port}/_",
    "javascript:alert(1)",
    "//127.0.0.1:{port}/",
    "",
    "http://",
    "http://[::1",
    "http://exa mple.org/",
    "http://example.org:99999/",
    "http://[fe80::1%25eth0]/",
    "http://[::ffff:0:127.0.0.1]:{port}/",
    "http://[2001:0:7f00:1::]/",
    "http://[64:ff9b:1::7f00:1]/",
    "http://192.0.0.192/",
    "http://168.63.129.16/",
    "http://198.18.0.1/",
    "http://[fd00:ec2::254]/",
    "http://127.0.0.1%00.example.org:{port}/",
    "http:/127.0.0.1:{port}/",
    "http://127.0.0.1\t:{port}/",
    "http://127.0.0.1:{port}/\r\nHost: x",
    "http://localhost%23@example.org/",
    "http+unix://%2fvar%2frun%2fdocker.sock/",
]


@pytest.fixture
def server():
    """`server.replies[path]` is a function of the handler; `server.paths` are those that were asked for."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            self.server.paths.append(self.path)
            self.server.headers.append(dict(self.headers))
            self.server.replies.get(self.path, lambda handler: send(handler, b"inside"))(self)

        do_POST = do_GET

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.paths, server.headers, server.replies = [], [], {}
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def send(handler, body, status=200, **headers):
    handler.send_response(status)
    for name, value in {"Content-Type": "text/plain", **headers}.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def allowing(server, **settings):
    return WebTools({"private": [f"127.0.0.1:{server.server_port}"], **settings})


def fetch(tools, url, **arguments):
    return tools.tool("web_fetch").call({"url": url, **arguments}, Context(run_id=url))


@pytest.mark.parametrize("address", INSIDE)
@pytest.mark.parametrize("name", ["web_fetch", "http_request"])
def test_no_address_leads_into_a_private_network(name, address, server):
    arguments = {"url": address.replace("{port}", str(server.server_port))}
    arguments |= {"method": "GET"} if name == "http_request" else {}
    result = WebTools({}).tool(name).call(arguments)
    assert not result.ok
    assert server.paths == []


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize(
    "place", ["http://localhost:{port}/secret", "http://[::1]:{port}/", "file:///etc/passwd", "//0:{port}/"]
)
def test_a_redirect_is_checked_like_the_first_address(status, place, server):
    target = place.replace("{port}", str(server.server_port))
    server.replies["/"] = lambda handler: send(handler, b"", status, Location=target)
    result = fetch(allowing(server), f"http://127.0.0.1:{server.server_port}/")
    assert (result.error_type, server.paths) == ("denied", ["/"])


def test_the_connection_uses_the_checked_address(server, monkeypatch):
    answers = iter([[("93.184.215.14", 0)], [("127.0.0.1", server.server_port)]])
    lookups = []

    def resolve(host, port, *_, **__):
        lookups.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", address) for address in next(answers)]

    tried = []
    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    monkeypatch.setattr(socket, "create_connection", lambda address, *_, **__: tried.append(address[0]) or refuse())
    fetch(WebTools({}), f"http://rebinding.example:{server.server_port}/")
    assert (lookups[0], tried) == ("rebinding.example", ["93.184.215.14"])


def refuse():
    raise ConnectionRefusedError("nobody is there")


def test_one_private_address_among_several_is_enough_to_refuse(server, monkeypatch):
    addresses = [("93.184.215.14", 80), ("127.0.0.1", 80)]
    infos = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", address) for address in addresses]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: infos)
    assert fetch(WebTools({}), "http://mixed.example/").error_type == "denied"


@pytest.mark.slow
def test_a_small_body_that_grows_is_refused(server):
    bomb = gzip.compress(bytes(200_000_000), 9)
    server.replies["/"] = lambda handler: send(handler, bomb, Content_Encoding="gzip")
    result = fetch(allowing(server), f"http://127.0.0.1:{server.server_port}/")
    assert result.error_type == "limit_exceeded"


@pytest.mark.parametrize("encoding", ["br", "deflate", "zstd", "gzip, gzip", "compress"])
def test_an_encoding_that_was_not_asked_for_is_refused(encoding, server):
    server.replies["/"] = lambda handler: send(handler, b"\x1f\x8b\x08", Content_Encoding=encoding)
    assert not fetch(allowing(server), f"http://127.0.0.1:{server.server_port}/").ok


def test_a_chunked_body_is_joined_and_a_truncated_one_is_an_error(server):
    parts = gzip.compress(b"one ") + gzip.compress(b"two")
    server.replies["/whole"] = lambda handler: send(handler, parts, Content_Encoding="gzip")
    server.replies["/cut"] = lambda handler: send(handler, parts[:-10], Content_Encoding="gzip")
    address = f"http://127.0.0.1:{server.server_port}"
    assert fetch(allowing(server), f"{address}/whole").output == "one two"
    assert fetch(allowing(server), f"{address}/cut").error == "the body ends in the middle"


PAGES = {
    "elements": b"<html><body>" + b"<div>" * 1_900_000,
    "attributes": b"<html><body><p " + b" ".join(b"a%d=1" % number for number in range(800_000)) + b">x",
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", PAGES)
def test_a_page_that_takes_a_parser_too_long_is_an_error(kind, server):
    server.replies["/"] = lambda handler: send(handler, PAGES[kind], Content_Type="text/html")
    result = fetch(allowing(server), f"http://127.0.0.1:{server.server_port}/")
    assert (result.error_type, "try format='raw'" in result.error) == ("limit_exceeded", True)


@pytest.mark.slow
def test_elements_in_each_other_do_not_multiply_a_page(server):
    page = b"<html><body>" + b"<div>" * 50_000 + b"x" * 100_000
    server.replies["/"] = lambda handler: send(handler, page, Content_Type="text/html")
    result = fetch(allowing(server), f"http://127.0.0.1:{server.server_port}/", selector="div", format="html")
    assert not result.ok


@pytest.mark.parametrize(
    ("mark", "encoding"), [(b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")]
)
def test_a_byte_order_mark_outweighs_the_charset(mark, encoding, server):
    body = mark + "ü".encode(encoding)
    server.replies["/"] = lambda handler: send(handler, body, Content_Type="text/plain; charset=latin-1")
    assert fetch(allowing(server), f"http://127.0.0.1:{server.server_port}/").output == "ü"


@pytest.mark.parametrize("charset", ["nonsense", "hex", "punycode", "undefined", "idna", "ut\x01f"])
def test_an_unknown_charset_is_read_as_utf_8(charset, server):
    server.replies["/"] = lambda handler: send(handler, "ü".encode(), Content_Type=f"text/plain; charset={charset}")
    arguments = {"method": "GET", "url": f"http://127.0.0.1:{server.server_port}/"}
    assert allowing(server).tool("http_request").call(arguments).output["body"] == "ü"


@pytest.mark.parametrize(
    ("headers", "error_type"),
    [
        ({"Host": "admin.example"}, "denied"),
        ({"content-length": "5"}, "denied"),
        ({"Transfer-Encoding": "chunked"}, "denied"),
        ({"proxy-connection": "close"}, "denied"),
        ({"X": "a\r\nHost: admin.example"}, "validation_error"),
        ({"X\nHost": "admin.example"}, "validation_error"),
        ({"Host:": "admin.example"}, "validation_error"),
        ({"X": "ü"}, "validation_error"),
        ({"": "x"}, "validation_error"),
        ({"X-HTTP-Method-Override": "DELETE"}, "denied"),
    ],
)
def test_a_header_of_the_model_names_no_other_site(headers, error_type, server):
    arguments = {"method": "GET", "url": f"http://127.0.0.1:{server.server_port}/", "headers": headers}
    result = allowing(server).tool("http_request").call(arguments)
    assert (result.error_type, server.paths) == (error_type, [])


def test_redirects_in_a_circle_end(server):
    server.replies["/"] = lambda handler: send(handler, b"", 302, Location="/")
    result = fetch(allowing(server), f"http://127.0.0.1:{server.server_port}/")
    assert (result.error_type, len(server.paths)) == ("limit_exceeded", 6)


@pytest.mark.parametrize(
    "sent", [b"", b"HTTP/1.1 200 OK\r\nX-1: a\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx"]
)
def test_a_reply_that_stops_in_the_middle_ends_with_the_call(sent, server):
    context, stopped = Context(), threading.Event()

    def stop(handler):
        handler.wfile.write(sent)
        context.cancel()
        stopped.wait(30)

    server.replies["/"] = stop
    address = f"http://127.0.0.1:{server.server_port}/"
    result = allowing(server).tool("web_fetch").call({"url": address}, context)
    stopped.set()
    assert result.error_type == "cancelled"


def test_a_body_that_never_ends_ends_with_the_call(server):
    context, stopped = Context(), threading.Event()

    def drip(handler):
        handler.send_response(200)
        handler.send_header("Content-Type", "text/plain")
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        try:
            while not stopped.is_set():
                handler.wfile.write(b"1\r\nx\r\n")
                context.cancel()
        except OSError:
            stopped.set()

    server.replies["/"] = drip
    address = f"http://127.0.0.1:{server.server_port}/"
    assert allowing(server).tool("web_fetch").call({"url": address}, context).error_type == "cancelled"
    stopped.set()


@pytest.mark.parametrize(
    ("settings", "address"),
    [
        ({"deny": ["127.0.0.1"]}, "http://127.0.0.1:{port}/"),
        ({"allow": ["example.org"]}, "http://127.0.0.1:{port}/"),
        ({"deny": ["example.org"]}, "http://www.example.org/"),
        ({"deny": ["example.org"]}, "http://WWW.EXAMPLE.ORG./"),
        ({"deny": ["127.0.0.1"]}, "http://2130706433:{port}/"),
        ({"deny": ["*.example.org"]}, "http://www.example.org/"),
        ({"deny": [".example.org"]}, "http://example.org/"),
        ({"deny": ["bücher.example"]}, "http://www.xn--bcher-kva.example/"),
        ({"deny": ["bücher.example"]}, "http://www.BÜCHER。example/"),
        ({"deny": ["[2001:4860:4860::8888]"]}, "http://[2001:4860:4860:0::8888]/"),
    ],
)
def test_the_lists_of_hosts_bind(settings, address, server):
    result = fetch(allowing(server, **settings), address.replace("{port}", str(server.server_port)))
    assert (result.error_type, server.paths) == ("denied", [])


@pytest.mark.parametrize("private", ["::1", "[::1]", "[::1]:{port}"])
def test_a_private_ipv6_host_is_written_as_in_addresses(private):
    try:
        listener = socket.create_server(("::1", 0), family=socket.AF_INET6)
    except OSError:
        pytest.skip("there is no IPv6")
    with listener:
        port = listener.getsockname()[1]

        def answer():
            connection, _ = listener.accept()
            with connection:
                connection.recv(1 << 16)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nhi")

        threading.Thread(target=answer, daemon=True).start()
        tools = WebTools({"private": [private.replace("{port}", str(port))]})
        assert fetch(tools, f"http://[::1]:{port}/").output == "hi"


def test_a_credential_goes_to_its_hosts_and_is_never_shown(server, monkeypatch):
    monkeypatch.setenv("SHOP_TOKEN", 's3cr3t-value "of" two')
    credentials = {
        "shop": {"hosts": ["127.0.0.1"], "env": "SHOP_TOKEN"},
        "bank": {"hosts": ["bank.example"], "env": "SHOP_TOKEN"},
    }
    server.replies["/echo"] = lambda handler: send(handler, handler.headers["Authorization"].encode())
    server.replies["/json"] = lambda handler: send(handler, json.dumps(dict(handler.headers)).encode())
    request = allowing(server, credentials=credentials).tool("http_request")
    arguments = {"method": "GET", "url": f"http://127.0.0.1:{server.server_port}/echo"}
    result = request.call({**arguments, "credential": "shop", "headers": {"authorization": "mine"}})
    assert server.headers[-1]["Authorization"] == 'Bearer s3cr3t-value "of" two'
    assert result.output["body"] == "Bearer ***"
    assert request.call({**arguments, "credential": "bank"}).error_type == "denied"
    assert len(server.paths) == 1
    result = request.call({**arguments, "url": arguments["url"].replace("echo", "json"), "credential": "shop"})
    assert "Bearer ***" in result.content and "s3cr3t" not in result.to_json()


def test_a_method_that_changes_something_asks_first(server):
    arguments = {"method": "POST", "url": f"http://127.0.0.1:{server.server_port}/", "json": {"a": 1}}
    assert allowing(server).tool("http_request").call(arguments).error_type == "answer_required"
    assert server.paths == []


@pytest.mark.parametrize(
    "path",
    ["../out.txt", "/etc/out.txt", "link/out.txt", ".git/hooks/pre-commit", "", ".", "a/..", ".envrc", "bare/HEAD"],
)
def test_a_download_stays_in_the_workspace(path, server, tmp_path):
    workspace = tmp_path / "work"
    workspace.mkdir()
    (workspace / "link").symlink_to(tmp_path)
    for folder in ("bare/objects", "bare/refs"):
        (workspace / folder).mkdir(parents=True)
    arguments = {"url": f"http://127.0.0.1:{server.server_port}/", "path": path}
    result = allowing(server).tool("web_download").call(arguments, Context(workspace=workspace))
    assert result.error_type == "denied"
    assert sorted(entry.name for entry in tmp_path.rglob("*")) == ["bare", "link", "objects", "refs", "work"]


@pytest.mark.parametrize(("path", "reason"), [("folder", "Is a directory"), ("file/x", "exists"), ("a\0b", "null")])
def test_a_download_that_cannot_be_written_says_why(path, reason, server, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    arguments = {"url": f"http://127.0.0.1:{server.server_port}/", "path": path, "overwrite": True}
    result = allowing(server).tool("web_download").call(arguments, Context(workspace=tmp_path))
    assert result.error.startswith(f"{path!r} cannot be written: ")
    assert reason in result.error
    assert sorted(entry.name for entry in tmp_path.rglob("*")) == ["file", "folder"]


def test_a_failed_download_leaves_no_file(server, tmp_path):
    server.replies["/"] = lambda handler: send(handler, b"no", 404)
    arguments = {"url": f"http://127.0.0.1:{server.server_port}/", "path": "a/b/c.txt"}
    result = allowing(server).tool("web_download").call(arguments, Context(workspace=tmp_path))
    assert (result.error_type, list(tmp_path.iterdir())) == ("not_found", [])


def test_a_download_replaces_no_settings_in_a_home(server, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / ".config"))
    arguments = {"url": f"http://127.0.0.1:{server.server_port}/", "path": ".config/ask-tools/settings.toml"}
    result = allowing(server).tool("web_download").call(arguments, Context(workspace=tmp_path))
    assert (result.error_type, server.paths) == ("denied", [])


def test_a_read_only_process_can_only_read(server, tmp_path, monkeypatch):
    monkeypatch.setenv("ASK_TOOLS_READ_ONLY", "1")
    tools, address = allowing(server), f"http://127.0.0.1:{server.server_port}/"
    download = tools.tool("web_download").call({"url": address, "path": "x"}, Context(workspace=tmp_path))
    request = tools.tool("http_request").call({"method": "POST", "url": address})
    assert (download.error_type, request.error_type, server.paths) == ("denied", "denied", [])


@pytest.mark.parametrize("hosts", ["127.0.0.1 is mine", "", {"127.0.0.1": 1}, [1], ["http://127.0.0.1/"]])
def test_hosts_of_a_credential_are_a_list(hosts, server, monkeypatch):
    monkeypatch.setenv("SHOP_TOKEN", "s3cr3t")
    tools = allowing(server, credentials={"shop": {"hosts": hosts, "env": "SHOP_TOKEN"}})
    address = f"http://127.0.0.1:{server.server_port}/"
    result = tools.tool("http_request").call({"method": "GET", "url": address, "credential": "shop"})
    assert "must be a list of hosts" in result.error
    assert server.paths == []


def test_a_host_of_a_credential_is_written_in_any_case(server, monkeypatch):
    monkeypatch.setenv("SHOP_TOKEN", "s3cr3t")
    credentials = {"shop": {"hosts": ["LocalHost"], "env": "SHOP_TOKEN"}}
    tools = WebTools({"credentials": credentials})
    result = tools.tool("http_request").call({"method": "GET", "url": "https://LOCALHOST/", "credential": "shop"})
    assert "is in a private network" in result.error


@pytest.mark.parametrize("secret", ["s3cr3t\n", "s3cr3t\r\nHost: admin.example", "s3cr3t-ü"])
def test_a_secret_that_no_header_can_have_is_not_shown(secret, server, monkeypatch):
    monkeypatch.setenv("SHOP_TOKEN", secret)
    tools = allowing(server, credentials={"shop": {"hosts": ["127.0.0.1"], "env": "SHOP_TOKEN"}})
    address = f"http://127.0.0.1:{server.server_port}/"
    result = tools.tool("http_request").call({"method": "GET", "url": address, "credential": "shop"})
    assert "SHOP_TOKEN" in result.error
    assert "s3cr3t" not in result.to_json()
    assert server.paths == []
