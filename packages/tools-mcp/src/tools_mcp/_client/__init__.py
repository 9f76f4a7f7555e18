"""The client: using the tools of MCP servers."""
