"""Exact replacements: found, checked and written without a second copy of the file."""
