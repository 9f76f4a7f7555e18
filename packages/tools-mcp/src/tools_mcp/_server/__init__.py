"""Tools of this process as an MCP server."""
