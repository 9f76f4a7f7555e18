"""The interpreter of `python`: the program inside it, the host's side, and sessions."""
