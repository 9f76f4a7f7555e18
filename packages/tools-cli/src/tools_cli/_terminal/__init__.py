"""Requests, results and progress as a person reads them on a terminal."""
