"""`Derived`: attributes of tools that are computed when they are read, and cannot be changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Derived:
    """An attribute that is computed from a tool, or from its class, when it is read."""

    def __init__(self, compute: Callable[[Any], Any]) -> None:
        self._compute = compute

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type) -> Any:
        return self._compute(owner if instance is None else instance)

    def __set__(self, instance: object, value: object) -> None:
        raise AttributeError(f"{self._name} cannot be changed; define another tool, or set it on the class")


def derived(compute: Callable[[Any], Any]) -> Any:
    """Return a `Derived`, which type checkers take for the type that the attribute is annotated with."""
    return Derived(compute)
