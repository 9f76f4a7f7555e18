"""Which calls are made: allowed, denied or asked about, by rules."""

from tools_runtime._policy._ask import Request
from tools_runtime._policy._errors import PolicyError
from tools_runtime._policy._policy import Policy
from tools_runtime._policy._rule import Decision

__all__ = ["Decision", "Policy", "PolicyError", "Request"]
