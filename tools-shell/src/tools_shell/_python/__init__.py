"""The interpreter behind `python`: the program that runs inside of it, its host, and sessions."""
