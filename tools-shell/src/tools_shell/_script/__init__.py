"""The commands of a shell script, and whether they only read: known before anything runs."""
