"""Exact replacements in one file."""
