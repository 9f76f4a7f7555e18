"""The output of a command: bounded, decoded and redacted."""
