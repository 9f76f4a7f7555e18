"""The effects of a shell script before it runs: its commands, whether they only read, and the files they open."""
