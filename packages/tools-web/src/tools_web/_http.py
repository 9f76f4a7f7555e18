"""Requests to public addresses: each host is resolved once, checked, and connected to by the address that was checked."""

import ipaddress
import re
import socket
import zlib
from collections.abc import Generator, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from typing import Any

import httpx2
from tools_core import Context, ToolError

from tools_web._settings import Settings, host_of

RESERVED = re.compile(  # headers that name another site or method, or frame another body, than was checked
    "(?i)host|content-length|transfer-encoding|connection|keep-alive|upgrade|te|trailer|expect|accept-encoding"
    "|proxy-.*|x-(http-)?method(-override)?"
)
_HEADERS = {"User-Agent": "ask-tools (tools-web)", "Accept-Encoding": "gzip"}
_PORTS = {"http": 80, "https": 443}
_MAX_REDIRECTS = 5
_MAX_PIECE = 1 << 16
_UNICAST = ipaddress.IPv6Network("2000::/3")
_METADATA = [ipaddress.ip_network(text) for text in ("192.0.0.0/24", "168.63.129.16")]  # in clouds of Oracle and Azure


class Transport(httpx2.HTTPTransport):
    """Sends requests to checked addresses, and ends connections when the call is cancelled or its time is over."""

    def __init__(self, settings: Settings, context: Context, closing: ExitStack) -> None:
        # No connection is used again: its certificate is that of one host, and another may have the same address.
        super().__init__(limits=httpx2.Limits(max_keepalive_connections=0))
        self._settings, self._context, self._closing = settings, context, closing

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request to the address of its host, which is still in its headers."""
        url = request.url.copy_with(host=address_of(request.url, self._settings))
        extra = {**request.extensions, "sni_hostname": host_of(request.url), "trace": self._trace}
        sent = httpx2.Request(request.method, url, headers=request.headers, stream=request.stream, extensions=extra)
        return super().handle_request(sent)

    def _trace(self, event: str, info: Mapping[str, Any]) -> None:
        if event in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            connection = info["return_value"].get_extra_info("socket")
            self._closing.callback(self._context.on_cancel(partial(_shut_down, connection)))


def _shut_down(connection: socket.socket) -> None:
    with suppress(OSError):
        socket.socket.shutdown(connection, socket.SHUT_RDWR)  # while another thread waits for the rest of a header


def address_of(url: httpx2.URL, settings: Settings) -> str:
    """Return the address to connect to. Raises ToolError for one that the user or this package does not allow."""
    host, port = host_of(url), url.port or _PORTS.get(url.scheme, 0)
    if url.scheme not in _PORTS or not host or url.userinfo or (port < 1024 and port not in _PORTS.values()):
        raise ToolError(f"only http(s) addresses without user name, at usual ports, not {str(url)[:99]!r}", "denied")
    may_be_private = settings.check(host, port)
    try:
        infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise ToolError(f"{host} was not found: {error}", "not_found") from error
    addresses = [str(entry[4][0]).partition("%")[0] for entry in infos]
    if not may_be_private and not all(map(is_public, addresses)):
        raise ToolError(f"{host} is in a private network; the user can list it in [web] private", "denied")
    return addresses[0]


def is_public(text: str) -> bool:
    """Return whether an address is reachable from everywhere; forms of IPv6 with an IPv4 address inside are not."""
    address = ipaddress.ip_address(text)
    if isinstance(address, ipaddress.IPv6Address) and (address not in _UNICAST or address.teredo or address.sixtofour):
        return False
    return address.is_global and not address.is_multicast and not any(address in network for network in _METADATA)


@contextmanager
def request(
    settings: Settings, context: Context, method: str, url: str, *, is_page: bool = True, **content: Any
) -> Generator[httpx2.Response]:
    """Send a request with a content for httpx2, and give the response; that of a page after redirects, each checked."""
    try:
        with ExitStack() as stack:
            transport = Transport(settings, context, stack)
            client = stack.enter_context(httpx2.Client(transport=transport, timeout=10, headers=_HEADERS))  # of silence
            sent = client.build_request(method, url, **content)
            for _ in range(_MAX_REDIRECTS + 1):
                response = stack.enter_context(closing(client.send(sent, stream=True)))
                if not is_page or response.next_request is None:
                    break
                sent = response.next_request
            else:
                raise ToolError(f"{url[:200]} redirects more than {_MAX_REDIRECTS} times", "limit_exceeded")
            if is_page and not response.is_success:
                kind = "unavailable" if response.status_code == 429 or response.is_server_error else "not_found"
                raise ToolError(f"the server answered {response.status_code} for {response.url}", kind)
            yield response
    except (httpx2.InvalidURL, httpx2.LocalProtocolError, UnicodeEncodeError) as error:
        raise ToolError(f"this cannot be sent to {url[:200]!r}: {error}", "validation_error") from error
    except (httpx2.HTTPError, zlib.error) as error:
        if context.cancelled:
            raise ToolError("the call was cancelled", "cancelled") from error
        raise ToolError(f"no answer from {url[:200]}: {str(error) or type(error).__name__}", "unavailable") from error


def pieces(response: httpx2.Response, limit: int) -> Iterator[bytes]:
    """Yield the body in pieces of a bounded size, whatever it is compressed to. Raises ToolError for a longer one."""
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "gzip", "x-gzip"):
        raise ToolError(f"the server sent the encoding {encoding!r}, which was not asked for")
    decoder, size = None, 0
    for data in response.iter_raw(_MAX_PIECE):
        while data:
            if encoding == "identity":
                piece, data = data, b""
            else:  # httpx2 ends after the first of several parts, and at one that is cut off
                decoder = zlib.decompressobj(zlib.MAX_WBITS | 16) if decoder is None or decoder.eof else decoder
                piece = decoder.decompress(data, _MAX_PIECE)
                data = decoder.unconsumed_tail or decoder.unused_data
            size += len(piece)
            if size > limit:
                raise ToolError(f"the body has more than {limit:,} bytes", "limit_exceeded")
            yield piece
    if decoder is not None and not decoder.eof:
        raise ToolError("the body ends in the middle", "unavailable")
