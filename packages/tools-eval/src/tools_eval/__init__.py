"""Does a model use these tools well: cases, scores and reports."""

from typing import TYPE_CHECKING

from tools_eval._answer import Answer, Reply
from tools_eval._cases import Case
from tools_eval._expect import CaseError, Condition, ExpectedCall
from tools_eval._files import load_cases
from tools_eval._report import Attempt, Blame, Change, Rate, Report
from tools_eval._run import Model, evaluate
from tools_eval._score import Finding, Score, score
from tools_eval._tokens import estimate_tokens

if TYPE_CHECKING:
    from tools_eval._inspect import to_inspect

__all__ = [
    "Answer",
    "Attempt",
    "Blame",
    "Case",
    "CaseError",
    "Change",
    "Condition",
    "ExpectedCall",
    "Finding",
    "Model",
    "Rate",
    "Reply",
    "Report",
    "Score",
    "estimate_tokens",
    "evaluate",
    "load_cases",
    "score",
    "to_inspect",
]


def __getattr__(name: str) -> object:
    if name == "to_inspect":
        from tools_eval._inspect import to_inspect  # the extra `inspect`

        return to_inspect
    raise AttributeError(f"module 'tools_eval' has no attribute {name!r}")
