"""Logs of sessions: append-only, in memory or in a database."""
