"""The shell behind `bash` and `job_start`, and sessions that survive it."""
