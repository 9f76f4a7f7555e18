"""`forbid_requests`: no test sends a request to a real model by mistake."""

from __future__ import annotations

from typing import Self

from tools_agent._providers._provider import ProviderError

_forbidden: list[Forbidden] = []


class Forbidden:
    """The effect of `forbid_requests`, which ends with its `with` statement."""

    def __init__(self, allowed: frozenset[str]) -> None:
        self.allowed = allowed

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        _forbidden.remove(self)


def forbid_requests(*allowed: str) -> Forbidden:
    """Refuse requests of all providers over the network, from now on or for the body of a `with` statement.

    `allowed` are hosts of servers that tests may use, such as `"127.0.0.1"`. `ScriptedProvider` and `TestModel` need no
    network. In the `conftest.py` of a test suite:

        tools_agent.forbid_requests()
    """
    forbidden = Forbidden(frozenset(allowed))
    _forbidden.append(forbidden)
    return forbidden


def check_allowed(provider: str, host: str) -> None:
    """Raise ProviderError if requests to a host are forbidden."""
    if any(host not in forbidden.allowed for forbidden in _forbidden):
        raise ProviderError(
            f"{provider}: forbid_requests() forbids requests to {host}; use ScriptedProvider or TestModel, or allow it"
        )
