"""Atomic changes of files."""
