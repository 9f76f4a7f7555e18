"""Background jobs: the table of an owner, the thread that follows them, and reading what they write."""
