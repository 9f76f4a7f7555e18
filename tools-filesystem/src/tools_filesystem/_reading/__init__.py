"""Reading: encodings, lines and what a model is shown."""
