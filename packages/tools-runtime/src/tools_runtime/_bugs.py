"""Exceptions that mean a mistake in a program, rather than a failure of what it works with."""

from __future__ import annotations

BUGS = (NameError, AttributeError, TypeError, NotImplementedError, AssertionError, ImportError, RecursionError)


def bug_in(error: BaseException | None) -> BaseException | None:
    """The mistake that an exception is, or the first one in a group, as task groups raise them."""
    if isinstance(error, BaseExceptionGroup):
        return next((bug for each in error.exceptions if (bug := bug_in(each)) is not None), None)
    return error if isinstance(error, BUGS) else None
