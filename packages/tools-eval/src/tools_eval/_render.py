"""Render a report: text for a terminal, and JUnit's XML."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple
from xml.etree import ElementTree as ET

from tools_core.command import counted
from tools_core.text import visible
from tools_eval._report import Attempt, Rate, Report

Cell = str | Rate


class Table(NamedTuple):
    """One part of a report."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]


def tables(report: Report, baseline: Report | None = None) -> list[Table]:
    """Return the parts of a report that are not empty."""
    judged = report.judged
    models = [_model_row(model, attempts) for (model,), attempts in report.groups("model").items()]
    blames: list[list[Cell]] = [[b.case, b.tool, b.sentence, b.before, b.after] for b in report.blames]
    changes = report.changes(baseline) if baseline else []
    changed: list[list[Cell]] = [[c.case, c.model, c.verdict, c.before, c.after, "; ".join(c.edits)] for c in changes]
    failures = _counted(
        (a.case, a.model, a.question if a.question != a.case else "", calls_text(a), "; ".join(a.problems))
        for a in judged
        if a.problems
    )
    errors = _counted((a.model, a.error) for a in report.attempts if a.error is not None)
    parts = [
        Table("Models", ("model", "passed (95 %)", "right tool", "tokens", "cost"), models),
        Table("Compared with the baseline", ("case", "model", "verdict", "before", "now", "edited sentences"), changed),
        Table("Sentences to blame", ("case", "tool", "without this sentence", "before", "then"), blames),
        Table("Failures", ("case", "model", "request", "calls", "difference", "times"), failures),
        Table("Errors of providers", ("model", "error", "times"), errors),
    ]
    return [table for table in parts if table.rows]


def _model_row(model: str, attempts: Sequence[Attempt]) -> list[Cell]:
    right = [attempt.expected == attempt.chosen for attempt in attempts if attempt.error is None]
    costs = [attempt.cost for attempt in attempts if attempt.cost is not None]
    tokens = sum(attempt.tokens for attempt in attempts)
    cost = f"${sum(costs):.4f}" if costs else ""
    return [model, Rate.of(attempts), Rate(sum(right), len(right)), f"{tokens:,}", cost]


def _counted(rows: Iterable[tuple[str, ...]]) -> list[list[str]]:
    """Return different rows, each with the number of times it occurs."""
    return [[*row, str(count)] for row, count in Counter(rows).items()]


def calls_text(attempt: Attempt) -> str:
    """Return the calls of an attempt, or its text."""
    calls = []
    for call in attempt.calls:
        arguments = call["arguments"]
        text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        calls.append(f"{call['name']} {text}")
    return "; ".join(calls) or f"no call: {attempt.text[:200]}"


def summary(report: Report) -> str:
    """Return the rate in one line."""
    low, high = report.rate.interval
    text = f"{report.rate.passed} of {report.rate.total} passed ({low:.0%} to {high:.0%})"
    errors = len(report.attempts) - len(report.judged)
    text += f", {counted(errors, 'error')}" if errors else ""
    return text + (f", {report.skipped} skipped: the budget is used up" if report.skipped else "")


def as_text(report: Report, baseline: Report | None = None) -> str:
    """Return text for a terminal: wide tables as blocks of lines."""
    blocks = []
    for table in tables(report, baseline):
        rows = [[str(cell) for cell in row] for row in table.rows]
        if max(sum(map(len, row)) for row in rows) > 100:
            lines = [
                "\n".join(f"  {name}: {cell}" for name, cell in zip(table.header, row, strict=True) if cell)
                for row in rows
            ]
            text = "\n\n".join(lines)
        else:
            grid = [list(table.header), *rows]
            widths = [max(map(len, column)) for column in zip(*grid, strict=True)]
            text = "\n".join("  " + "  ".join(map(str.ljust, row, widths)).rstrip() for row in grid)
        blocks.append(f"{table.title}\n{text}")
    return "\n\n".join([*blocks, summary(report)])


def as_junit(report: Report) -> str:
    """Return JUnit's XML, with a suite for each model and a test for each case."""
    root = ET.Element("testsuites", name="ask-tools eval")
    suites = {model: ET.SubElement(root, "testsuite", name=visible(model)) for (model,) in report.groups("model")}
    for (model, name), attempts in report.groups("model", "case").items():
        seconds = sum(attempt.seconds for attempt in attempts)
        values = {"name": visible(name), "classname": visible(attempts[0].expected), "time": f"{seconds:.3f}"}
        test = ET.SubElement(suites[model], "testcase", values)
        passed = f"{sum(attempt.passed for attempt in attempts)} of {len(attempts)} passed"
        for kind, texts in (("error", [a.error for a in attempts if a.error]), ("failure", _failures(attempts))):
            if texts:
                ET.SubElement(test, kind, message=passed).text = visible("\n".join(texts), keep_layout=True)
    for suite in suites.values():
        totals = {"tests": "testcase", "failures": "testcase/failure", "errors": "testcase/error"}
        suite.attrib |= {key: str(len(suite.findall(path))) for key, path in totals.items()}
    ET.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _failures(attempts: Iterable[Attempt]) -> list[str]:
    texts = (f"{a.question}\n{calls_text(a)}\n{'; '.join(a.problems)}" for a in attempts if a.problems)
    return [*dict.fromkeys(texts)]
