"""The fifty cases for our own tools, replayed from `evals/recording.jsonl`."""

from pathlib import Path

from tools_eval import Model, evaluate, load_cases
from tools_testing import ReplayProvider

EVALS = Path(__file__).parents[2] / "evals"


def test_the_recorded_replies_pass_all_cases_with_the_present_definitions():
    """If it fails after a change of a definition, record the script again: python evals/record.py."""
    cases = load_cases(EVALS)
    replay = ReplayProvider(EVALS / "recording.jsonl")
    report = evaluate(cases, [Model("scripted", replay, replay.model)])
    assert [
        (attempt.case, attempt.error or attempt.problems) for attempt in report.attempts if not attempt.passed
    ] == []
    assert report.rate == (50, 50)
    assert {name for case in cases for name in case.expected_tools} == {*report.definitions, "(no call)"}
