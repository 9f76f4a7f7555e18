"""The modules that defining a tool loads, which programs pay for at start."""

import subprocess
import sys

import pytest

HEAVY = [
    "inspect", "dataclasses", "pydantic", "annotated_types", "typing_extensions", "asyncio", "datetime",
    "decimal", "pathlib", "uuid", "textwrap", "ast", "base64", "difflib",
]  # fmt: skip
if sys.version_info >= (3, 14):
    HEAVY.remove("ast")  # which is where forward references are read from there on, by typing itself

DEFINE = """
from tools_core._definition._define import define

def take(a: int, b: list[str] | None = None) -> dict[str, int]:
    'Take.\\n\\n    Args:\\n        a: The a.\\n    '

define(take)
"""


def loaded_by(code: str) -> set[str]:
    check = f"import sys; before = set(sys.modules)\n{code}\nprint(*(set(sys.modules) - before), sep='\\n')"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "code",
    [
        "import tools_core._definition._define",
        DEFINE,
    ],
    ids=["import", "a plain function"],
)
def test_nothing_heavy_is_loaded(code):
    assert loaded_by(code) & set(HEAVY) == set()
