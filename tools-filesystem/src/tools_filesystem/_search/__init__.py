"""Searching: which files count, and what is in them."""
