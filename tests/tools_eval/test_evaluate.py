"""Evaluation: attempts, rates, sentences to blame, and comparisons."""

import asyncio

import pytest

from tools_agent import Assistant, ProviderError, ScriptedProvider, Usage
from tools_core import ToolCall, Toolset, tool
from tools_eval import Case, CaseError, ExpectedCall, Rate, Report, estimate_tokens, evaluate, score

RAIN = Case(question="Will it rain in Oslo?", expect=ExpectedCall(tool="weather", arguments={"city": "Oslo"}))
THANKS = Case(question="Thanks!", no_call=True)


def test_each_case_is_asked_for_each_model_and_run(tools, model):
    models = {"good": model(("weather", {"city": "Oslo"})), "silent": model("I do not know.")}
    report = evaluate([RAIN, THANKS], models, tools=tools, runs=3)
    assert report.rates("case", "model") == {
        ("Will it rain in Oslo?", "good"): (3, 3),
        ("Thanks!", "good"): (0, 3),
        ("Will it rain in Oslo?", "silent"): (0, 3),
        ("Thanks!", "silent"): (3, 3),
    }
    assert report.rate == (6, 12)


def test_an_attempt_has_the_expected_and_the_chosen_tool(tools, model):
    report = evaluate([RAIN, THANKS], {"m": model(("news", {"topic": "rain"}))}, tools=tools)
    assert [(attempt.expected, attempt.chosen) for attempt in report.attempts] == [
        ("weather", "news"),
        ("(no call)", "news"),
    ]


def test_rates_have_wilson_intervals():
    assert Rate(18, 20).interval == pytest.approx((0.699, 0.972), abs=0.001)
    assert Rate(0, 5).interval == pytest.approx((0, 0.434), abs=0.001)


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        ((0, 10), (10, 10), "better"),
        ((20, 20), (10, 20), "worse"),
        ((4, 5), (5, 5), "within noise"),
        ((1, 2), (2, 4), "same"),
    ],
)
def test_a_difference_counts_if_it_is_larger_than_noise(before, after, verdict):
    assert Rate(*after).compare(Rate(*before)) == verdict


def test_a_report_survives_json_and_compares_with_a_later_one(tools, model):
    before = evaluate([RAIN], {"m": model(("weather", {"city": "Oslo"}))}, tools=tools, runs=10)
    before = Report.from_dict(before.to_dict())

    @tool(name="weather")
    def vague(city: str) -> str:
        """Look up a place. Returns a line for each day."""
        return city

    after = evaluate([RAIN], {"m": model(("news", {"topic": "rain"}))}, tools=[vague, tools[1]], runs=10)
    [change] = after.changes(before)
    assert (change.verdict, change.before, change.after) == ("worse", (10, 10), (0, 10))
    assert change.edits == ["weather: + Look up a place.", "weather: - Forecast rain, wind and temperature for a city."]


def overlap(request):
    """Choose the tool that shares the most words with the question."""
    words = set(request.messages[-1].content.lower().strip("?").split())
    best = max(request.tools, key=lambda tool: len(words & set(tool["description"].lower().split())))
    required = best["input_schema"]["required"]
    return ToolCall(None, best["name"], dict.fromkeys(required, "Oslo"))


@tool(name="news")
def greedy(topic: str) -> str:
    """Search articles. Use it also if you ask whether it will rain in a town."""
    return topic


def test_the_sentence_that_attracts_the_model_is_named(tools):
    report = evaluate([RAIN], {"m": ScriptedProvider(default=overlap)}, tools=[tools[0], greedy], runs=2, why=True)
    [blame] = report.blames
    assert (blame.tool, blame.sentence) == ("news", "Use it also if you ask whether it will rain in a town.")
    assert (blame.before, blame.after) == ((0, 2), (2, 2))


def test_the_failure_of_a_provider_is_an_error_and_not_a_wrong_answer(tools):
    provider = ScriptedProvider(ProviderError("overloaded"), default="Hello")
    report = evaluate([THANKS], {"m": provider}, tools=tools, runs=2)
    assert [attempt.error for attempt in report.attempts] == ["overloaded", None]
    assert report.rate == (1, 1)


def test_no_more_than_the_given_number_of_requests_run_at_once(tools):
    running, most = 0, 0

    async def reply(request):
        nonlocal running, most
        running, most = running + 1, max(most, running + 1)
        await asyncio.sleep(0)
        running -= 1
        return "Hello"

    evaluate([THANKS], {"m": ScriptedProvider(default=reply)}, tools=tools, runs=20, jobs=3)
    assert most == 3


def test_requests_end_when_the_budget_is_used_up(tools):
    class Priced:
        name, model = "openai", "gpt-5"

        async def astream(self, request):
            yield Assistant(provider="openai", model="gpt-5", usage=Usage(output_tokens=100_000))

    from tools_eval import Model

    report = evaluate([THANKS], [Model("m", Priced(), "gpt-5")], tools=tools, runs=5, jobs=1, max_cost=1.5)
    assert (len(report.attempts), report.skipped) == (2, 3)
    assert sum(attempt.cost for attempt in report.attempts) == pytest.approx(2.0)


def test_a_budget_for_a_model_without_a_price_is_refused(tools, model):
    with pytest.raises(ProviderError, match="no price"):
        evaluate([THANKS], {"m": model("hi")}, tools=tools, max_cost=1)


def test_distractors_are_the_most_similar_installed_tools(model):
    provider = model("hi")
    case = Case(question="?", no_call=True, tools=["grep"], distractors=2)
    evaluate([case], {"m": provider})
    [request] = provider.calls
    names = [definition["name"] for definition in request.tools]
    assert names[0] == "grep" and "glob" in names and len(names) == 3


def test_a_case_that_expects_a_tool_which_is_not_offered_is_refused(model):
    case = Case(question="?", expect=ExpectedCall(tool="weather"), tools=["grep"])
    with pytest.raises(CaseError, match="'\\?' names weather"):
        evaluate([case], {"m": model("hi")})


def test_calls_run_in_a_copy_of_the_workspace_if_the_case_wants_it(tmp_path):
    (tmp_path / "notes.txt").write_text("milk\n")
    calls = [
        ("read_file", {"path": "notes.txt"}),
        ("delete_path", {"path": "notes.txt"}),
        ("bash", {"command": "touch no"}),
    ]
    replies = [ToolCall(None, *call) for call in calls]
    expect = [ExpectedCall(tool=name) for name, _ in calls]
    tools = ["read_file", "delete_path", "bash"]
    case = Case(question="Clean up", expect=expect, ordered=True, tools=tools, workspace=str(tmp_path))
    provider = ScriptedProvider(*replies, "Done.")
    report = evaluate([case], {"m": provider})
    assert report.rate == (1, 1), report.attempts
    read, deleted, refused = [message.result for message in provider.calls[-1].messages if message.role == "tool"]
    assert "milk" in str(read) and deleted.ok and refused.error_type == "denied"
    assert (tmp_path / "notes.txt").read_text() == "milk\n"


def test_toolsets_and_functions_are_offered_as_agents_take_them(model):
    class Weather(Toolset):
        @tool
        def rain(self, city: str) -> str:
            """Say whether it rains."""
            return city

    def news(topic: str) -> str:
        """Search the news."""
        return topic

    cases = [Case(question="Rain?", expect=ExpectedCall(tool="weather_rain"))]
    report = evaluate(cases, {"m": model(("weather_rain", {"city": "Oslo"}))}, tools=[Weather(), news])
    assert sorted(report.definitions) == ["news", "weather_rain"] and report.rate == (1, 1)
    assert [rating.tool for rating in score([Weather(), news])] == ["weather_rain", "news"]
    for sources in (Weather(), [Weather()], {"weather_rain": Weather().tools[0]}):
        assert evaluate(cases[0], {"m": model(("weather_rain", {"city": "Oslo"}))}, tools=sources).rate == (1, 1)
        assert [rating.tool for rating in score(sources)] == ["weather_rain"]
        assert estimate_tokens(sources) == estimate_tokens(Weather().tools)


def test_a_model_may_be_a_name_alone_or_with_another_label(tools):
    for models, label in [
        ("scripted:demo", "scripted:demo"),
        (["scripted:demo"], "scripted:demo"),
        ({"m": "scripted:demo"}, "m"),
    ]:
        [attempt] = evaluate([THANKS], models, tools=tools).attempts
        assert attempt.model == label


@pytest.mark.parametrize(
    ("models", "options", "message"),
    [
        (ScriptedProvider("x"), {}, "providers by labels"),
        ({"m": object()}, {}, "neither a name"),
        ({"m": ScriptedProvider("x")}, {"cases": [{"question": "?"}]}, "a case is a Case, got dict"),
        ({"m": ScriptedProvider("x")}, {"jobs": 0}, "jobs are positive"),
        ({"m": ScriptedProvider("x")}, {"runs": 0}, "runs and jobs are positive"),
        ({"m": ScriptedProvider("x")}, {"max_cost": float("nan")}, "max_cost not negative"),
    ],
)
def test_an_evaluation_that_cannot_run_is_refused(tools, models, options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        evaluate(**{"cases": [THANKS], "models": models, "tools": tools, **options})


def test_two_tools_with_one_name_are_not_offered_together(tools, model):
    with pytest.raises(ValueError, match="the name is taken"):
        evaluate([THANKS], {"m": model("hi")}, tools=[*tools, greedy])
