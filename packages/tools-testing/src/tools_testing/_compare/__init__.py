"""Compare two definitions of one tool."""

from tools_testing._compare._definitions import Change, compare_definitions, listed

__all__ = ["Change", "compare_definitions", "listed"]
