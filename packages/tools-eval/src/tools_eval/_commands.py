"""`ask-tools eval`: does a model use the tools well?"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from dataclasses import replace
from fnmatch import fnmatchcase
from math import inf, nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tools_core.command import (
    CommandError,
    ProgressLine,
    install_command,
    is_terminal,
    note,
    write,
    write_json,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tools_eval._cases import Case
    from tools_eval._report import Attempt, Report
    from tools_eval._run import Model

_EPILOG = """\
A case file lists questions, and for each the expected tool and arguments: see docs/evaluation.md. Tools are not run,
unless a case has a `workspace`. Models have the retries, keys and addresses of tools-agent.

models: openai:gpt-5 and other models of tools-agent; replay:FILE.jsonl, a recording; FILE.py:NAME, a provider in a
file; scripted:words, a script that compares words: it shows how evaluation works, and says nothing about models.

Exit codes: 0 all attempts passed, or --min percent of them; with --baseline: no case is worse than before, beyond
noise. 1 otherwise; if a provider failed or the budget was used up; and with --baseline if one of its cases has no
result, or none is in common. 2 wrong usage.

examples:
  ask-tools eval --model scripted:words
  ask-tools eval --model openai:gpt-5 --model anthropic:claude-sonnet-5-5 -n 5 --max-cost 1
  ask-tools eval evals/rain.toml 'rain*' --model openai:gpt-5 --why
  ask-tools eval --model openai:gpt-5 -n 5 --json > baseline.json
"""


def configure(parser: ArgumentParser) -> None:
    """Add the arguments of `eval`."""
    parser.description = "Ask models the questions of cases, and show which tools they choose."
    parser.epilog = _EPILOG
    text = "a file or folder of cases (default: evals), or a pattern of the names of cases or expected tools"
    parser.add_argument("patterns", metavar="PATTERN", nargs="*", default=[], help=text)
    parser.add_argument("--model", metavar="PROVIDER:NAME", action="append", default=[], help="may be repeated")
    parser.add_argument("-n", "--runs", metavar="N", type=_positive, default=1, help="attempts per case (default: 1)")
    parser.add_argument("--jobs", metavar="N", type=_positive, default=8, help="requests at once (default: 8)")
    text = "US dollars after which no request is sent; needs the extra `prices` of tools-agent"
    parser.add_argument("--max-cost", metavar="DOLLARS", type=_amount, help=text)
    text = "repeat failing cases without single sentences of descriptions, and name the sentences to blame"
    parser.add_argument("--why", action="store_true", help=text)
    parser.add_argument("--baseline", metavar="FILE", help="compare with an earlier --json")
    parser.add_argument("--min", metavar="PERCENT", type=_amount, default=100.0, help="the attempts that must pass")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("--junit", metavar="FILE", help="also write JUnit's XML")
    parser.add_argument("--record", metavar="FILE", help="record the replies of the model, for replay:FILE")
    parser.set_defaults(run=run, intermixed=True)


def run(options: Namespace) -> int:
    """Evaluate, write the reports, and return the exit code."""
    from tools_agent import ProviderError
    from tools_eval._expect import CaseError
    from tools_eval._run import evaluate

    if not options.model:
        raise CommandError(
            "no model: use --model PROVIDER:NAME, such as openai:gpt-5, or scripted:words, which needs no key"
        )
    _check_outputs(options)
    baseline = _read_baseline(options.baseline, _names(options.patterns))
    try:
        cases = _cases(options.patterns)
        models = [_model(label) for label in options.model]
        if options.record:
            models = _recording(models, options.record)
        with ProgressLine() as line:
            report = evaluate(
                cases, models, runs=options.runs, jobs=options.jobs, max_cost=options.max_cost, why=options.why,
                on_attempt=_progress(line, len(cases) * len(models) * options.runs),
            )  # fmt: skip
    except (CaseError, ProviderError) as error:
        raise CommandError(str(error)) from error
    _write(report, baseline, options)
    if baseline is not None:
        failures = report.failures(baseline)
        for failure in failures:
            note(failure)
        return 1 if failures else 0
    return 0 if report.is_complete and 100 * report.rate.share >= options.min else 1


def _cases(patterns: list[str]) -> list[Case]:
    """Return the cases of the files among the patterns, and of these the ones that other patterns select."""
    from tools_eval._files import load_cases

    names = _names(patterns)
    paths = [pattern for pattern in patterns if pattern not in names]
    if missing := next((name for name in names if name.endswith((".toml", ".jsonl", ".py"))), None):
        raise CommandError(f"the file {missing} does not exist")
    if not paths and not Path("evals").is_dir():
        raise CommandError("the folder evals does not exist here", "name a file of cases")
    cases = load_cases(*(paths or ["evals"]))
    selected = [case for case in cases if _is_selected(names, [case.name, *case.expected_tools])]
    if not selected:
        raise CommandError(f"no case matches {' '.join(names) or ' '.join(paths)}")
    return selected


def _names(patterns: list[str]) -> list[str]:
    return [pattern for pattern in patterns if not Path(pattern).exists()]


def _is_selected(names: list[str], texts: list[str]) -> bool:
    return not names or any(fnmatchcase(text, name) for name in names for text in texts)


def _model(label: str) -> Model:
    from tools_eval._expect import run_file
    from tools_eval._run import Model

    if label == "scripted:words":
        from tools_eval._scripted import words_provider

        return Model(label, words_provider())
    if label.startswith("replay:"):
        recording = _recordings().ReplayProvider(label.removeprefix("replay:"))
        return Model(label, recording, recording.model)
    path, _, name = label.rpartition(":")
    if path.endswith(".py"):
        provider: Any = run_file(Path(path)).get(name)
        if not hasattr(provider, "astream"):
            raise CommandError(f"{label} is not a provider: it has no method astream")
        return Model(label, provider)
    return Model.named(label)


def _recording(models: list[Model], path: str) -> list[Model]:
    create = _recordings().RecordingProvider
    try:
        providers = [create(model.provider, path, append=index > 0) for index, model in enumerate(models)]
    except OSError as error:
        raise CommandError(f"--record {path}: {error.strerror}") from error
    return [model._replace(provider=provider) for model, provider in zip(models, providers, strict=True)]


def _recordings() -> Any:
    try:
        import tools_testing  # the extra `record`
    except ImportError as error:
        fix = f"fix: {install_command('tools-eval', 'record')}"
        raise CommandError("recordings need tools-testing", fix) from error
    return tools_testing


def _read_baseline(path: str | None, names: list[str]) -> Report | None:
    """Return an earlier report, as far as patterns of names select its cases."""
    from tools_eval._report import Report

    if path is None:
        return None
    try:
        report = Report.from_dict(json.loads(Path(path).read_text("utf-8-sig")))
    except OSError as error:
        raise CommandError(f"--baseline {path}: {error.strerror}") from error
    except (KeyError, RecursionError, TypeError, ValueError) as error:
        raise CommandError(f"--baseline {path} is not the output of ask-tools eval --json") from error
    selected = [attempt for attempt in report.attempts if _is_selected(names, [attempt.case, attempt.expected])]
    return replace(report, attempts=selected)


def _check_outputs(options: Namespace) -> None:
    """Raise CommandError for files that cannot be written, before a request is sent."""
    if options.junit and not Path(options.junit).absolute().parent.is_dir():
        raise CommandError(f"{options.junit} cannot be written: its folder does not exist")


def _write(report: Report, baseline: Report | None, options: Namespace) -> None:
    from tools_eval import _render

    if options.junit:
        try:
            Path(options.junit).write_text(_render.as_junit(report), "utf-8")
        except OSError as error:
            raise CommandError(f"{options.junit} cannot be written: {error.strerror}", status=1) from error
    if options.json:
        write_json(report.to_dict())
    else:
        write(_render.as_text(report, baseline))


def _progress(line: ProgressLine, total: int) -> Callable[[Attempt], None]:
    """Return a function that shows the number of attempts on a terminal."""
    attempts: list[bool] = []

    def show(attempt: Attempt) -> None:
        attempts.append(attempt.passed)
        is_done = len(attempts) > total  # the rest looks for sentences to blame
        if is_terminal(sys.stderr):
            message = "attempts to find sentences" if is_done else f"attempts, {attempts.count(False)} failed"
            line(len(attempts), None if is_done else total, message)

    return show


def _positive(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise ArgumentTypeError(f"expected a positive number, got {text}")
    return int(text)


def _amount(text: str) -> float:
    try:
        amount = float(text)
    except ValueError:
        amount = nan
    if not 0 <= amount < inf:
        raise ArgumentTypeError(f"expected a number, 0 or more, got {text}")
    return amount
