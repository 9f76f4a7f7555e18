"""The `example` tool, for any model, agent framework or shell."""

from tools_example._example import example

__all__ = ["example"]
