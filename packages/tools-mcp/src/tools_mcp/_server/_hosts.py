"""Names and addresses that a server is reached by."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit

from mcp.server.transport_security import TransportSecuritySettings

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


def is_loopback(host: str) -> bool:
    """Return whether only programs on this machine can reach a server on this host."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def in_url(host: str) -> str:
    """Return a host as URLs have it."""
    return f"[{host}]" if ":" in host else host


def checks(host: str, url: str | None) -> TransportSecuritySettings:
    """Return the hosts and origins that requests may name, so that a page in a browser cannot reach the server.

    A server on all addresses without a URL has names that it does not know: there its token is the protection.
    """
    public = urlsplit(url or "")
    names = list(_LOOPBACK) if is_loopback(host) else [in_url(host)]
    hosts = [pattern for name in names for pattern in (name, f"{name}:*")] + [public.netloc] * bool(url)
    origins = [f"http://{name}" for name in hosts[: 2 * len(names)]] + [f"{public.scheme}://{public.netloc}"] * bool(
        url
    )
    is_known = url is not None or host.strip("[]") not in ("0.0.0.0", "::", "")  # noqa: S104  (not bound here)
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=is_known, allowed_hosts=hosts, allowed_origins=origins
    )
