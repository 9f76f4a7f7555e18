"""Patches over several files."""
