"""Commands from their start to their end: how they are started, fed, read, limited and ended."""
