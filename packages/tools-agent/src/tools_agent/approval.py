"""Show a person a call that needs approval, and carry out the answer; for any front end.

`PendingCall(request).lines()` is what to show, `answers_to(request, policy)` what the person may choose, and
`carry_out(answer, request, ...)` the value that `approve=` returns. `ask_person(request, dialog)` is the conversation
in lines, and `TerminalApprover` has it on a terminal.
"""

from tools_agent._terminal._answers import Answer, add_session_rules, answers_to, carry_out
from tools_agent._terminal._pending_call import PendingCall
from tools_agent._terminal._prompt import Dialog, TerminalApprover, ask_person
from tools_agent._terminal._style import Line, draw

__all__ = [
    "Answer",
    "Dialog",
    "Line",
    "PendingCall",
    "TerminalApprover",
    "add_session_rules",
    "answers_to",
    "ask_person",
    "carry_out",
    "draw",
]
