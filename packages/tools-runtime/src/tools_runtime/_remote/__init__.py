"""What calls in other processes have in common, be those of this machine or of a cluster."""

from tools_runtime._remote._errors import RemoteError

__all__ = ["RemoteError"]
