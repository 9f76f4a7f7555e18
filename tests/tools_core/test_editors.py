"""Completion in editors and REPLs that use jedi, which reads the source and runs nothing."""

import pytest


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import tools_core; tools_core.to", {"tool"}),
        ("import tools_core; tools_core.R", {"Registry", "Result"}),
        ("from tools_core import Result; Result.o", {"ok", "output"}),
        ("from tools_core import tool\n@tool\ndef f(a: int) -> int: ...\nf.call(a=1).un", {"unwrap"}),
        ("from tools_core import registry\nregistry['weather'].acal", {"acall"}),
        ("from tools_core import Context\nContext().workspace.is_d", {"is_dir"}),
        ("import tools_shell; tools_shell.Ba", {"Bash"}),
    ],
)
def test_jedi_completes_public_names_and_methods(code, expected):
    jedi = pytest.importorskip("jedi", reason="jedi is not installed")
    assert {completion.name for completion in jedi.Script(code).complete()} >= expected
