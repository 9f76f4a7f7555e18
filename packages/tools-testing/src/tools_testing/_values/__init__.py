"""Values that fit a schema, or do not fit it by one thing, made of choices that somebody else makes."""
