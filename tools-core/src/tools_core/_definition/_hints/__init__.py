"""From a type hint to the JSON Schema a model sees, and to what turns valid JSON into that type."""

from __future__ import annotations

from tools_core._definition._hints._convert import FAILURES, Converter
from tools_core._definition._hints._models import is_model
from tools_core._definition._hints._reader import Reader
from tools_core._definition._hints._reading import Reading, Schema, Unsupported

__all__ = ["FAILURES", "Converter", "Reader", "Reading", "Schema", "Unsupported", "is_model"]
