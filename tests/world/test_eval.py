"""Evaluations as a gate: models that fail, cases that are missing, and models that answer nothing."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from base64 import b64encode
from dataclasses import dataclass
from html import escape
from urllib.parse import quote, quote_plus

import pytest

from tools_agent import Agent, Assistant, ScriptedProvider
from tools_core import Tool, ToolCall, tool
from tools_core.command import main
from tools_eval import Case, CaseError, evaluate, load_cases, score
from tools_testing import RecordingProvider, ReplayProvider

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


def test_an_unchanged_model_passes_its_baseline(gate):
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


def test_an_empty_baseline_fails(gate, workspace):
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
def test_an_empty_reply_passes_no_case(reply, expected):
    @tool
    def look() -> str:
        """Look."""
        return ""

    report = evaluate([Case(question="Hello?", **expected)], {"silent": Silent(reply)}, tools=[look])
    assert report.rate == (0, 1)


def test_an_evaluation_runs_in_a_notebook():
    @tool
    def look() -> str:
        """Look."""
        return ""

    async def cell():
        return evaluate([Case(question="Hello?", no_call=True)], {"m": ScriptedProvider(default="Hi.")}, tools=[look])

    assert asyncio.run(cell()).rate == (1, 1)


BODY = "hunter22-Hunter22_hunter22"  # of each secret below
SECRETS = [
    f"sk_live_{BODY.replace('-', '_')}",
    f"rk_test_{BODY.replace('-', '_')}",
    f"glpat-{BODY}",
    f"gldt-{BODY}",
    f"hf_{BODY.replace('-', '')}",
    f"npm_{BODY.replace('-', '')}",
    f"xoxe.xoxp-1-{BODY}",
    f"xoxe-1-{BODY}",
    f"ghp_{BODY.replace('-', '')}",
    f"github_pat_{BODY.replace('-', '')}",
    f"AIzaSy{BODY}abcdefgh",
    f"ya29.{BODY}",
    f"sk-ant-api03-{BODY}",
    f"pypi-{BODY}",
    f"https://ann:{BODY}@example.org/x",
    f"postgresql+psycopg://ann:{BODY}/a#b?c@d@db.example/x",
    f"mongodb+srv://ann:{BODY}@cluster/x",
    f"https://example.org/?access_token={BODY}&a=b",
    f"https://blob.example/x?se=2026&sig={BODY}",
    f"-----BEGIN OPENSSH PRIVATE KEY-----\n{BODY}\n-----END OPENSSH PRIVATE KEY-----\n",
    f"-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n{BODY}\n-----END PGP PRIVATE KEY BLOCK-----",
    f"export DB_PASSWORD='{BODY}'",
    f'{{"password": "a\\"b{BODY}"}}',
    f"Authorization: Bearer {BODY}",
    f"machine example.org login ann password {BODY}",
    f"<password>{BODY} and more</password>",
    f"set -gx API_TOKEN {BODY}",
    f"setx API_TOKEN {BODY}",
    f'api_keys = ["{BODY}", "{BODY}"]',
    f'{{"apiKeys": ["{BODY}", "{BODY}"], "other": 1}}',
    f"tskey-auth-{BODY}",
    f"ATATT3{BODY}",
    f"nvapi-{BODY}",
    f"https://discord.com/api/webhooks/123456/{BODY}",
]


def encodings(text):
    yield text
    yield f"first line\n{text}"
    for value in ({"note": text}, [f"first line\n{text}"], {"inner": json.dumps({"note": text})}):
        yield json.dumps(value)


def recording_of(folder, result, **options):
    """Record a run whose tool returns a result, and return the file."""

    @tool
    def look() -> str:
        """Look."""
        return result

    path = folder / "run.jsonl"
    script = ScriptedProvider(ToolCall("1", "look", {}), result)
    Agent(model=RecordingProvider(script, path, **options), tools=[look]).generate(f"Do {result}")
    replay = ReplayProvider(path, **options)
    assert Agent(model=replay, tools=replay.tools()).generate(f"Do {result}").outcome == "completed"
    return path


@pytest.mark.parametrize("secret", SECRETS, ids=lambda secret: secret[:20])
def test_secrets_are_in_no_recording_however_they_are_written(workspace, secret):
    for text in encodings(secret):
        path = recording_of(workspace, text)
        assert BODY[:8] not in path.read_text()
        assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "secret", ['pa"ss\\word-1', "pässwörd-ß", "a/b+c d&e<f>", "line one\nline two", "tab\there, 'quoted'"]
)
def test_secrets_of_the_environment_are_in_no_recording_in_any_encoding(workspace, monkeypatch, secret):
    monkeypatch.setenv("SERVICE_TOKEN", secret)
    forms = [secret, json.dumps(secret), json.dumps(json.dumps(secret)), json.dumps(secret, ensure_ascii=False)]
    forms += [quote(secret), quote_plus(secret), escape(secret), b64encode(secret.encode()).decode().rstrip("=")]
    entries = [json.loads(line) for line in recording_of(workspace, " and ".join(forms)).read_text().split("\n")[:-1]]
    text = json.dumps(entries, ensure_ascii=False)
    assert [form for form in forms if form.strip('"') in text or json.dumps(form)[1:-1] in text] == []


@pytest.mark.parametrize("text", ["half \ud83d of a character", "\\\udcff", "a\u2028b\x00c\rd"], ids=ascii)
def test_any_text_of_a_model_or_a_tool_can_be_recorded(workspace, text):
    lines = recording_of(workspace, text).read_bytes().decode().split("\n")
    assert json.loads(lines[1])["reply"]["tool_calls"][0]["name"] == "look"
    assert json.loads(lines[2])["reply"]["content"] == text


def test_an_existing_recording_becomes_private(workspace):
    (workspace / "run.jsonl").write_text("")
    (workspace / "run.jsonl").chmod(0o644)
    assert recording_of(workspace, "nothing").stat().st_mode & 0o777 == 0o600


def test_text_around_secrets_and_the_names_of_parameters_stay(workspace):
    text = recording_of(workspace, "The access token of Ann: see https://example.org:8080/a@b, 3 tokens").read_text()
    assert "https://example.org:8080/a@b" in text

    @tool
    def log_in(password: str, api_key: str = "none") -> str:
        """Log in."""
        return "in"

    path = workspace / "other.jsonl"
    script = ScriptedProvider(ToolCall("1", "log_in", {"password": "hunter22"}), "Done.")
    Agent(model=RecordingProvider(script, path), tools=[log_in]).generate("Log in.")
    replay = ReplayProvider(path)
    assert replay.tools()[0].input_schema == log_in.input_schema
    assert Agent(model=replay, tools=replay.tools()).generate("Log in.").content == "Done."
    assert "hunter22" not in path.read_text()


TESTS = """
import pytest
from tools_agent import Agent, ScriptedProvider

def say(recorded, text):
    assert Agent(model=recorded(ScriptedProvider(text))).generate("hi").content == text

class TestA:
    def test_x(self, recorded):
        say(recorded, "A")

class TestB:
    def test_x(self, recorded):
        say(recorded, "B")

    class TestC:
        def test_x(self, recorded):
            say(recorded, "C")

@pytest.mark.parametrize("p", ["a/b", "a_b", "a b", "A_b", "ä", "x" * 300, "x" * 301])
def test_p(recorded, p):
    say(recorded, p)

def test_x(recorded):
    say(recorded, "plain")

def test_X(recorded):
    say(recorded, "capital")

def test_two_models(recorded):
    say(recorded, "first")
    say(recorded, "second")
"""


@pytest.mark.slow
def test_recordings_of_tests_and_models_stay_apart(workspace):
    (workspace / "test_names.py").write_text(TESTS)
    for options in (["--record"], []):
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert "13 passed" in done.stdout, done.stdout
    names = [path.name for path in (workspace / "recordings/test_names").iterdir()]
    assert len({name.lower() for name in names}) == 14
    assert {"test_x.scriptedprovider.jsonl", "test_two_models.scriptedprovider.2.jsonl"} < {*names}


CHANGING = """
from tools_agent import Agent, ScriptedProvider

class Named(ScriptedProvider):
    name, model = "openai", "gpt-5"

def test_x(recorded):
    for model in (ScriptedProvider("one"), Named("two")):
        assert Agent(model=recorded(model)).generate("hi").content in ("one", "two")
    assert "WORD" == "good"
"""


@pytest.mark.slow
def test_a_failed_test_leaves_the_earlier_recording_and_each_model_has_its_own(workspace):
    def run(word, *options):
        (workspace / "test_names.py").write_text(CHANGING.replace("WORD", word))
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
        subprocess.run(command, capture_output=True, check=False)
        return {path.name: path.read_text() for path in (workspace / "recordings/test_names").iterdir()}

    first = run("good", "--record")
    assert [name.partition("-")[0] for name in sorted(first)] == ["test_x.openai_gpt", "test_x.scriptedprovider.jsonl"]
    assert run("bad", "--record") == first == run("good")


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("cities", [[f"c{number}" for number in range(60)], ["Oslo"] * 60], ids=["different", "equal"])
def test_a_case_with_many_calls_is_judged_at_once(cities, ordered):
    schemas = {"forecast": {"type": "object"}}
    expect = [{"tool": "forecast", "arguments": {"city": city}} for city in cities]
    case = Case(question="Rain?", expect=expect, ordered=ordered)
    calls = [ToolCall(None, "forecast", {"city": city}) for city in cities]
    assert case.judge(calls, schemas) == []
    assert case.judge([*calls[:30], *calls[31:]], schemas) != []
    assert (case.judge([*calls[1:], calls[0]], schemas) != []) == (ordered and cities[0] != cities[1])


def test_a_dataclass_tool_is_scored():
    @dataclass
    class Limit(Tool):
        """Set the limit of a test."""

        most: int = 3

        def execute(self) -> int:
            return self.most

    assert [result.tool for result in score([Limit(3)], [Limit(4)])] == ["limit"]


def test_a_date_of_toml_is_the_text_that_a_model_sends(workspace):
    call = 'tool = "forecast", arguments = { day = 2026-01-31, at = [10:30:00] }'
    (workspace / "cases.toml").write_text(f'[case]\nquestion = "Rain?"\nexpect = {{ {call} }}\n')
    [loaded] = load_cases("cases.toml")
    assert loaded.judge([ToolCall(None, "forecast", {"day": "2026-01-31", "at": ["10:30:00"]})], {}) == []
    assert loaded.judge([ToolCall(None, "forecast", {"day": "2026-02-01", "at": ["10:30:00"]})], {}) != []


def test_a_value_that_no_argument_can_have_is_refused_before_a_request(workspace):
    (workspace / "cases.toml").write_text(
        '[[case]]\nquestion = "?"\nexpect = { tool = "a", arguments = { x = nan } }\n'
    )
    with pytest.raises(CaseError, match=r"cases\.toml:3: .*not a JSON value"):
        load_cases("cases.toml")
