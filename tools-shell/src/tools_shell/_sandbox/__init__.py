"""The isolation of commands: visible paths, levels, and how a command is wrapped."""
