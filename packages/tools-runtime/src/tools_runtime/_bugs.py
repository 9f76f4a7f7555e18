"""Exceptions that mean a mistake in a program, rather than a failure of what it works with."""

from __future__ import annotations

BUGS = (NameError, AttributeError, TypeError, NotImplementedError, AssertionError, ImportError, RecursionError)
