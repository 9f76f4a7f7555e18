"""Tokens, price and the part of the context window that a session uses."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from tools_agent import ProviderError, Usage, get_provider, window_of
from tools_cli._terminal._progress import price_of, usage_text


class SessionUsage:
    """The sums over the replies of a session. Each reply is counted once, so that an update of a long one is cheap."""

    def __init__(self) -> None:
        self._ids: set[str] = set()
        self._total, self._price, self._context = Usage(), 0.0, 0
        self._is_priced = True

    def add(self, messages: Iterable[Any]) -> None:
        """Count the replies that are new."""
        for message in messages:
            if message.role == "assistant" and message.usage and message.id not in self._ids:
                self._ids.add(message.id)
                self._total += message.usage
                self._context = message.usage.total_tokens
                price = price_of([message]) if message.usage.input_tokens else 0.0
                self._is_priced &= price is not None
                self._price += price or 0.0

    def text(self, model: str) -> str:
        """Return `1,200 in, 300 out; $0.01; 2% of the window`; empty without tokens."""
        if not self._total.total_tokens:
            return ""
        text = usage_text(self._total, self._price if self._is_priced else None).removeprefix("tokens: ")
        if not (window := _window(model)):
            return text
        percent = 100 * self._context / window
        return f"{text}; {f'{percent:.0f}' if percent >= 1 else '<1'}% of the window"


@cache
def _window(model: str) -> int:
    """Return the tokens of the window; 0 if they are unknown."""
    try:
        return window_of(*get_provider(model), default=0)
    except ProviderError:
        return 0
