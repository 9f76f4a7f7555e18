"""Code mode: a model writes Python that calls tools, under policy and approval."""

from tools_code._code_mode import CodeMode

__all__ = ["CodeMode"]
