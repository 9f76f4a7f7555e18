"""Static analysis of shell scripts: their commands, and whether they only read."""
