"""What runs in the process that supervises a job and in the job's leader: the standard library alone."""
