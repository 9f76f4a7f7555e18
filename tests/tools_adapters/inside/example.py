"""The documented example of a framework, in the folder where test_frameworks.py has written it."""

import re
import runpy
from pathlib import Path


def test_the_example_shows_its_real_output(capsys):
    runpy.run_path("example.py", run_name="__main__")
    shown = re.findall(r"^#> ?(.*)$", Path("example.py").read_text(), re.MULTILINE)
    assert capsys.readouterr().out.splitlines() == shown
