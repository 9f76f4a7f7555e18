"""Patches: read, planned and carried out, all of one or none."""
