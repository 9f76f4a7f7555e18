"""The parts of the `ask-tools` command that tools-runtime adds."""
