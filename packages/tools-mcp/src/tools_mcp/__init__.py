"""Serve installed tools over the Model Context Protocol, and use the tools of other servers."""

__all__: list[str] = []
