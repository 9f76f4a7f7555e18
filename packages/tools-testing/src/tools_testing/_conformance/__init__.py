"""Abstract test classes: inherit one, say how to make what it tests, and pytest runs its tests."""

from tools_testing._conformance._formats import FormatConformance
from tools_testing._conformance._registries import RegistryConformance
from tools_testing._conformance._runtimes import RuntimeConformance
from tools_testing._conformance._stores import SessionStoreConformance

__all__ = ["FormatConformance", "RegistryConformance", "RuntimeConformance", "SessionStoreConformance"]
