"""Tools by name, registered here or found through entry points."""
