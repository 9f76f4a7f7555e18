"""The shell of `bash` and `job_start`, and bash sessions."""
