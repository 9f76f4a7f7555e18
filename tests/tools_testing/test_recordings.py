"""Recordings: replies and results of tools are replayed offline, and secrets are hidden."""

import pytest

from tools_agent import Agent, ScriptedProvider
from tools_core import ToolCall, Toolset, tool
from tools_testing import RecordingProvider, ReplayError, ReplayProvider

pytest_plugins = ["pytester"]


@pytest.fixture
def run(tmp_path):
    """An agent run with two calls of a tool that counts; `run.path` is its recording."""

    class Run:
        path = tmp_path / "run.jsonl"
        count = 0

        def __init__(self):
            @tool
            def add(amount: int) -> int:
                """Add to the total."""
                self.count += amount
                return self.count

            self.add = add

        def record(self, prompt="Add 2, then 3.", **options):
            script = ScriptedProvider(
                ToolCall("a", "add", {"amount": 2}), ToolCall("b", "add", {"amount": 3}), "It is 5."
            )
            return self.ask(RecordingProvider(script, self.path, **options), [self.add], prompt)

        def ask(self, model, tools, prompt="Add 2, then 3."):
            agent = Agent(model=model, tools=tools)
            agent.generate(prompt)
            return [message.content for message in agent.session.messages]

    return Run()


def test_a_recorded_run_is_replayed_without_its_tools(run):
    recorded = run.record()
    replay = ReplayProvider(run.path)
    assert run.ask(replay, replay.tools()) == recorded == ["Add 2, then 3.", "", "2", "", "5", "It is 5."]
    assert run.count == 5
    assert len(replay.calls) == 3


class Account(Toolset):
    @tool
    def add(self, amount: int) -> int:
        """Add to the total."""
        return amount


def total(amount: int) -> int:
    """Add to the total."""
    return amount


@pytest.mark.parametrize(
    "tools", [[Account()], [total], {"total": tool(total)}, tool(total)], ids=["set", "function", "map", "one"]
)
def test_a_replay_takes_the_tools_that_an_agent_takes(run, tools):
    name = "account_add" if isinstance(tools, list) and isinstance(tools[0], Account) else "total"
    model = RecordingProvider(ScriptedProvider(ToolCall("a", name, {"amount": 2}), "Done."), run.path)
    recorded = run.ask(model, tools)
    replay = ReplayProvider(run.path)
    assert run.ask(replay, replay.tools(tools)) == recorded == ["Add 2, then 3.", "", "2", "Done."]


def test_conversations_with_the_same_ids_of_calls_have_their_own_results(run):
    script = ScriptedProvider(
        *(part for n in (1, 2) for part in (ToolCall("a", "total", {"amount": n}), f"It is {n}."))
    )
    model = RecordingProvider(script, run.path)
    recorded = [run.ask(model, [total], prompt) for prompt in ("One.", "Two.")]
    replay = ReplayProvider(run.path)
    assert [run.ask(replay, replay.tools([total]), prompt) for prompt in ("Two.", "One.")] == recorded[::-1]


@pytest.mark.parametrize("change", [("\n", "\r\n"), ("\n", "\n\n  \n"), ('{"tools"', '\ufeff{"tools"')])
def test_a_recording_may_have_passed_through_an_editor(run, change):
    recorded = run.record()
    text = run.path.read_text("utf-8")
    run.path.write_bytes((text.replace(*change, -1 if change[0] == "\n" else 1)).encode())
    replay = ReplayProvider(run.path)
    assert run.ask(replay, replay.tools()) == recorded


async def _generate(agent):
    return (await agent.agenerate("Add 2, then 3.")).content


def test_coroutines_record_and_replay_as_well(run, tmp_path):
    import asyncio

    script = ScriptedProvider(ToolCall("a", "add", {"amount": 2}), "Done.")
    agent = Agent(model=RecordingProvider(script, run.path), tools=[run.add])
    assert asyncio.run(_generate(agent)) == "Done."
    replay = ReplayProvider(run.path)
    assert asyncio.run(_generate(Agent(model=replay, tools=replay.tools([run.add])))) == "Done."


def test_an_unrecorded_request_shows_the_difference_to_the_nearest_one(run):
    run.record()
    replay = ReplayProvider(run.path)
    with pytest.raises(ReplayError) as caught:
        run.ask(replay, replay.tools(), "Add 2, then 4.")
    assert '-   "content": "Add 2, then 3."' in str(caught.value)
    assert '+   "content": "Add 2, then 4."' in str(caught.value)


def test_a_changed_description_is_an_unrecorded_request(run):
    run.record()

    @tool(name="add")
    def changed(amount: int) -> int:
        """Subtract from the total."""
        return amount

    replay = ReplayProvider(run.path)
    with pytest.raises(ReplayError, match=r"\+ .*Subtract from the total"):
        run.ask(replay, replay.tools([changed]))


def test_replies_to_the_same_request_are_replayed_in_their_order(tmp_path):
    recording = RecordingProvider(ScriptedProvider("one", "two"), tmp_path / "run.jsonl")
    answers = [Agent(model=recording).generate("Hi").content for _ in range(2)]
    replay = ReplayProvider(tmp_path / "run.jsonl")
    assert [Agent(model=replay).generate("Hi").content for _ in range(3)] == [*answers, "one"]


def test_secrets_are_not_recorded_and_do_not_change_the_replay(run, monkeypatch):
    monkeypatch.setenv("SERVICE_TOKEN", "horse-battery-staple")
    secrets = ["horse-battery-staple", "sk-abcdefghijklmnopqrst", "my own secret"]
    prompt = "Use " + " and ".join(secrets)
    run.record(prompt, secrets=["my own secret"])
    text = run.path.read_text()
    assert [secret for secret in secrets if secret in text] == []
    replay = ReplayProvider(run.path, secrets=["my own secret"])
    assert run.ask(replay, replay.tools(), prompt)[-1] == "It is 5."


@pytest.mark.parametrize(("text", "message"), [(None, "record it first"), ("{}", "is not a recording")])
def test_a_missing_or_damaged_recording_is_reported(tmp_path, text, message):
    if text is not None:
        (tmp_path / "run.jsonl").write_text(text)
    with pytest.raises(ReplayError, match=message):
        ReplayProvider(tmp_path / "run.jsonl")


TEST = """
from tools_agent import Agent, ScriptedProvider
from tools_core import ToolCall, tool

@tool
def now() -> str:
    "Get the time."
    with open("calls.txt", "a") as file:
        file.write("x")
    return "noon"

def test_time(recorded):
    model = ScriptedProvider(ToolCall(None, "now", {}), "It is noon.")
    agent = Agent(model=recorded(model), tools=recorded.tools([now]))
    assert agent.generate("What time is it?").content == "It is noon."
"""


@pytest.mark.slow
def test_the_fixture_records_with_the_option_and_replays_without(pytester):
    pytester.makepyfile(test_clock=TEST)
    missing = pytester.runpytest_subprocess("-q", "-p", "no:cacheprovider")
    missing.stdout.fnmatch_lines(
        ["*/test_clock/test_time.scriptedprovider.jsonl does not exist; record it: pytest --record"]
    )
    pytester.runpytest_subprocess("-q", "--record").assert_outcomes(passed=1)
    pytester.runpytest_subprocess("-q").assert_outcomes(passed=1)
    assert (pytester.path / "calls.txt").read_text() == "x"
