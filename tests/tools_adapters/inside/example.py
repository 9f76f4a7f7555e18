"""The documented examples of a framework, in the folder where test_frameworks.py has written them."""

import re
import runpy
from pathlib import Path

import pytest


@pytest.mark.parametrize("example", sorted(Path().glob("example*.py")), ids=str)
def test_an_example_prints_its_documented_output(example, capsys):
    runpy.run_path(str(example), run_name="__main__")
    expected = re.findall(r"^#> ?(.*)$", example.read_text(), re.MULTILINE)
    assert capsys.readouterr().out.splitlines() == expected
