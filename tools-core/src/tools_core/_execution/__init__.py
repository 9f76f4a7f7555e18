"""One call of a tool, from its arguments to its result."""
