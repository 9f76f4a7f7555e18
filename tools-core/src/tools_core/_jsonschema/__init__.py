"""JSON Schema 2020-12: one validator, compiled once per schema."""

from tools_core._jsonschema._report import Report
from tools_core._jsonschema._validator import Validator, compile_schema

__all__ = ["Report", "Validator", "compile_schema"]
