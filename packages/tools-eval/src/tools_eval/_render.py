"""Render a report: text for a terminal, Markdown for a pull request, an HTML page, and JUnit's XML."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from itertools import chain
from typing import NamedTuple
from xml.etree import ElementTree as ET

from tools_core.command import counted
from tools_core.text import visible
from tools_eval._report import Attempt, Rate, Report

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; color: #1c2733; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
table { display: block; overflow-x: auto; border-collapse: collapse; } th { font-weight: 600; color: #5a6b7d; }
th, td { text-align: left; padding: .25rem .9rem .25rem 0; vertical-align: top; border-bottom: 1px solid #e3e8ee;
white-space: nowrap; } .long { white-space: normal; min-width: 15rem; overflow-wrap: anywhere; }
.all { color: #0a7d43; } .none { color: #b3261e; } .part { color: #9a5b00; }
@media (prefers-color-scheme: dark) { body { background: #10161d; color: #dbe4ee; } th, td { border-color: #2b3642; }
th { color: #93a4b5; } .all { color: #58c98a; } .none { color: #ff8a80; } .part { color: #ffc46b; } }
"""
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Evaluation of tools</title><style>{style}</style></head>
<body><h1>Evaluation of tools: {summary}</h1>
{body}</body></html>
"""
Cell = str | Rate


class Table(NamedTuple):
    """One part of a report."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]


def tables(report: Report, baseline: Report | None = None, *, full: bool = True) -> list[Table]:
    """Return the parts of a report that are not empty; without `full` no case that has passed."""
    judged = report.judged
    models = [_model_row(model, attempts) for (model,), attempts in report.groups("model").items()]
    cases: list[list[Cell]] = [
        [*key, rate] for key, rate in report.rates("case", "model").items() if full or rate.share < 1
    ]
    pairs = [
        [
            pair.expected,
            pair.chosen,
            str(pair.count),
            ", ".join(pair.from_questions),
            ", ".join(pair.shared),
            " / ".join(pair.sentences),
        ]
        for pair in report.collisions
    ]
    tools: list[list[Cell]] = [[*key, rate] for key, rate in report.rates("expected", "model").items()]
    blames: list[list[Cell]] = [[b.case, b.tool, b.sentence, b.before, b.after] for b in report.blames]
    changes = report.changes(baseline) if baseline else []
    changed: list[list[Cell]] = [[c.case, c.model, c.verdict, c.before, c.after, "; ".join(c.edits)] for c in changes]
    failures = _counted(
        (a.case, a.model, a.question if a.question != a.case else "", calls_text(a), "; ".join(a.problems))
        for a in judged
        if a.problems
    )
    errors = _counted((a.model, a.error) for a in report.attempts if a.error is not None)
    columns = ("tool", "instead", "times", "words of the question", "words of both descriptions", "closest sentences")
    parts = [
        Table("Models", ("model", "passed (95 %)", "right tool", "tokens", "cost"), models),
        Table("Compared with the baseline", ("case", "model", "verdict", "before", "now", "edited sentences"), changed),
        Table("Sentences to blame", ("case", "tool", "without this sentence", "before", "then"), blames),
        Table("Colliding descriptions", columns, pairs),
        _confusion(report),
        Table("Failures", ("case", "model", "request", "calls", "difference", "times"), failures),
        Table("Errors of providers", ("model", "error", "times"), errors),
        Table("Tools", ("tool", "model", "passed (95 %)"), tools if full else ()),
        Table("Cases", ("case", "model", "passed (95 %)"), cases if full else ()),
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


def _confusion(report: Report) -> Table:
    counts = report.confusion
    names = sorted(set(chain(*counts)))
    columns = sorted({chosen for _, chosen in counts})
    rows = [
        [expected, *(str(counts[expected, chosen] or "·") for chosen in columns)]
        for expected in names
        if any((expected, chosen) in counts for chosen in columns)
    ]
    is_diagonal = all(expected == chosen for expected, chosen in counts)
    return Table("Confusion (rows: expected, columns: chosen)", ("", *columns), () if is_diagonal else rows)


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
    for table in tables(report, baseline, full=False):
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


def as_markdown(report: Report, baseline: Report | None = None) -> str:
    """Return Markdown for a comment on a pull request."""
    blocks = [f"**Evaluation of tools: {summary(report)}**"]
    for table in tables(report, baseline, full=False):
        lines = [f"### {table.title}", "", _row(table.header), _row("---" for _ in table.header)]
        blocks.append("\n".join([*lines, *map(_row, table.rows)]))
    return "\n\n".join(blocks) + "\n"


def _row(cells: Iterable[Cell]) -> str:
    texts = (visible(str(cell)).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;") for cell in cells)
    return f"| {' | '.join(texts)} |"


def as_html(report: Report, baseline: Report | None = None) -> str:
    """Return a page without scripts and external resources."""
    body = ""
    for table in tables(report, baseline):
        head = "".join(f"<th>{escape(name)}</th>" for name in table.header)
        rows = "".join(f"<tr>{''.join(map(_cell, row))}</tr>\n" for row in table.rows)
        body += f"<h2>{escape(table.title)}</h2>\n<table><tr>{head}</tr>\n{rows}</table>\n"
    return _PAGE.format(style=_STYLE, summary=escape(summary(report)), body=body)


def _cell(cell: Cell) -> str:
    if isinstance(cell, Rate):
        kind = "all" if cell.share == 1 else "part" if cell.passed else "none"
        return f'<td class="{kind}">{escape(str(cell))}</td>'
    kind = ' class="long"' if len(cell) > 20 else ""
    return f"<td{kind}>{escape(visible(cell))}</td>"


def as_junit(report: Report, _baseline: Report | None = None) -> str:
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
