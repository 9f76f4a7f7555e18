"""Reading in bounded memory: windows of lines, encodings, media."""
