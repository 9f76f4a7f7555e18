"""Does a model use these tools well: cases, scores, recordings and reports."""

from typing import TYPE_CHECKING

from tools_eval._cases import Case, load_cases
from tools_eval._expect import CaseError, Condition, ExpectedCall
from tools_eval._record import RecordingProvider, ReplayError, ReplayProvider
from tools_eval._report import Attempt, Blame, Change, Collision, Rate, Report
from tools_eval._run import Model, evaluate
from tools_eval._score import Finding, Score, score

if TYPE_CHECKING:
    from tools_eval._inspect import to_inspect, write_inspect_logs

__all__ = [
    "Attempt",
    "Blame",
    "Case",
    "CaseError",
    "Change",
    "Collision",
    "Condition",
    "ExpectedCall",
    "Finding",
    "Model",
    "Rate",
    "RecordingProvider",
    "ReplayError",
    "ReplayProvider",
    "Report",
    "Score",
    "evaluate",
    "load_cases",
    "score",
    "to_inspect",
    "write_inspect_logs",
]


def __getattr__(name: str) -> object:
    if name in ("to_inspect", "write_inspect_logs"):
        from tools_eval import _inspect  # the extra `inspect`

        return getattr(_inspect, name)
    raise AttributeError(f"module 'tools_eval' has no attribute {name!r}")
