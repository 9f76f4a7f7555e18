"""Discovered tools at their first use: objects of entry points, and broken packages."""

from __future__ import annotations

import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tools_core import Registry, ToolCall, ToolError

NOTES = """
    from tools_core import Toolset, tool

    class Notes(Toolset):
        def __init__(self, *texts):
            self.texts = [*texts]

        def add(self, text: str) -> int:
            "Add a note."
            self.texts.append(text)
            return len(self.texts)

        @tool(read_only=True)
        def all(self) -> list[str]:
            "List the notes."
            return self.texts

    notes = Notes("first")
"""


def problems_of(registry):
    return [str(problem) for problem in registry.problems]


@pytest.mark.parametrize(("toolset", "notes"), [("Notes", ["milk"]), ("notes", ["first", "milk"])])
def test_methods_of_a_toolset_are_entry_points_that_share_its_state(site, discovered, toolset, notes):
    site.install("tools-notes", [f"notes_add = {{}}:{toolset}.add", f"notes_all = {{}}:{toolset}.all"], NOTES)
    registry = discovered()
    assert list(registry) == ["notes_add", "notes_all"]
    assert registry["notes_add"].call(text="milk").output == len(notes)
    assert registry["notes_all"].call().output == notes
    assert registry["notes_all"].read_only
    assert registry.problems == []


@pytest.mark.parametrize("toolset", ["Notes", "notes"])
def test_an_entry_point_for_a_toolset_is_a_problem_with_the_right_lines(site, discovered, toolset):
    site.install("tools-notes", [f"notes = {{}}:{toolset}"], NOTES)
    registry = discovered()
    with pytest.raises(ToolError, match="is a toolset; an entry point is one tool"):
        registry["notes"]
    (problem,) = registry.problems
    lines = f'notes_add = "tools_notes:{toolset}.add", notes_all = "tools_notes:{toolset}.all"'
    assert problem.fix == f"list each method in tools-notes: {lines}"


def test_the_name_of_the_entry_point_is_the_name_of_the_tool(site, discovered):
    site.install("tools-weather", ["fetch = {}:Get"])
    registry = discovered()
    assert (registry["fetch"].name, registry["fetch"].call().output) == ("fetch", "tools_weather")
    assert ([item["name"] for item in registry.definitions()], "get" in registry) == (["fetch"], False)
    (problem,) = registry.problems
    assert problem.error == "the entry point `fetch` has a tool called `get`; it is used as `fetch`"
    assert problem.fix == "give both the same name in tools-weather"


# --- packages that cannot be loaded

BROKEN = {
    "missing dependency": (
        "import nltk_is_missing",
        "ModuleNotFoundError: No module named 'nltk_is_missing'",
        "install the package that provides `nltk_is_missing`",
    ),
    "raises": ("raise RuntimeError('two\\nlines \\x1b[31m')", "RuntimeError: two lines \\x1b[31m", "upgrade or"),
    "exits": ("import sys; sys.exit(3)", "called sys.exit(3) while it was imported", "upgrade or"),
    "no attribute": ("pass", "`tools_broken:Get` does not exist", "upgrade or uninstall"),
}


@pytest.mark.parametrize(("source", "error", "fix"), BROKEN.values(), ids=BROKEN)
def test_a_broken_package_is_a_problem_with_its_fix_and_hides_no_other(site, discovered, source, error, fix):
    site.install("tools-broken", ["get = {}:Get"], source, version="1.0")
    site.install("tools-good", ["good = {}:Get"])
    registry = discovered()
    with pytest.raises(ToolError) as unavailable:
        registry["get"]
    message = str(unavailable.value)
    assert message.isprintable()
    assert message.startswith("`get` of tools-broken 1.0 is unavailable: ")
    assert error in message and f"; fix: {fix}" in message
    assert registry.get("get", "default") == "default"
    assert registry.call(ToolCall("1", "get", {})).error_type == "unavailable"
    assert (list(registry), list(registry.items())) == (["get", "good"], [("good", registry["good"])])
    problem, *_ = registry.problems
    assert (problem.distribution, problem.version) == ("tools-broken", "1.0")
    assert message.endswith(f"{problem.error}; fix: {problem.fix}")
    assert unavailable.value.__cause__ is problem.cause is not None
    assert site.times_imported("tools_broken") <= 1


def test_the_fix_for_a_missing_package_names_its_folder_or_distribution(site, discovered, monkeypatch):
    site.install("tools-away", ["get = {}:Get"])
    site.install("tools-lost", ["lost = nowhere_to_be_found:Get"])
    outside = [path for path in sys.path if path != str(site.folder)]
    for path, fixes in [
        (outside, [f"add {site.folder} to sys.path"] * 2),
        ([*outside, str(site.folder)], ["reinstall tools-lost"]),
    ]:
        monkeypatch.setattr(sys, "path", path)
        registry = discovered()
        registry.all()
        assert [problem.fix for problem in registry.problems] == fixes


def test_the_next_discovery_gives_a_broken_package_another_chance(site, discovered):
    site.install("tools-broken", ["get = {}:Get"], "import arrives_later\nfrom arrives_later import Get")
    registry = discovered()
    assert registry.all() == []
    site.install("arrives-later", [])
    assert registry.all() == []
    assert registry.discover(paths=[site.folder]) == []
    assert registry["get"].call().output == "arrives_later"
    assert registry.problems == []


# --- how packages are imported


def test_a_constructor_may_read_the_definitions_of_all_other_tools(site, discovered):
    source = """
        from tools_core import Tool
        import registries

        class Catalogue(Tool):
            def __init__(self):
                self.names = [item["name"] for item in registries.used.definitions()]
            def execute(self) -> list[str]:
                return self.names
    """
    site.install("registries", [], "used = None")
    site.install("tools-catalogue", ["catalogue = {}:Catalogue"], source)
    site.install("tools-good", ["good = {}:Get"])
    registry = discovered()
    import registries

    registries.used = registry
    assert registry["catalogue"].call().output == ["good"]
    assert registry.problems[1:] == []


def test_threads_that_load_tools_at_the_same_time_restore_the_import_path(site, tmp_path, run_python):
    site.install("import-gate", [], "import threading\nboth = threading.Barrier(2)")
    meet = "import sys, import_gate\nsys.path.append(__name__)\nfor _ in range(2):\n    import_gate.both.wait()\n"
    for name in ("one", "two"):
        source = f"{meet}import colorsys\nfrom tools_core import tool\n@tool\ndef {name}(): ...\n"
        site.install(name, [f"{name} = {{}}:{name}"], source)
    (tmp_path / "colorsys.py").write_text("raise SystemExit('forged')")
    (tmp_path / "agent.py").write_text("""
import sys, threading
before = sys.path[:]
from tools_core import registry
threads = [threading.Thread(target=registry.get, args=[name]) for name in registry]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(registry.problems, sys.path[:-2] == before, sorted(sys.path[-2:]))
""")
    assert run_python("", options=["agent.py"], cwd=tmp_path) == "[] True ['one', 'two']"


def test_threads_that_read_first_at_the_same_time_get_the_same_tools(site):
    for number in range(20):
        site.install(f"tools-many{number:02}", [f"many{number:02} = {{}}:Get"])
    registry = Registry(auto=True)
    start = threading.Barrier(40)

    def work(number):
        start.wait()
        names = [name for name in registry if name.startswith("many")]
        return names, registry[f"many{number % 20:02}"]

    with ThreadPoolExecutor(40) as pool:
        results = list(pool.map(work, range(40)))
    expected = [f"many{number:02}" for number in range(20)]
    assert all(names == expected for names, _ in results)
    for number in range(20):
        assert len({id(tool) for _, tool in results[number::20]}) == 1
        assert site.times_imported(f"tools_many{number:02}") == 1
