"""Installed plugins: each loaded by itself, and none takes the others along."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

WORKING = """
    from tools_runtime import hookimpl

    @hookimpl
    def after_tool_call(result):
        return result.with_metadata({__name__: True})
"""

RUN = """
    import json, logging
    from tools_core import ToolCall, tool
    import tools_runtime._plugins as loader
    loader._LOAD_TIMEOUT = 1.0
    from tools_runtime import Executor

    lines = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())
    logging.getLogger("tools_runtime").addHandler(handler)

    @tool
    def work() -> str:
        "Work."
        return "done"

    executor = Executor([work])
    result = executor.call(ToolCall("1", "work"))
    print(json.dumps({
        "output": result.output, "seen": sorted(result.metadata), "problems": executor.plugins.problems,
        "origins": executor.plugins.origins, "log": lines,
        "runtimes": sorted(executor._runtimes._named),
    }))
"""


class Site:
    """A folder with installed distributions."""

    def __init__(self, folder):
        self.folder = folder

    def install(self, distribution, name, source):
        module = distribution.replace("-", "_")
        mark = f"import pathlib; pathlib.Path({str(self.folder / module)!r} + '.imported').touch()\n"
        (self.folder / f"{module}.py").write_text(mark + textwrap.dedent(source))
        info = self.folder / f"{distribution.replace('-', '_')}-1.5.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.5\n")
        (info / "entry_points.txt").write_text(f"[ask_tools.plugins]\n{name} = {module}\n")

    def was_imported(self, distribution):
        return (self.folder / f"{distribution.replace('-', '_')}.imported").exists()

    def run(self, **variables):
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("ASK_TOOLS_", "PYTHON"))}
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(RUN)],
            env=kept | {"PYTHONPATH": str(self.folder)} | variables,
            cwd=self.folder, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@pytest.fixture
def site(tmp_path):
    return Site(tmp_path)


def test_a_plugin_works_just_by_being_installed(site):
    site.install("acme-hooks", "guard", WORKING)
    answer = site.run()
    assert answer["output"] == "done" and answer["seen"] == ["acme_hooks"]
    assert answer["origins"]["acme-hooks:guard"] == "acme-hooks 1.5"
    assert answer["problems"] == {} and answer["log"] == []


def test_two_distributions_may_use_one_name(site):
    site.install("acme-hooks", "guard", WORKING)
    site.install("other-hooks", "guard", WORKING)
    answer = site.run()
    assert answer["seen"] == ["acme_hooks", "other_hooks"]
    assert {"acme-hooks:guard", "other-hooks:guard"} <= set(answer["origins"])


BROKEN = {
    "raises": ("raise LookupError('broken')", "LookupError: broken"),
    "exits": ("raise SystemExit(3)", "SystemExit: 3"),
    "hangs": ("import threading; threading.Event().wait()", "it did not load within 1 s"),
    "hangs-when-made": (
        "import sys, threading\nclass P:\n    def __init__(self): threading.Event().wait()\nsys.modules[__name__] = P",
        "it did not load within 1 s",
    ),
    "says-nothing": (
        "class Mute(Exception):\n    def __str__(self): raise RuntimeError('no words')\nraise Mute", "Mute"
    ),
    "no-hook": ("pass", "has no hook"),
    "misspelt": ("from tools_runtime import hookimpl\n@hookimpl\ndef befor(): ...", "hooks that do not exist: befor"),
    "no-generator": (
        "from tools_runtime import hookimpl\n@hookimpl\ndef around_tool_call(): ...", "result = yield"
    ),
    "runtimes": (
        "from tools_runtime import hookimpl\n@hookimpl\ndef register_runtimes(): raise SystemExit(4)", "SystemExit: 4"
    ),
    "attributes": (
        "import sys\nclass P:\n    @property\n    def x(self): raise OSError('attribute')\nsys.modules[__name__] = P()",
        "attribute",
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("how", BROKEN)
def test_a_broken_plugin_is_named_and_keeps_nothing_from_the_others(site, how):
    source, text = BROKEN[how]
    site.install(f"bad-{how}", "bad", source)
    site.install("acme-hooks", "guard", WORKING)
    site.install("zebra-hooks", "guard", WORKING)
    answer = site.run()
    assert answer["output"] == "done" and answer["seen"] == ["acme_hooks", "zebra_hooks"]
    name = f"bad-{how}:bad"
    assert list(answer["problems"]) == [name] and text in answer["problems"][name]
    assert any(name in line and text in line for line in answer["log"])


MARS = """
    from tools_runtime import InlineRuntime, hookimpl

    @hookimpl
    def register_runtimes():
        return {"mars": InlineRuntime}
"""


def test_an_installed_plugin_brings_runtimes(site):
    site.install("acme-runtime", "mars", MARS)
    assert "mars" in site.run()["runtimes"]


@pytest.mark.parametrize(
    ("variables", "imported"),
    [
        ({}, {"acme-hooks", "other-hooks"}),
        ({"ASK_TOOLS_DENY": "acme-hooks"}, {"other-hooks"}),
        ({"ASK_TOOLS_ALLOW": "acme-hooks"}, {"acme-hooks"}),
        ({"ASK_TOOLS_DENY": "acme-hooks:guard"}, {"other-hooks"}),
    ],
)
def test_what_is_not_allowed_is_not_imported(site, variables, imported):
    site.install("acme-hooks", "guard", WORKING)
    site.install("other-hooks", "guard", WORKING)
    answer = site.run(**variables)
    assert {name for name in ("acme-hooks", "other-hooks") if site.was_imported(name)} == imported
    assert set(answer["seen"]) == {name.replace("-", "_") for name in imported}


def test_a_distribution_with_plugins_alone_is_loaded_as_it_was_locked_and_barred_otherwise(site):
    site.install("acme-hooks", "guard", WORKING)
    command = Path(sys.executable).with_name("ask-tools")
    lock = site.folder / "ask-tools.lock"
    variables = {"PATH": os.environ["PATH"], "PYTHONPATH": str(site.folder)}
    subprocess.run([command, "lock", "--file", lock], env=variables, capture_output=True, timeout=60, check=True)
    assert not site.was_imported("acme-hooks")
    site.install("other-hooks", "guard", WORKING)
    answer = site.run(ASK_TOOLS_LOCK=str(lock))
    assert (answer["seen"], answer["problems"]) == (["acme_hooks"], {})
    assert not site.was_imported("other-hooks")
    (site.folder / "acme_hooks-1.5.dist-info" / "entry_points.txt").write_text(
        "[ask_tools.plugins]\nguard = other_hooks\n"
    )
    assert site.run(ASK_TOOLS_LOCK=str(lock))["seen"] == []
    assert not site.was_imported("other-hooks")


# What an import costs


def modules_after(code):
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; {code}; print(*sorted(sys.modules))"],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    return set(done.stdout.split())


HEAVY = {"asyncio", "ray", "opentelemetry", "json", "subprocess", "tomllib", "logging", "concurrent.futures", "socket"}


def test_the_import_brings_nothing_heavy_of_its_own():
    brought = modules_after("import tools_runtime") - modules_after("pass")
    assert not brought & HEAVY
    assert {name for name in brought if name.startswith("tools_runtime")} == {"tools_runtime"}


def test_an_executor_brings_nothing_heavy_of_its_own():
    brought = modules_after("from tools_runtime import Executor, hookimpl") - modules_after(
        "import pluggy; from tools_core import Context, Registry, Result, Tool, ToolCall"
    )
    assert not brought & HEAVY


def test_public_names_are_complete_sorted_and_loaded_when_they_are_used():
    import tools_runtime

    names = tools_runtime.__all__
    assert names == sorted(names) and len(set(names)) == len(names)
    assert dir(tools_runtime) == names
    assert sorted(tools_runtime._HOMES) == names
    for name in set(names) - {"RayRuntime"}:
        assert getattr(tools_runtime, name) is not None
    with pytest.raises(AttributeError, match="nonsense"):
        tools_runtime.nonsense  # noqa: B018
