"""Changing files: whole or not at all."""
