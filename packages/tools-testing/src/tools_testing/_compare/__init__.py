"""Whether who could call the old tool can call the new one."""

from tools_testing._compare._change import Change
from tools_testing._compare._definitions import compare_definitions

__all__ = ["Change", "compare_definitions"]
