"""Days of a Python engineer: tests, environments, packages, debugging and data in a session of the interpreter."""

from __future__ import annotations

import json
import os
import sys
import sysconfig

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
REPORT = """\
import sys


for line in sys.stdin:
    name, amount = line.split(",")
    print(name, int(amount) * 2)
"""
PATCH = """\
*** Begin Patch
*** Update File: report.py
@@
     name, amount = line.split(",")
+    if not amount.strip():
+        print("no amount:", name, file=sys.stderr)
+        continue
*** End Patch
"""
UNIQUE = """\
def unique(words):
    seen = []
    for word in words:
        if seen.count(word) == 0:
            seen.append(word)
    return len(seen)


print(unique([number % 500 for number in range(5000)]))
"""
HELPERS = """\
def slug(text):
    return text.lower().replace(" ", "-")


def short(text):
    return text[:1]
"""
WORDCOUNT = """\
import argparse
import sys


def count(lines, top):
    words = {}
    for line in lines:
        for word in line.split():
            words[word] = words.get(word, 0) + 1
    return sorted(words, key=lambda word: (-words[word], word))[:top]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Count words.")
    parser.add_argument("--top", type=int, default=3)
    print(*count(sys.stdin, parser.parse_args().top))
"""
TEST_WORDCOUNT = """\
import unittest

from wordcount import count


class TestCount(unittest.TestCase):
    def test_order(self):
        self.assertEqual(count(["b a", "b"], 2), ["b", "a"])
"""
PARALLEL = """\
import asyncio
import concurrent.futures
import multiprocessing


def square(number):
    return number**2


async def square_later(number):
    await asyncio.sleep(0)
    return number**2


async def main():
    return sum(await asyncio.gather(*map(square_later, range(10))))


if __name__ == "__main__":
    with concurrent.futures.ThreadPoolExecutor(8) as threads, multiprocessing.Pool(4) as processes:
        print(sum(threads.map(square, range(10))), sum(processes.map(square, range(10))), asyncio.run(main()))
"""
# Without the plugins of this repository's environment, which the sandbox hides.
TESTS = f"PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 PYTHONPATH=src {sys.executable} -m pytest -q"


def test_a_failing_test_is_fixed(day, level):
    """Run the tests, read the failure, correct the function, and commit when all pass."""
    day.repository(SHOP)
    failure = day.bash(TESTS, exit_code=1)
    assert "assert 99.9 == 90" in failure and "tests/test_cart.py:9: AssertionError" in failure
    assert "src/shop/cart.py" in day.call("grep", pattern=r"def total\b", type="py").content
    day.call("read_file", path="src/shop/cart.py")
    fixed = "sum(prices) * (100 - discount) / 100"
    day.call("edit_file", path="src/shop/cart.py", old_string="sum(prices) - discount / 100", new_string=fixed)
    assert "2 passed" in day.bash(f"{TESTS} && git commit -qam 'Fix the discount'")
    assert day.shell("git show --stat --format=%an%n%s").startswith("Ada Lovelace\nFix the discount\n")


@pytest.mark.slow
def test_a_package_is_built_in_an_environment_and_released(day):
    """Create an environment, install the project in it, add a command, build a wheel and install that."""
    day.repository(SHOP | {"pyproject.toml": PYPROJECT})
    day.bash(f"{sys.executable} -m venv .venv", timeout=300)
    # There is no network to install pytest and hatchling from.
    day.bash(f"echo {sysconfig.get_path('purelib')} > $(echo .venv/lib/python3*/site-packages)/shared.pth")
    command = "import sys\n\nfrom shop import total\n\n\ndef main():\n    print(total(map(float, sys.argv[1:])))\n"
    day.call("write_file", path="src/shop/command.py", content=command)
    install = ".venv/bin/pip install -q --no-index --no-build-isolation --disable-pip-version-check"
    day.bash(f"{install} --editable .", timeout=300)
    assert day.bash(".venv/bin/shop-total 1 2.5") == "3.5\n"
    tests = "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 .venv/bin/python -m pytest -q"
    assert "1 failed, 1 passed" in day.bash(tests, exit_code=1)

    day.bash("sed -i 's:sum(prices) - discount / 100:sum(prices) * (100 - discount) / 100:' src/shop/cart.py")
    assert "2 passed" in day.bash(tests)
    day.bash(f".venv/bin/python -m hatchling build && {install} --force-reinstall dist/shop-0.1.0-*.whl", timeout=300)
    assert "shop/command.py" in day.bash("python3 -m zipfile -l dist/shop-0.1.0-*.whl && mv src away")
    assert day.bash(".venv/bin/shop-total 40 2 && mv away src") == "42.0\n"
    day.bash("git add . && git commit -qm 'Add a command' && git tag -am 'First release' v0.1.0")
    assert day.shell("git describe") == "v0.1.0\n"


@pytest.mark.slow
def test_a_program_is_debugged_with_prints_and_tracebacks(day):
    """Reproduce a crash with the user's input, read the traceback, add logging, and fix the cause."""
    day.repository({"report.py": REPORT, "input.csv": "ada,20\nbob,\n"})
    crash = day.bash("python3 report.py", exit_code=1, stdin="ada,20\nbob,\n")
    assert crash.startswith("ada 40\n") and "ValueError: invalid literal for int()" in crash and "line 6" in crash
    day.call("apply_patch", patch=PATCH)
    output = day.bash("python3 report.py < input.csv 2> errors.txt; cat errors.txt && rm errors.txt")
    assert output == "ada 40\nno amount: bob\n"
    day.bash("git commit -qam 'Report missing amounts'")


@pytest.mark.slow
def test_a_program_is_stepped_through_in_the_debugger(day):
    """Debug with pdb on a terminal: set a breakpoint, print variables, assign to one, and continue to the end."""
    day.write({"loop.py": "total = 0\nfor number in range(5):\n    total += number\nprint('total', total)\n"})
    job = day.start("python3 -m pdb loop.py", "(Pdb)", tty=True)
    answers = {"b 4": "Breakpoint 1", "c": "loop.py(4)", "p total * 100": "1000", "!total = 7": "(Pdb)"}
    for command, answer in answers.items():
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
    day.python("answer = {'median': s.median(row['ms'] for row in rows), 'slow': len(slow)}", session="log")
    day.python("with open('answer.json', 'w') as file: json.dump(answer, file)", session="log")
    assert json.loads(day.read("answer.json")) == {"median": 50.0, "slow": 50}


@pytest.mark.slow
def test_a_slow_function_is_profiled_and_replaced(day):
    """Profile a slow program, replace a list by a set, and compare results and calls."""
    day.repository({"unique.py": UNIQUE})
    profile = "python3 -m cProfile -s tottime unique.py"
    before = day.bash(profile)
    assert before.startswith("500\n") and "unique.py:1(unique)" in before and "5000 " in before
    day.call("read_file", path="unique.py")
    loop = UNIQUE[UNIQUE.index("    seen") : UNIQUE.index("    return")]
    day.call("edit_file", path="unique.py", old_string=loop, new_string="    seen = set(words)\n")
    after = day.bash(profile)
    assert after.startswith("500\n") and "count" not in after
    day.bash("git commit -qam 'Count words with a set'")


@pytest.mark.slow
def test_a_module_is_split_and_its_imports_are_updated(day):
    """Move functions into a new module, update every import with grep and edits, and run the tests."""
    page = "from helpers import short, slug\n\nprint(slug('A B'), short('Ada'))\n"
    users = {f"pages/page{number}.py": page for number in range(12)}
    day.repository({"helpers.py": HELPERS, **users})
    day.call("move_path", source="helpers.py", destination="lib/text.py")
    day.call("write_file", path="lib/__init__.py", content="")
    matches = day.call("grep", pattern="from helpers import", output_mode="files").content
    paths = [line for line in matches.splitlines() if line.startswith("pages/")]
    assert len(paths) == 12
    for path in paths:
        day.call("read_file", path=path)
        day.call("edit_file", path=path, old_string="from helpers import", new_string="from lib.text import")
    output = day.bash("for page in pages/*.py; do PYTHONPATH=. python3 -B $page; done | sort | uniq -c")
    assert output.split() == ["12", "a-b", "A"]
    day.bash("git add -A && git commit -qm 'Move helpers to lib.text'")
    assert " rename helpers.py => lib/text.py (100%)\n" in day.shell("git show --summary --format= -M")


@pytest.mark.slow
def test_notebooks_are_read_changed_and_run(day):
    """Read a notebook, change the source of a cell, and run its cells as a program."""
    cell = {"cell_type": "code", "metadata": {}, "source": ["x = 20\n", "x * 2"], "outputs": []}
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    day.write({"study.ipynb": json.dumps(notebook, indent=1)})
    assert "x = 20" in day.call("read_file", path="study.ipynb").content
    day.call("edit_file", path="study.ipynb", old_string='"x = 20\\n"', new_string='"x = 21\\n"')
    day.python("import json; cells = json.load(open('study.ipynb'))['cells']", session="study")
    assert day.python("exec(cells[0]['source'][0]); eval(cells[0]['source'][1])", session="study") == "42"


@pytest.mark.slow
def test_settings_and_secrets_come_from_the_environment(day, monkeypatch):
    """Run a program that reads its settings from variables; the user's keys do not appear in any output."""
    monkeypatch.setenv("PAYMENT_API_KEY", "sk-live-0123456789abcdef")
    day.repository({"settings.py": "from os import environ as e\n\nprint(e.get('MODE'), e.get('PAYMENT_API_KEY'))\n"})
    assert day.bash("python3 settings.py && MODE=test python3 settings.py") == "None None\ntest None\n"
    day.write({".env": "PAYMENT_API_KEY=sk-live-0123456789abcdef\n"})
    assert day.bash("set -a; . ./.env; python3 settings.py") == "None [redacted PAYMENT_API_KEY]\n"
    day.uncommitted = ["?? .env"]
    assert os.environ["PAYMENT_API_KEY"] not in day.call("python", code="open('.env').read()").content


@pytest.mark.slow
def test_documentation_examples_are_run_as_tests(day):
    """Run the doctests of a page and of a module, and correct the example that is out of date."""
    day.repository(
        {
            "README.md": "Usage:\n\n>>> import shapes\n>>> shapes.area(2, 3)\n5\n",
            "shapes.py": "def area(a, b):\n    return a * b\n",
        }
    )
    failure = day.bash("PYTHONDONTWRITEBYTECODE=1 python3 -m doctest README.md", exit_code=1)
    assert "Expected:\n    5\nGot:\n    6\n" in failure
    day.call("read_file", path="README.md", offset=3, limit=3)
    day.call("edit_file", path="README.md", old_string="\n5\n", new_string="\n6\n")
    day.bash("PYTHONDONTWRITEBYTECODE=1 python3 -m doctest README.md && git commit -qam 'Correct an example'")


@pytest.mark.slow
def test_a_missing_package_is_reported_at_once(day):
    """Install a package that no index has: pip fails soon, and in a sandbox the result explains the network."""
    day.bash(f"{sys.executable} -m venv --without-pip .venv")
    install = f"{sys.executable} -m pip --python .venv install --index-url https://pypi.invalid/simple rich"
    result = day.call("bash", command=install, timeout=120)
    assert result.output["exit_code"] == 1
    is_sandbox = result.metadata["isolation"] in {"bubblewrap", "landlock"}
    assert ("this sandbox has no network" in result.content) == is_sandbox


@pytest.mark.slow
def test_a_concurrent_program_is_checked(day):
    """Write a program with threads, processes and coroutines, and stop an endless loop."""
    if day.call("bash", command="true").metadata["isolation"] == "landlock":
        pytest.skip("Landlock denies semaphores, whose folder all programs of the user share")
    day.call("write_file", path="work.py", content=PARALLEL)
    assert day.bash("python3 -B work.py") == "285 285 285\n"
    endless = day.attempt("python", code="print('begin', flush=True)\nwhile True: pass", timeout=3)
    assert endless.error_type == "timeout_error" and "begin" in endless.content
    assert day.python("1 + 1") == "2"


@pytest.mark.slow
def test_a_command_line_program_is_written_with_its_tests(day):
    """Write a program with argparse and its unittest tests, try its help, its errors and a pipe."""
    day.repository({"README.md": "# wordcount\n", ".gitignore": "__pycache__/\n"})
    day.call("write_file", path="wordcount.py", content=WORDCOUNT)
    day.call("write_file", path="test_wordcount.py", content=TEST_WORDCOUNT)
    assert "Ran 1 test" in day.bash("python3 -m unittest 2>&1")
    assert "Count words." in day.bash("python3 wordcount.py --help")
    assert "invalid int value: 'x'" in day.bash("python3 wordcount.py --top x", exit_code=2)
    assert day.bash("yes a b a | head -n 1000 | python3 wordcount.py --top 1") == "a\n"
    day.bash("git add . && git commit -qm 'Count words'")
