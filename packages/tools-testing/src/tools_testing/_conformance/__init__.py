"""Abstract test classes: inherit one, implement its abstract methods, and pytest runs its tests."""

from tools_testing._conformance._runtimes import RuntimeConformance

__all__ = ["RuntimeConformance"]
