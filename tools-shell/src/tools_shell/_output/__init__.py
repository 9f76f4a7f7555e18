"""The output of a command: bounded, decoded, and without secrets."""
