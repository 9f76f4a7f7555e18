"""The shell behind `bash` and `job_start`, and its sessions."""
