"""Background jobs and the table of all jobs."""
