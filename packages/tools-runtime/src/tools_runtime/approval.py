"""Show a person a call that needs approval, and carry out the answer; for any front end.

`PendingCall(request).lines()` is what to show, `answers_to(request, policy)` what the person may choose, and
`carry_out(answer, request, ...)` the value that `approve=` returns. `draw` makes text of lines.
"""

from tools_runtime._review._answers import Answer, answers_to, carry_out
from tools_runtime._review._lines import Line, Style, block, draw
from tools_runtime._review._pending_call import PendingCall

__all__ = ["Answer", "Line", "PendingCall", "Style", "answers_to", "block", "carry_out", "draw"]
