"""The engine of `tools_core.schema`: JSON Schema 2020-12, compiled once per schema."""
