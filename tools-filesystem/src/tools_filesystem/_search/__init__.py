"""Searching: one child process looks, `rg` or a plain scan in Python, and this process shows what it found."""
