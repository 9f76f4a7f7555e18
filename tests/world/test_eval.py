"""Evaluations as a gate: models that fail, cases that are missing, and models that answer nothing."""

from __future__ import annotations

import json

import pytest

from tools_agent import Assistant
from tools_core import tool
from tools_core.__main__ import main
from tools_eval import Case, evaluate

TOOL = """
from tools_core import tool


@tool(read_only=True)
def forecast(city: str) -> str:
    "Forecast rain for a city."
    return city
"""
MODELS = """
from tools_agent import Assistant, ProviderError
from tools_core import ToolCall


class Model:
    def __init__(self, reply):
        self.reply = reply

    async def astream(self, request):
        city = request.messages[-1].content.split()[-1]
        reply = self.reply(city)
        if isinstance(reply, Exception):
            raise reply
        if reply is not None:
            yield Assistant(content=reply) if isinstance(reply, str) else Assistant(tool_calls=(reply,))


def call(city):
    return ToolCall("1", "forecast", {"city": city})


good = Model(call)
twin = Model(call)
down = Model(lambda city: ProviderError("HTTP 503"))
broken = Model(lambda city: KeyError("choices"))
partly = Model(lambda city: ProviderError("HTTP 429") if city == "Rome" else call(city))
wrong = Model(lambda city: call("Paris"))
silent = Model(lambda city: "")
nothing = Model(lambda city: None)
"""


@pytest.fixture
def gate(workspace, capsys):
    """`gate("models.py:good", "Oslo", "Rome")` is the exit code and the output, with the baseline of `good`."""

    def write(*cities):
        case = '[[case]]\nquestion = "Rain in {0}"\nexpect = {{ tool = "forecast", arguments = {{ city = "{0}" }} }}\n'
        text = 'tools = ["./weather.py"]\n' + "".join(map(case.format, cities))
        (workspace / "cases.toml").write_text(text)

    def gate(model, *cities, options=()):
        write(*cities)
        status = main(["eval", "cases.toml", "--model", f"models.py:{model}", "--baseline", "base.json", *options])
        done = capsys.readouterr()
        return status, done.out + done.err

    (workspace / "weather.py").write_text(TOOL)
    (workspace / "models.py").write_text(MODELS)
    write("Oslo", "Rome")
    assert main(["eval", "cases.toml", "--model", "models.py:good", "--model", "models.py:down", "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    (workspace / "base.json").write_text(json.dumps(report))
    gate.relabel = lambda name: (workspace / "base.json").write_text(
        json.dumps(report).replace("models.py:good", f"models.py:{name}")
    )
    return gate


def test_an_evaluation_that_is_as_good_as_its_baseline_passes(gate):
    assert gate("good", "Oslo", "Rome")[0] == 0
    assert gate("good", "Oslo", "Rome", "Bonn")[0] == 0  # a new case
    assert gate("good", "Oslo", options=["*Oslo"])[0] == 0  # of the baseline, this case is selected


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        ("down", "without a reply, because their provider failed: 2"),
        ("broken", "without a reply, because their provider failed: 2"),
        ("partly", "no result: Rain in Rome (models.py:partly)"),
        ("wrong", "worse: Rain in Oslo (models.py:wrong)"),
        ("silent", "worse: Rain in Oslo (models.py:silent)"),
        ("nothing", "worse: Rain in Oslo (models.py:nothing)"),
    ],
)
def test_a_model_that_fails_does_not_pass_its_baseline(gate, model, reason):
    gate.relabel(model)
    status, output = gate(model, "Oslo", "Rome")
    assert (status, reason in output) == (1, True), output


@pytest.mark.parametrize(
    ("model", "cities", "reason"),
    [
        ("good", ["Oslo"], "no result: Rain in Rome (models.py:good)"),
        ("good", ["Bonn"], "no result in common with the baseline, whose models are models.py:good"),
        ("twin", ["Oslo", "Rome"], "no result in common with the baseline, whose models are models.py:good"),
        ("down", ["Oslo", "Rome"], "no result in common"),  # it had none before, too
    ],
)
def test_missing_cases_and_models_do_not_pass_a_baseline(gate, model, cities, reason):
    status, output = gate(model, *cities)
    assert (status, reason in output) == (1, True), output


def test_an_empty_baseline_is_passed_by_nothing(gate, workspace):
    (workspace / "base.json").write_text('{"attempts": [], "definitions": {}}')
    assert gate("good", "Oslo")[0] == 1


class Silent:
    """A model that yields one reply, or none."""

    def __init__(self, reply):
        self.reply = reply

    async def astream(self, request):
        if self.reply is not None:
            yield self.reply


@pytest.mark.parametrize(
    "reply", [None, Assistant(content=""), Assistant(content=" \n")], ids=["none", "empty", "blank"]
)
@pytest.mark.parametrize("expected", [{"no_call": True}, {"forbid": ["*"]}, {"expect": {"tool": "look"}}], ids=str)
def test_a_model_that_answers_nothing_passes_nothing(reply, expected):
    @tool
    def look() -> str:
        """Look."""
        return ""

    report = evaluate([Case(question="Hello?", **expected)], {"silent": Silent(reply)}, tools=[look])
    assert report.rate == (0, 1)
