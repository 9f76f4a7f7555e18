"""Searching: a child process, `rg` or a scan in Python, searches, and this process formats what it found."""
