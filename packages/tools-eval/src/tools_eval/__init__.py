"""Does a model use these tools well: cases, scores, recordings and reports."""

__all__: list[str] = []
