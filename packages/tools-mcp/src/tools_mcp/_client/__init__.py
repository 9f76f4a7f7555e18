"""Tools of MCP servers as tools of this process."""
