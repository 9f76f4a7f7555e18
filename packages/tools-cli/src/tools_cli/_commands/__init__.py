"""Commands that this package adds to `ask-tools`."""
