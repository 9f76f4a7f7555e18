"""Sessions: their messages, and the log of what happened in them."""
