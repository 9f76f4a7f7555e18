"""Python behind `python` and `repl`: our side of the kernel, and its sessions."""
