"""The `example` tool, for any model, agent framework or shell."""

from tools_example._example import ExampleTool

__all__ = ["ExampleTool"]
