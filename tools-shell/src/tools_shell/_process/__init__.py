"""Running commands: starting, input, output, limits and ending."""
