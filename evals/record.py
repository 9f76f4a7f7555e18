"""Record `recording.jsonl`, with `python evals/record.py`.

A script wrote the replies, not a model: each case is answered with the call that it expects, which is completed
here if the case has conditions instead of values. The recording shows that cases, definitions and judgement agree, and
nothing about models. With a key, `ask-tools eval evals --model openai:gpt-5 --record FILE` records a model.
"""

from pathlib import Path

from tools_agent import Request, ScriptedProvider
from tools_core import ToolCall
from tools_eval import Case, Model, evaluate, load_cases
from tools_testing import RecordingProvider

HERE = Path(__file__).parent
PATCH = """*** Begin Patch
*** Update File: a.toml
@@
-version = 1
+version = 2
*** Delete File: b.toml
*** End Patch"""
# Arguments of cases with conditions, by the beginning of their names.
ANSWERS = {
    "Read src/main.py from line 100": {"limit": 51},
    "Find all Python files": {"pattern": "src/**/*.py"},
    "Which file below tests": {"pattern": "**/*"},
    "Where is the function": {"pattern": r"def parse_date\b"},
    "What is in the folder docs": {"depth": 3},
    "Create hello.txt": {"content": "Hello\n"},
    "Overwrite notes.md": {"content": "Done\n"},
    "In one step": {"patch": PATCH},
    "apply a unified diff": {"patch": "--- a/x.txt\n+++ b/x.txt\n@@ -1 +1 @@\n-old\n+new\n"},
    "Run the tests": {"command": "pytest"},
    "What did the last three": {"command": "git log -3 -p"},
    "Run make build": {"command": "make build", "timeout": 300},
    "Run npm ci": {"command": "npm ci", "workdir": "web"},
    "In the shell session": {"command": "export STAGE=test"},
    "Start the development": {"command": "npm run dev"},
    "Watch the tests": {"command": "pytest-watch"},
    "Start python3": {"command": "python3 -i", "tty": True},
    "Answer y": {"text": "y\n"},
    "What is the standard": {"code": "import statistics\nstatistics.stdev([3, 5, 8, 13])"},
    "Plot the column": {"code": "import pandas\npandas.read_csv('sales.csv').groupby('month').price.mean().plot()"},
}


def reply(case: Case) -> list[ToolCall] | str:
    """Return the expected calls of a case."""
    answers = next((values for name, values in ANSWERS.items() if case.name.startswith(name)), {})
    calls = []
    for expected in case.expect:
        values = {
            name: condition.equals for name, condition in expected.arguments.items() if condition.equals is not None
        }
        calls.append(ToolCall(None, expected.tool, values | answers))
    return calls or "No tool is needed."


def main() -> None:
    """Record the replies, and check that all cases pass."""
    cases = load_cases(HERE)
    replies = {case.conversation[-1].to_dict()["content"]: reply(case) for case in cases}

    def answer(request: Request) -> list[ToolCall] | str:
        return replies[request.messages[-1].to_dict()["content"]]

    recording = RecordingProvider(ScriptedProvider(default=answer), HERE / "recording.jsonl")
    report = evaluate(cases, [Model("scripted", recording)])
    failures = [f"{attempt.case}: {attempt.problems}" for attempt in report.attempts if not attempt.passed]
    print("\n".join([*failures, f"{report.rate.passed} of {report.rate.total} passed"]))


if __name__ == "__main__":
    main()
