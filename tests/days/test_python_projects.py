"""Days of a Python engineer: tests, environments, packages, debugging and data in a session of the interpreter."""

from __future__ import annotations

import json
import os
import sys

import pytest

SHOP = {
    "src/shop/__init__.py": "from shop.cart import total\n\n__all__ = ['total']\n",
    "src/shop/cart.py": "def total(prices, discount=0):\n    return sum(prices) - discount / 100\n",
    "tests/test_cart.py": (
        "from shop import total\n\n\ndef test_total():\n    assert total([60, 40]) == 100\n\n\n"
        "def test_discount():\n    assert total([60, 40], discount=10) == 90\n"
    ),
    ".gitignore": "__pycache__/\n.pytest_cache/\n.venv/\ndist/\n*.egg-info/\n",
}
PYPROJECT = """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "shop"
version = "0.1.0"

[project.scripts]
shop-total = "shop.command:main"

[tool.pytest.ini_options]
addopts = "-p no:cacheprovider"
"""
# Without the plugins of this repository's environment, which the sandbox hides.
TESTS = f"PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 PYTHONPATH=src {sys.executable} -m pytest -q"


@pytest.mark.slow
def test_a_program_is_stepped_through_in_the_debugger(day):
    """Debug with pdb on a terminal: set a breakpoint, look at variables, change one, and let it end."""
    day.write({"loop.py": "total = 0\nfor number in range(5):\n    total += number\nprint('total', total)\n"})
    job = day.start("python3 -m pdb loop.py", "(Pdb)", tty=True)
    for command, answer in [
        ("b 4", "Breakpoint 1"),
        ("c", "loop.py(4)"),
        ("p total * 100", "1000"),
        ("!total = 7", "(Pdb)"),
    ]:
        cursor = day.call("job_output", id=job).output["next_cursor"]
        day.call("job_input", id=job, text=command, keys=["enter"])
        day.call("job_output", id=job, cursor=cursor, wait_for=answer, wait=30)
    day.call("job_input", id=job, text="c\nq\n")
    end = day.call("job_output", id=job, until_end=True, wait=30)
    assert "total 7" in end.output["output"] and end.output["exit_code"] == 0


@pytest.mark.slow
def test_data_is_explored_in_a_session_of_python(day):
    """Load data once, ask several questions about it, recover from a mistake, and save the answer."""
    rows = "".join(f'{{"id": {number}, "ms": {number * 37 % 101}}}\n' for number in range(1000))
    day.write({"requests.jsonl": rows})
    day.python("import json; rows = [json.loads(line) for line in open('requests.jsonl')]; len(rows)", session="log")
    assert day.python("max(rows, key=lambda row: row['ms'])['id']", session="log") == "30"
    mistake = day.attempt("python", code="rows[0]['time']", session="log")
    assert mistake.output["error"]["type"] == "KeyError"
    day.python("import statistics as s; slow = [row for row in rows if row['ms'] > 95]", session="log")
    day.python(
        "json.dump({'median': s.median(row['ms'] for row in rows), 'slow': len(slow)}, open('out.json', 'w'))",
        session="log",
    )
    assert json.loads(day.read("out.json")) == {"median": 50.0, "slow": 50}


@pytest.mark.slow
def test_notebooks_are_read_changed_and_run(day):
    """Read a notebook, change the source of a cell, and run its cells as a program."""
    cells = [
        {"cell_type": "code", "metadata": {}, "source": ["x = 20\n", "x * 2"], "outputs": [], "execution_count": None}
    ]
    day.write(
        {"study.ipynb": json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)}
    )
    assert "x = 20" in day.call("read_file", path="study.ipynb").content
    day.call("edit_file", path="study.ipynb", old_string='"x = 20\\n"', new_string='"x = 21\\n"')
    code = (
        "import json; source = json.load(open('study.ipynb'))['cells'][0]['source']; exec(source[0]); eval(source[1])"
    )
    assert day.python(code) == "42"


@pytest.mark.slow
def test_settings_and_secrets_come_from_the_environment(day, monkeypatch):
    """Run a program that reads its settings from variables; the user's keys do not appear in any output."""
    monkeypatch.setenv("PAYMENT_API_KEY", "sk-live-0123456789abcdef")
    day.repository(
        {"settings.py": "import os\n\nprint(os.environ.get('MODE', 'production'), os.environ.get('PAYMENT_API_KEY'))\n"}
    )
    assert day.bash("python3 settings.py && MODE=test python3 settings.py") == "production None\ntest None\n"
    day.write({".env": "PAYMENT_API_KEY=sk-live-0123456789abcdef\n"})
    assert day.bash("set -a; . ./.env; python3 settings.py") == "production [redacted PAYMENT_API_KEY]\n"
    day.uncommitted = ["?? .env"]
    assert os.environ["PAYMENT_API_KEY"] not in day.call("python", code="open('.env').read()").content
