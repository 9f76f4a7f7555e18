"""Resolving paths inside the workspace, and protected places."""
