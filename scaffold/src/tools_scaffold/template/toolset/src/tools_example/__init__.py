"""The `example` tools, for any model, agent framework or shell."""

from tools_example._example import ExampleTools

__all__ = ["ExampleTools"]
