"""Background jobs: one job with its output, and the table of all."""
