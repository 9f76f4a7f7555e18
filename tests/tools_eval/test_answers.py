"""Answers, trajectories of several calls, and cases in JSONL."""

from __future__ import annotations

import asyncio
import json
import sys

import pytest

from tools_agent import Assistant, ScriptedProvider, ToolResult
from tools_core import ToolCall, tool
from tools_eval import Answer, Case, CaseError, evaluate, load_cases


@tool(read_only=True)
def weather(city: str) -> str:
    """Forecast the weather of a city."""
    raise AssertionError("tools of cases do not run")


@tool(destructive=True, requires_approval=True)
def book(city: str, day: str) -> str:
    """Book a trip to a city."""
    raise AssertionError("tools of cases do not run")


def attempt_of(case, *replies):
    report = evaluate([case], {"script": ScriptedProvider(*replies)}, tools=[weather, book])
    return report.attempts[0]


def forecast(city):
    return ToolCall(None, "weather", {"city": city})


async def later(reply):
    await asyncio.sleep(0)
    return len(reply.text) / 10


TEXT = "It rains in Oslo."


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ("oslo", ""),
        (["rain", "OSLO"], ""),
        (["rain", "Rome"], "answer: 'Rome' is missing"),
        ({"lacks": "sun"}, ""),
        ({"lacks": ["sun", "RAIN"]}, "answer: 'RAIN' should be missing"),
        ({"matches": "^It rains? .*[.]$"}, ""),
        ({"matches": "^rains"}, "answer: '^rains' does not match"),
        (lambda reply: reply.text == TEXT and reply.question == "Rain?" and not reply.calls, ""),
        (lambda reply: 0.5, ""),
        ({"scorer": lambda reply: 0.4}, "answer: <lambda>() gave 0.4, below 0.5"),
        ({"scorer": lambda reply: 1, "threshold": 1}, ""),
        ({"scorer": lambda reply: False, "threshold": 0}, "answer: <lambda>() rejected it"),
        (later, ""),
        (Answer(contains=["Rome"], matches="x"), "answer: 'Rome' is missing; answer: 'x' does not match"),
    ],
)
def test_an_answer_is_judged_by_its_words_a_pattern_or_a_function(answer, problem):
    attempt = attempt_of(Case(question="Rain?", answer=answer), TEXT)
    assert ("; ".join(attempt.problems), attempt.error) == (problem, None)
    assert attempt.expected == attempt.chosen  # the choice of a tool is not evaluated


@pytest.mark.parametrize(
    "scorer",
    [
        lambda reply: None,
        lambda reply: "good",
        lambda reply: float("nan"),
        lambda reply: reply.nothing,
        lambda reply: sys.exit(0),
    ],
)
def test_a_bug_in_a_scorer_is_the_error_of_its_attempt(scorer):
    cases = [Case(question="Rain?", answer=scorer), Case(question="Snow?", answer="Oslo")]
    report = evaluate(cases, {"script": ScriptedProvider(default=TEXT)}, tools=[weather])
    assert [attempt.passed for attempt in report.attempts] == [False, True]
    assert report.attempts[0].error.startswith(("TypeError", "AttributeError", "SystemExit"))


def test_results_of_a_case_answer_the_calls_and_no_tool_runs():
    case = Case(
        question="Where is it dry?",
        results={"weather": lambda city: "rain" if city == "Oslo" else "sun", "book": {"id": 7}},
        expect=[
            {"tool": "weather", "arguments": {"city": "Oslo"}},
            {"tool": "weather", "arguments": {"city": "Rome"}},
            {"tool": "book", "arguments": {"city": "Rome"}},
        ],
        ordered=True,
        max_calls=3,
        answer="booked",
    )  # fmt: skip
    trip = ToolCall(None, "book", {"city": "Rome", "day": "Monday"})
    good = attempt_of(case, forecast("Oslo"), forecast("Rome"), trip, "It is booked.")
    assert (good.problems, good.error, len(good.calls)) == ([], None, 3)
    early = attempt_of(case, trip, forecast("Oslo"), forecast("Rome"), "It is booked.")
    assert early.problems == ["book was called too early or too rarely"]
    again = attempt_of(case, forecast("Oslo"), forecast("Rome"), forecast("Rome"), trip, "No trip.")
    assert again.problems == ["expected at most 3 calls, got 4", "answer: 'booked' is missing"]


def test_the_model_reads_the_results_of_a_case_and_that_others_are_missing():
    def reply(request):
        message = request.messages[-1]
        return str(message.content) if isinstance(message, ToolResult) else [forecast("Oslo"), ToolCall(
            None, "book", {"city": "Oslo", "day": "Monday"})]  # fmt: skip

    case = Case(question="Rain?", results={"weather": ["rain", 3]}, answer="this case has no result for the call")
    attempt = attempt_of(case, reply, reply)
    assert (attempt.problems, attempt.error) == ([], None)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "a case has expect, any_of, forbid, no_call, max_calls or answer"),
        ({"answer": {"matches": "("}}, "not a regular expression"),
        ({"answer": {"contain": "x"}}, "answer.contain: Extra inputs are not permitted"),
        ({"answer": "x", "results": {"weather": 1}, "workspace": "x"}, "tools have results, or run in a workspace"),
        ({"answer": {"scorer": "missing.py:polite"}}, "'missing.py:polite' is not a function"),
    ],
)
def test_a_wrong_case_in_jsonl_is_reported_with_its_line(tmp_path, fields, message):
    lines = ["", json.dumps({"question": "one", "answer": "x"}), "", json.dumps({"question": "two", **fields})]
    (tmp_path / "cases.jsonl").write_text("\n".join(lines))
    with pytest.raises(CaseError) as caught:
        load_cases(tmp_path)
    assert str(caught.value).startswith(f"{tmp_path}/cases.jsonl:4: ") and message in str(caught.value)


def test_jsonl_has_a_case_in_each_line_with_the_keys_of_toml(tmp_path):
    (tmp_path / "checks.py").write_text("def is_short(reply):\n    return len(reply.text) < 20\n")
    oslo = {"tool": "weather", "arguments": {"city": {"pattern": "(?i)^oslo"}}}
    answer = {"scorer": "checks.py:is_short"}
    cases = [
        {"question": "Rain\u2028in Oslo?", "tools": ["weather"], "expect": oslo},
        {"name": "dry", "question": "Where is it dry?", "results": {"weather": "sun"}, "answer": answer},
    ]
    text = "\n".join(json.dumps(case, ensure_ascii=False) for case in cases)
    (tmp_path / "cases.jsonl").write_text(f"\ufeff{text}\n", "utf-8")
    (tmp_path / "recording.jsonl").write_text("{}")  # is not a file of cases in a folder
    loaded = load_cases(tmp_path)
    assert [case.name for case in loaded] == ["Rain\u2028in Oslo?", "dry"]
    script = ScriptedProvider(forecast("OSLO"), forecast("Rome"), "In Rome.")
    report = evaluate(loaded, {"script": script}, tools=[weather], jobs=1)
    assert [attempt.problems for attempt in report.attempts] == [[], []]


@pytest.mark.parametrize("line", ["{", pytest.param("[" * 100_000, id="deep"), "[1]", '"x"', '{"question": "x"} {}'])
def test_an_error_names_the_line_of_an_invalid_case(tmp_path, line):
    (tmp_path / "cases.jsonl").write_text(f"\n{line}\n")
    with pytest.raises(CaseError, match=r"cases\.jsonl:2: "):
        load_cases(tmp_path / "cases.jsonl")


def test_results_of_tools_that_are_not_offered_are_refused():
    case = Case(question="Rain?", results={"wether": "rain"}, answer="rain", tools=["glob"])
    with pytest.raises(CaseError, match="names wether, which is not among the offered tools"):
        evaluate([case], {"script": ScriptedProvider("x")})


def test_an_answer_counts_in_a_notebook():
    async def cell():
        return evaluate([Case(question="Rain?", answer=later)], {"script": ScriptedProvider(TEXT)}, tools=[weather])

    assert asyncio.run(cell()).rate == (1, 1)


def test_an_empty_reply_passes_no_case():
    attempt = attempt_of(Case(question="Rain?", answer={"lacks": "sun"}), Assistant(content=" "))
    assert attempt.problems == ["the model answered nothing"]
