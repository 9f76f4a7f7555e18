"""What is wrong with a policy."""

from __future__ import annotations


class PolicyError(ValueError):
    """A policy that cannot be relied on: nothing is allowed by it until it is put right."""


class NobodyToAskError(Exception):
    """There is no terminal, or nobody at it."""
