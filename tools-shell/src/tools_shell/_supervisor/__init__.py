"""The supervisor process of a job, and the job's first process. Imports the standard library only."""
