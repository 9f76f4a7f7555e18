"""Paths: which file a path means, without leaving the workspace, and what is protected."""
