"""`ask-tools eval`."""

import json
from xml.etree import ElementTree as ET

import pytest

CASES = """
tools = ["tools-filesystem"]

[[case]]
question = "Search file contents for a regular expression"
expect = { tool = "grep" }

[[case]]
name = "delete"
question = "Permanently delete the link 'old'"
expect = { tool = "delete_path", arguments = { path = "old" } }

[[case]]
question = "Which folder do files match?"
expect = { tool = "list_directory" }
"""


@pytest.fixture
def cases(tmp_path):
    (tmp_path / "evals").mkdir()
    path = tmp_path / "evals/files.toml"
    path.write_text(CASES)
    return path


@pytest.fixture
def provide(tmp_path):
    """`provide("down", "'Hi'")` writes a file `down.py` with a model that replies "Hi" to each request."""

    def provide(name, reply):
        code = f"from tools_agent import ProviderError, ScriptedProvider\nmodel = ScriptedProvider(default={reply})\n"
        (tmp_path / f"{name}.py").write_text(code)

    return provide


def test_the_report_shows_rates_and_failures(cases, ask_tools):
    output = ask_tools("eval", "--model", "scripted:words", status=1)
    assert "2 of 3 passed (21% to 94%)" in output
    assert "expected list_directory, got glob" in output


def test_cases_can_be_selected_by_file_name_and_tool(cases, report_of):
    def select(*patterns):
        return [attempt["case"] for attempt in report_of("--model", "scripted:words", *patterns)["attempts"]]

    assert select("delete") == ["delete"]
    assert select("evals/files.toml", "gr*") == ["Search file contents for a regular expression"]


def test_a_percentage_of_passed_attempts_can_be_enough(cases, ask_tools):
    ask_tools("eval", "--model", "scripted:words", "--min", "60")
    ask_tools("eval", "--model", "scripted:words", "--min", "70", status=1)


def test_with_a_baseline_only_worse_cases_fail(cases, ask_tools, provide, tmp_path):
    (tmp_path / "baseline.json").write_text(ask_tools("eval", "--model", "scripted:words", "--json", status=1))
    ask_tools("eval", "--model", "scripted:words", "--baseline", "baseline.json")
    provide("silent", "'?'")
    saved = (tmp_path / "baseline.json").read_text().replace("scripted:words", "silent.py:model")
    (tmp_path / "baseline.json").write_text(saved)
    words = ["eval", "--model", "silent.py:model", "--baseline", "baseline.json"]
    assert "worse" in ask_tools(*words, status=1)


def test_junit_is_written(cases, ask_tools, tmp_path):
    ask_tools("eval", "--model", "scripted:words", "--junit", "junit.xml", status=1)
    [suite] = ET.fromstring((tmp_path / "junit.xml").read_bytes())  # noqa: S314
    assert suite.attrib == {"name": "scripted:words", "tests": "3", "failures": "1", "errors": "0"}
    assert "expected list_directory, got glob" in suite.find("testcase/failure").text


def test_equal_errors_of_a_provider_are_shown_once(cases, ask_tools, provide):
    provide("down", "ProviderError('down')")
    output = ask_tools("eval", "--model", "down.py:model", "-n", "2", status=1)
    assert output.count("down.py:model  down   6") == 1
    assert output.endswith("0 of 0 passed (0% to 100%), 6 errors\n")


def test_text_of_models_cannot_leave_the_reports(cases, ask_tools, provide, tmp_path):
    text = "<script>\\x1b[2J</script>|\\n# x"
    provide("evil", f"'{text}'")
    ask_tools("eval", "--model", "evil.py:model", "--junit", "junit.xml", status=1)
    ET.fromstring((tmp_path / "junit.xml").read_bytes())  # noqa: S314
    assert not any(sign in (tmp_path / "junit.xml").read_text() for sign in ("<script>", "\x1b"))


@pytest.mark.slow
def test_an_openai_compatible_server_is_evaluated(cases, report_of, model_server):
    def reply(path, body):
        function = {"name": "grep", "arguments": '{"pattern": "x"}'}
        call = {"index": 0, "id": "1", "type": "function", "function": function}
        choice = {"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        return [
            {
                "id": "c",
                "object": "chat.completion.chunk",
                "created": 0,
                "model": "m",
                "choices": [choice],
                "usage": usage,
            }
        ]

    address = {"OPENAI_BASE_URL": model_server(reply).url, "OPENAI_API_KEY": "none"}
    report = report_of("--model", "openai:m", "-n", "2", "--jobs", "4", status=1, **address)
    assert (report["passed"], report["total"]) == (2, 6)
    assert report["attempts"][0]["calls"] == [{"name": "grep", "arguments": {"pattern": "x"}}]
    assert {attempt["tokens"] for attempt in report["attempts"]} == {15}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "no model: use --model PROVIDER:NAME"),
        (["--model", "gpt-5"], "expected a model such as openai:gpt-5"),
        (["--model", "missing.py:model"], "missing.py cannot be loaded: FileNotFoundError"),
        (["--model", "scripted:words", "nothing"], "no case matches nothing"),
        (["--model", "scripted:words", "missing.toml"], "does not exist"),
        (["--model", "scripted:words", "--junit", "reports/junit.xml"], "its folder does not exist"),
        (["--model", "scripted:words", "--baseline", "evals/files.toml"], "is not the output of"),
        (["--model", "scripted:words", "--record", "evals"], "--record evals: Is a directory"),
        (["--model", "scripted:words", "--max-cost", "nan"], "expected a number, 0 or more, got nan"),
    ],
)
def test_wrong_usage_is_explained(cases, ask_tools, words, message):
    assert message in ask_tools("eval", *words, status=2)


@pytest.mark.slow
def test_an_evaluation_is_recorded_and_replayed(report_of, tmp_path):
    (tmp_path / "cases.toml").write_text('tools = ["tools-shell"]\n[[case]]\nquestion = "Thanks!"\nno_call = true\n')
    recorded = report_of("cases.toml", "--model", "scripted:words", "--record", "run.jsonl")
    replayed = report_of("cases.toml", "--model", "replay:run.jsonl", "-n", "3")
    assert (recorded["passed"], replayed["passed"]) == (1, 3)
    lines = [json.loads(line) for line in (tmp_path / "run.jsonl").read_text().splitlines()]
    assert [[*line] for line in lines] == [["tools", "definitions"], ["request", "reply"]]
