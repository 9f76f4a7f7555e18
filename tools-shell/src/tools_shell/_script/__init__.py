"""What a shell script consists of, and what its commands do: read before anything runs."""
