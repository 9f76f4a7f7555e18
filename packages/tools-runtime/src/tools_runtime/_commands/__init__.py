"""What tools-runtime adds to the `ask-tools` command."""
