"""`ask-tools serve` and `ask-tools mcp`."""
