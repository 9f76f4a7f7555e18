"""Where calls run: here, in threads, in an event loop, in processes."""
