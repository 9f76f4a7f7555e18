"""The isolation of commands: what they see, which level works here, and how they are put into it."""
