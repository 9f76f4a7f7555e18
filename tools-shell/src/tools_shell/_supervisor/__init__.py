"""The process that supervises a job, and the job's leader: the standard library alone."""
