"""A bench for tools and a timeline of sessions, in the browser."""

__all__: list[str] = []
