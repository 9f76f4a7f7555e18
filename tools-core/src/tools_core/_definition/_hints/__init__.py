"""From type hints to JSON Schema, and from valid JSON to the types of the hints."""
