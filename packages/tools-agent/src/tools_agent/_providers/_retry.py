"""`Retry`: when to retry a failed request."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tools_agent._events import Retrying
from tools_agent._providers._provider import ProviderError


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """Retry requests after overload, rate limits, timeouts and broken connections.

    Args:
        attempts: The maximum number of attempts.
        first_delay: Seconds before the second attempt, doubled for each later one, unless the provider sets the delay.
        longest_delay: The longest delay. If the provider asks for a longer one, the request fails.
        sleep: Waits for so many seconds.
    """

    attempts: int = 5
    first_delay: float = 0.5
    longest_delay: float = 60.0
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep

    def after(self, error: ProviderError, attempt: int) -> Retrying:
        """Return when to try again after the failure of an attempt, counted from 1; raises the error if not at all."""
        delay = error.retry_after
        if delay is None:
            delay = min(self.first_delay * 2 ** (attempt - 1), self.longest_delay)
            delay *= random.uniform(0.75, 1.0)  # noqa: S311  (many clients should not come back in one moment)
        if not error.retryable or attempt >= self.attempts or delay > self.longest_delay:
            raise error
        return Retrying(str(error), delay)
