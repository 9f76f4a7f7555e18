"""The effects of a shell script before it runs: its commands, its files, and whether it only reads."""
