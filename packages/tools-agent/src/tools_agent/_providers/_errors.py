"""Errors of SDKs and APIs as ProviderError, each with its cause and what to do about it."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from json import JSONDecodeError

from tools_agent._providers._provider import ProviderError

# Kinds of error that providers report in a stream, after the status 200, and that pass.
_PASSING = {
    "api_error", "internal_error", "overloaded", "overloaded_error", "rate_limit_error", "rate_limit_exceeded",
    "server_error", "timeout_error",
}  # fmt: skip
_NO_CREDIT = {"billing_hard_limit_reached", "exceeded_current_quota_error", "insufficient_quota"}
_FAILED_BY_THE_MODEL = {"json_validate_failed", "tool_use_failed"}  # which another attempt may not do
# Bases of the errors of connections; the SDKs use httpx or httpx2 or aiohttp, whichever is installed.
_CONNECTION = {
    "APIConnectionError", "RequestError", "ClientConnectionError", "ClientPayloadError", "ConnectionError",
    "TimeoutError",
}  # fmt: skip
_NOT_CONNECTED = {"ConnectError", "ConnectTimeout", "ClientConnectorError", "ConnectionRefusedError", "gaierror"}
_NOT_AN_ADDRESS = {"InvalidURL", "UnsupportedProtocol"}
# The errors of functions, and of pydantic, for unknown arguments.
_UNKNOWN_SETTING = re.compile(r"unexpected keyword argument|extra_forbidden")
_NO_TOOLS = re.compile(
    r"(?i)(not|n't) support (\w+ )?(tool|function)|no endpoints found that support tool|enable-auto-tool-choice|"
    r"\b(tools?|functions?)\b.{0,20} (is|are) not (supported|enabled|available)"
)
_TOO_LONG = re.compile(
    r"(?i)context.?(length|limit|size|window)|maximum context|exceeds? the .*context|too many (input )?tokens|"
    r"\b(input|prompt|request|body) (is )?too (long|large)|messages.*too (long|many)|reduce the length|"
    r"(input|prompt) length|\b(inputs?|prompt)\b.* exceed|input token count|model token limit|max_new_tokens. must be"
)
_TOO_LARGE = re.compile(r"(?i)request too large")  # for a limit of tokens per minute, so that waiting does not help
_WAIT = re.compile(r"(?i)(?:try again in|retry (?:in|after)) (?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?) ?(ms|s))?")
_PAGE = re.compile(r"(?i)\s*<(!doctype|html|head|\?xml)")
_NO_ENDPOINT = re.compile(r"(?i)unexpected endpoint|method not allowed")
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
    causes: list[BaseException] = [error]
    while (cause := causes[-1].__cause__ or causes[-1].__context__) is not None and len(causes) < 8:
        causes.append(cause)
    names = {base.__name__ for cause in causes for base in type(cause).__mro__}
    reason = str(causes[-1]) or type(error).__name__
    if isinstance(error, UnicodeEncodeError) or reason.startswith("Illegal header"):
        return _key_error(provider, causes)
    if not _NOT_AN_ADDRESS.isdisjoint(names):
        return ProviderError(f"{provider}: cannot send requests to {address} ({reason}); check base_url")
    if _CONNECTION.isdisjoint(base.__name__ for base in type(error).__mro__):
        raise error
    return _connection_error(error, provider, address, reason, names)


def _key_error(provider: str, causes: list[BaseException]) -> ProviderError:
    """Return the error for a key that no header can have, and remove the key from its causes: tracebacks show them."""
    for cause in causes:
        if "Illegal header" in str(cause):
            cause.args = ("Illegal header value",)
    return ProviderError(f"{provider}: the API key is empty, or has characters that no key has, such as line breaks")


def _connection_error(error: Exception, provider: str, address: str, reason: str, names: set[str]) -> ProviderError:
    if not _NOT_CONNECTED.isdisjoint(names):
        text = f"cannot connect to {address} ({reason}); check base_url, and that the server runs"
    elif "Timeout" in type(error).__name__:
        text = f"no answer in time ({str(error) or type(error).__name__})"
    else:
        text = f"the connection to {address} was cut ({reason})"
    return ProviderError(f"{provider}: {text}", retryable=True)


def unreadable(provider: str, address: str, text: str) -> ProviderError:
    """Return the error for a response that is not JSON."""
    if text.lstrip()[:1] in ("{", "[") or "data:" in text[:20]:
        return ProviderError(f"{provider}: the server sent invalid JSON: {text[:200]}", retryable=True)
    sent = "a page (HTML)" if _PAGE.match(text) else f"other text: {text.strip()[:100]!r}"
    ending = ", which often ends in /v1" if provider.startswith("openai") else ""
    return ProviderError(f"{provider}: no model server answers at {address}, which sent {sent}; check base_url{ending}")


def reported_error(
    provider: str, body: object, status: int | None = None, headers: Mapping[str, str] | None = None
) -> ProviderError:
    """Return the error that a provider reports in the body of a response or in an event of its stream."""
    body = body[0] if isinstance(body, list) and len(body) == 1 else body  # Gemini's
    error: Mapping[str, object] = body if isinstance(body, Mapping) else {}
    if isinstance(inner := error.get("error"), Mapping):
        error = inner
    kinds = {str(error.get(key)) for key in ("type", "code", "status")}
    if status is None:  # as gateways report the failure of a model's server
        status = next((int(kind) for kind in kinds if re.fullmatch("[1-5][0-9][0-9]", kind)), None)
    text = _text_of(error, body)
    is_too_long = status == 413 or (_TOO_LARGE if status == 429 else _TOO_LONG).search(text) is not None
    passes = not _PASSING.isdisjoint(kinds) if status in (None, 200) else status in (408, 409, 429) or status >= 500
    passes = passes and _NO_CREDIT.isdisjoint(kinds) and not is_too_long
    passes = passes or not _FAILED_BY_THE_MODEL.isdisjoint(kinds)
    should_retry = (headers or {}).get("x-should-retry")
    hint = _hint(text, status)
    return ProviderError(
        f"{provider}: {f'{status} ' if status and status != 200 else ''}{text}{f'; {hint}' if hint else ''}",
        status=status,
        retryable=should_retry == "true" if should_retry in ("true", "false") else passes,
        retry_after=_retry_after(headers or {}, body),
        is_too_long=is_too_long,
    )


def failure_in(chunk: Mapping[str, object]) -> Mapping[str, object] | None:
    """Return the failure that a chunk of a reply reports, in any of the forms that servers use; None for others."""
    if error := chunk.get("error"):
        return chunk if isinstance(error, Mapping) or isinstance(chunk.get("message"), str) else {"message": error}
    is_failure = isinstance(chunk.get("message"), str) and ("code" in chunk or chunk.get("object") == "error")
    return chunk if is_failure else None


def _text_of(error: Mapping[str, object], body: object) -> str:
    """Return what a server says about a failure, and what the server behind a gateway says."""
    messages = [error.get(key) for key in ("message", "error", "detail", "msg")]
    message = next((each for each in messages if each and each is not True), body or "no reason given")
    text = message if isinstance(message, str) else str(message)
    if _PAGE.match(text):
        return "the server sent a page (HTML) instead of an error"
    metadata = error.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, Mapping) else None
    return f"{text}: {raw}"[:2_000] if isinstance(raw, str) and raw else text[:2_000]


def _hint(text: str, status: int | None) -> str:
    """Return what to do about an error."""
    if _NO_TOOLS.search(text):
        return "choose another model, or wrap the provider in TextMode"
    return "check base_url" if _NO_ENDPOINT.search(text) else _HINTS.get(status or 0, "")


def _retry_after(headers: Mapping[str, str], body: object) -> float | None:
    """Return the seconds that a provider asks to wait, None if it does not."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        if re.fullmatch(r"\d+(\.\d+)?", text := headers.get(name, "")):
            return float(text) * unit
    try:
        return max(0.0, parsedate_to_datetime(headers.get("retry-after", "")).timestamp() - time.time())
    except ValueError:
        pass
    if in_body := re.search(r"""["']retryDelay["']: ["'](\d+(?:\.\d+)?)s""", str(body)):  # Gemini
        return float(in_body[1])
    wait = _WAIT.search(str(body))
    hours, minutes, seconds, word = wait.groups(default="") if wait else ("", "", "", "")
    in_seconds = float(seconds or 0) * (0.001 if word == "ms" else 1)
    return int(hours or 0) * 3_600 + int(minutes or 0) * 60 + in_seconds if hours or minutes or seconds else None
