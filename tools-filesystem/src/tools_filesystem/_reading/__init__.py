"""Reading text files: encodings and lines."""
