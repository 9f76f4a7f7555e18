"""Tools for other frameworks, one function for each."""

__all__: list[str] = []
