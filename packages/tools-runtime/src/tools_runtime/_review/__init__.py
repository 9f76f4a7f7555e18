"""A call that waits for approval, as a person reads it, and the answers to it."""
