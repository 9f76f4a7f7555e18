"""`ask-tools run`, `chat` and `sessions`: an agent in the terminal."""

from tools_cli._terminal._prompt import Dialog, TerminalApprover, ask_person

__all__ = ["Dialog", "TerminalApprover", "ask_person"]
