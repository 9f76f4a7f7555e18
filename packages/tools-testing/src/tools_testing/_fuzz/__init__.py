"""Many calls of one tool, and the promises that each of them must keep."""
