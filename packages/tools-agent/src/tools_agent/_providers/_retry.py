"""`Retry`: when to retry a failed request; and the errors of SDKs as ProviderError."""

from __future__ import annotations

import asyncio
import random
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from json import JSONDecodeError
from typing import Any

from tools_agent._events import Retrying
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
# The errors of functions, and of pydantic, for unknown arguments.
_UNKNOWN_SETTING = re.compile(r"unexpected keyword argument|extra_forbidden")


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """Retry requests after overload, rate limits, timeouts and broken connections.

    Args:
        attempts: The maximum number of attempts.
        first_delay: Seconds before the second attempt, doubled for each later one, unless the provider sets the delay.
        longest_delay: The longest delay. If the provider asks for a longer one, the request fails.
        sleep: Waits in synchronous runs.
        async_sleep: Waits in asynchronous runs.
    """

    attempts: int = 5
    first_delay: float = 0.5
    longest_delay: float = 60.0
    sleep: Callable[[float], None] = time.sleep
    async_sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    def after(self, error: ProviderError, attempt: int) -> Retrying:
        """Return when to try again after the failure of an attempt, counted from 1; raises the error if not at all."""
        delay = error.retry_after
        if delay is None:
            delay = min(self.first_delay * 2 ** (attempt - 1), self.longest_delay)
            delay *= random.uniform(0.75, 1.0)  # noqa: S311  (many clients should not come back in one moment)
        if not error.retryable or attempt >= self.attempts or delay > self.longest_delay:
            raise error
        return Retrying(str(error), delay)


def provider_error(error: Exception, provider: str) -> ProviderError:
    """Return an SDK's error as ProviderError; raises an error that is not about the API unchanged."""
    if isinstance(error, ProviderError):
        return error
    name = type(error).__name__
    status = getattr(error, "status_code", None) or getattr(error, "code", None)
    body = getattr(error, "body", None) or getattr(error, "details", None)
    if isinstance(status, int) or isinstance(body, Mapping):
        headers = getattr(getattr(error, "response", None), "headers", None)
        return reported_error(provider, body, status if isinstance(status, int) else None, headers)
    not_json = error if isinstance(error, JSONDecodeError) else error.__cause__  # Gemini's SDK wraps it
    if isinstance(not_json, JSONDecodeError):
        return ProviderError(f"{provider}: the server sent invalid JSON: {not_json.doc[:200]}", retryable=True)
    if isinstance(error, TypeError | ValueError) and _UNKNOWN_SETTING.search(str(error)):
        return ProviderError(f"{provider}: the SDK rejects a name in `settings`: {error}")
    if _CONNECTION.isdisjoint(base.__name__ for base in type(error).__mro__):
        raise error
    about = "no answer in time" if "Timeout" in name else "the connection failed"
    return ProviderError(f"{provider}: {about} ({str(error) or name})", retryable=True)


def reported_error(
    provider: str, body: Any, status: int | None = None, headers: Mapping[str, str] | None = None
) -> ProviderError:
    """Return the error that a provider reports in the body of a response or in an event of its stream."""
    error: Any = body if isinstance(body, Mapping) else {}
    error = error["error"] if isinstance(error.get("error"), Mapping) else error
    if status is None and isinstance(error.get("code"), int):  # as gateways report the failure of a model's server
        status = error["code"]
    kinds = {error.get("type"), error.get("code"), error.get("status")}
    passes = status is not None and (status in (408, 409, 429) or status >= 500)
    passes = (passes or not _PASSING.isdisjoint(kinds)) and "insufficient_quota" not in kinds
    should_retry = (headers or {}).get("x-should-retry")
    message = error.get("message") or (str(body)[:500] if body else "no reason given")
    hint = "; check the API key" if status in (401, 403) else ""
    return ProviderError(
        f"{provider}: {f'{status} ' if status and status != 200 else ''}{message}{hint}",
        status=status,
        retryable=should_retry == "true" if should_retry in ("true", "false") else passes,
        retry_after=_retry_after(headers or {}, body),
    )


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
