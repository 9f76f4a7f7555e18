"""Files of commands that programs run later: git's hooks and configuration, and files with protected names."""
