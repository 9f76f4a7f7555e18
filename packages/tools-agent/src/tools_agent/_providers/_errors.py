"""Errors of SDKs and APIs as ProviderError, each with its cause and what to do about it."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from json import JSONDecodeError
from typing import Any

from tools_agent._providers._provider import ProviderError

# Kinds of error that providers report in a stream, after the status 200, and that pass.
_PASSING = {
    "api_error", "internal_error", "overloaded", "overloaded_error", "rate_limit_error", "rate_limit_exceeded",
    "server_error", "timeout_error",
}  # fmt: skip
# Bases of the errors of connections; the SDKs use httpx or httpx2 or aiohttp, whichever is installed.
_CONNECTION = {
    "APIConnectionError", "TransportError", "ClientConnectionError", "ClientPayloadError", "ConnectionError",
    "TimeoutError",
}  # fmt: skip
_NOT_CONNECTED = {"ConnectError", "ConnectTimeout", "ClientConnectorError", "ConnectionRefusedError", "gaierror"}
# The errors of functions, and of pydantic, for unknown arguments.
_UNKNOWN_SETTING = re.compile(r"unexpected keyword argument|extra_forbidden")
_NO_TOOLS = re.compile(r"(?i)(not|n't) support (\w+ )?(tool|function)|no endpoints found that support tool")
_TOO_LONG = re.compile(
    r"(?i)context.?(length|limit|size|window)|prompt is too long|too many (input )?tokens|input token count|"
    r"maximum context|exceeds? the .*context"
)
_PAGE = re.compile(r"(?i)\s*<(!doctype|html|head|\?xml)")
_HINTS = {401: "check the API key", 403: "check the API key", 404: "check base_url and the name of the model"}


def provider_error(error: Exception, provider: str, address: str) -> ProviderError:
    """Return an SDK's error as ProviderError; raises an error that is not about the API unchanged."""
    if isinstance(error, ProviderError):
        return error
    status = getattr(error, "status_code", None) or getattr(error, "code", None)
    body = getattr(error, "body", None) or getattr(error, "details", None)
    if isinstance(status, int) or isinstance(body, Mapping):
        headers = getattr(getattr(error, "response", None), "headers", None)
        return reported_error(provider, body or str(error), status if isinstance(status, int) else None, headers)
    not_json = error if isinstance(error, JSONDecodeError) else error.__cause__  # Gemini's SDK wraps it
    if isinstance(not_json, JSONDecodeError):
        return unreadable(provider, address, not_json.doc)
    if isinstance(error, TypeError | ValueError) and _UNKNOWN_SETTING.search(str(error)):
        return ProviderError(f"{provider}: the SDK rejects a name in `settings`: {error}")
    if type(error).__name__ == "ValidationError" and str(getattr(error, "title", "")).endswith("Response"):  # Gemini's
        return ProviderError(f"{provider}: expected an event of its API, the server sent something else: {error}")
    if _CONNECTION.isdisjoint(base.__name__ for base in type(error).__mro__):
        raise error
    return _connection_error(error, provider, address)


def _connection_error(error: Exception, provider: str, address: str) -> ProviderError:
    causes: list[BaseException] = [error]
    while (cause := causes[-1].__cause__ or causes[-1].__context__) is not None and len(causes) < 8:
        causes.append(cause)
    names = {base.__name__ for cause in causes for base in type(cause).__mro__}
    reason = str(causes[-1]) or type(error).__name__
    if not _NOT_CONNECTED.isdisjoint(names):
        text = f"cannot connect to {address} ({reason}); check base_url, and that the server runs"
    elif "Timeout" in type(error).__name__:
        text = f"no answer in time ({str(error) or type(error).__name__})"
    else:
        text = f"the connection to {address} was cut ({reason})"
    return ProviderError(f"{provider}: {text}", retryable=True)


def unreadable(provider: str, address: str, text: str) -> ProviderError:
    """Return the error for a response that is not JSON."""
    if text.lstrip()[:1] in ("{", "[", '"') or "data:" in text[:20]:
        return ProviderError(f"{provider}: the server sent invalid JSON: {text[:200]}", retryable=True)
    sent = "a page (HTML)" if _PAGE.match(text) else f"other text: {text.strip()[:100]!r}"
    ending = ", which often ends in /v1" if provider.startswith("openai") else ""
    return ProviderError(f"{provider}: no model server answers at {address}, which sent {sent}; check base_url{ending}")


def reported_error(
    provider: str, body: Any, status: int | None = None, headers: Mapping[str, str] | None = None
) -> ProviderError:
    """Return the error that a provider reports in the body of a response or in an event of its stream."""
    error: Any = body if isinstance(body, Mapping) else {}
    error = error["error"] if isinstance(error.get("error"), Mapping) else error
    if status is None and isinstance(error.get("code"), int):  # as gateways report the failure of a model's server
        status = error["code"]
    kinds = {str(error.get(key)) for key in ("type", "code", "status")}
    passes = not _PASSING.isdisjoint(kinds) if status in (None, 200) else status in (408, 409, 429) or status >= 500
    passes = passes and "insufficient_quota" not in kinds
    should_retry = (headers or {}).get("x-should-retry")
    message = error.get("message") or error.get("error") or body or "no reason given"
    text = message if isinstance(message, str) else str(message)
    text = "the server sent a page (HTML) instead of an error" if _PAGE.match(text) else text[:2_000]
    hint = _hint(text, status)
    return ProviderError(
        f"{provider}: {f'{status} ' if status and status != 200 else ''}{text}{f'; {hint}' if hint else ''}",
        status=status,
        retryable=should_retry == "true" if should_retry in ("true", "false") else passes,
        retry_after=_retry_after(headers or {}, body),
        is_too_long=_TOO_LONG.search(text) is not None or status == 413,
    )


def _hint(text: str, status: int | None) -> str:
    """Return what to do about an error."""
    if _NO_TOOLS.search(text):
        return "choose another model, or wrap the provider in TextMode"
    return _HINTS.get(status or 0, "")


def _retry_after(headers: Mapping[str, str], body: Any) -> float | None:
    """Return the seconds that a provider asks to wait, None if it does not."""
    if (milliseconds := headers.get("retry-after-ms", "")).isdecimal():
        return int(milliseconds) / 1_000
    text = headers.get("retry-after", "")
    if re.fullmatch(r"\d+(\.\d+)?", text):
        return float(text)
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except ValueError:
        in_body = re.search(r"""["']retryDelay["']: ["'](\d+(?:\.\d+)?)s""", str(body))  # Gemini
        return float(in_body[1]) if in_body else None
