"""Code mode: a model writes Python that calls tools, under policy and approval."""

__all__: list[str] = []
