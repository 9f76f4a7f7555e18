"""Stores of sessions: append-only logs in memory or in a database."""
