"""When calls run: one scheduler for the calling thread and for event loops."""
