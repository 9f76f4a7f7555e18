"""Commands that always end, with output that is bounded and never lost."""

from tools_shell._bash import Bash

__all__ = ["Bash"]
