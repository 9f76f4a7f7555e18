"""Git's configuration: the user's settings for commands, and keys that must not appear in a repository."""
