"""Runtimes: the places that tools run in."""
