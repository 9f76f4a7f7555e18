"""Tools that an installed package finds elsewhere: entry points of the group `ask_tools.sources`."""

from __future__ import annotations

import pytest

from tools_core import ToolError, UnknownToolError

SOURCE = """
    from typing import NamedTuple

    from tools_core import tool


    class Found(NamedTuple):
        origin: str
        remote: str
        error: str = ""
        version: str = "2.0"
        value: str = "npx server"
        folder: str = "/etc/servers.json"
        fix: str = "repair it"

        @property
        def name(self):
            return f"{self.origin}_{self.remote}"

        def load(self):
            if self.remote == "broken":
                raise ValueError("no schema")

            @tool(name=self.name)
            def speak() -> str:
                \"\"\"Say where it comes from.\"\"\"
                return f"{self.origin} {self.remote}"

            return speak


    def source():
        yield Found("Hub", "search")
        yield Found("Hub", "fetch")
        yield Found("Lab", "fetch")
        yield Found("Lab", "broken")
        yield Found("Old", "server", "not accepted yet")
"""


@pytest.fixture
def registry(site, discovered):
    site.install("tools-far", ["far = {}:source"], SOURCE, group="ask_tools.sources")
    return discovered()


def test_tools_of_a_source_are_discovered_and_load_on_first_use(registry):
    assert "Hub_search" in registry
    point = registry.origin("Hub_search")
    assert (point.distribution, point.version, point.value) == ("far:hub", "2.0", "npx server")
    assert registry["Hub_search"].call().output == registry["far:Hub:search"].call().output == "Hub search"


def test_equal_tools_of_two_origins_keep_their_names(site, discovered):
    site.install("tools-far", ["far = {}:source"], SOURCE, group="ask_tools.sources")
    assert list(discovered(deny=["far:lab"])) == ["Hub_fetch", "Hub_search"]
    registry = discovered()
    assert registry.select("far:hub") == ["Hub_fetch", "Hub_search"]
    assert registry["Lab_fetch"].call().output == "Lab fetch"


@pytest.mark.parametrize("pattern", ["Hub_search", "far:hub:search", "far:Hub:Hub_search", "Hub_s*"])
def test_a_tool_of_a_source_is_selected_by_its_name_or_by_that_at_its_origin(registry, pattern):
    assert registry.select(pattern) == ["Hub_search"]


def test_a_broken_origin_is_a_problem_and_hides_no_other_tool(registry):
    with pytest.raises(ToolError, match="no schema"):
        registry["Lab_broken"]
    problems = {problem.distribution: problem for problem in registry.problems}
    assert (problems["far:old"].error, problems["far:old"].fix) == ("not accepted yet", "repair it")
    assert (problems["far:lab"].name, problems["far:lab"].fix) == ("Lab_broken", "repair it")
    assert registry["Hub_search"].call().ok


def test_a_failing_source_is_a_problem_and_hides_no_other_tool(site, discovered):
    site.install(
        "tools-far", ["far = {}:source"], "def source():\n    raise OSError('gone')", group="ask_tools.sources"
    )
    site.install("tools-near", ["get = {}:Get"])
    registry = discovered()
    assert list(registry) == ["get"]
    (problem,) = registry.problems
    assert (problem.distribution, problem.error) == ("tools-far", "OSError: gone")
    registry.discover(paths=[site.folder], deny=["tools-far"])
    assert registry.problems == []


def test_a_source_that_reads_the_registry_while_it_is_imported_blocks_no_thread(site, run_python):
    site.install("import-gate", [], "import threading\nimported = threading.Event()\ndiscovering = threading.Event()")
    first = "import import_gate\ndef source():\n    import_gate.discovering.set()\n    return ()"
    site.install("a-first", ["first = {}:source"], first, group="ask_tools.sources")
    second = """
        import import_gate
        from tools_core import registry

        import_gate.imported.set()
        import_gate.discovering.wait()
        list(registry)

        def source():
            return ()
    """
    site.install("b-second", ["second = {}:source"], second, group="ask_tools.sources")
    site.install("tools-near", ["get = {}:Get"])
    printed = run_python("""
        import importlib, threading
        import import_gate
        from tools_core import registry

        threads = [threading.Thread(target=importlib.import_module, args=["b_second"], daemon=True)]
        threads[0].start()
        import_gate.imported.wait()
        threads.append(threading.Thread(target=list, args=[registry], daemon=True))
        threads[1].start()
        for thread in threads:
            thread.join(20)
        print([thread.is_alive() for thread in threads])
        print(list(registry), registry.problems)
    """)
    assert printed.splitlines() == ["[False, False]", "['get'] []"]


@pytest.mark.parametrize("deny", ["far", "tools-far", "far:hub:*", "far:hub:search", "Hub_*", "search"])
def test_a_deny_list_blocks_a_source_an_origin_or_a_tool(registry, discovered, deny):
    with pytest.raises(UnknownToolError):
        discovered(deny=[deny])["Hub_search"]


def test_a_source_is_imported_only_if_the_allow_list_names_its_tools(site, discovered):
    site.install("tools-far", ["far = {}:source"], SOURCE, group="ask_tools.sources")
    assert list(discovered(allow=["search", "tools-near"])) == []
    assert site.times_imported("tools_far") == 0
    assert list(discovered(allow=["far:hub"])) == ["Hub_fetch", "Hub_search"]


def test_a_lock_admits_the_tools_of_a_source_that_it_names(site, discovered, run_python, tmp_path):
    working = SOURCE.partition('        yield Found("Lab", "broken")')[0]
    site.install("tools-far", ["far = {}:source"], working, group="ask_tools.sources")
    path = tmp_path / "ask-tools.lock"
    run_python(str(path), options=["-m", "tools_core", "lock", "--file"], ASK_TOOLS_ALLOW="far:hub:search")
    registry = discovered(lock=path)
    assert list(registry) == ["Hub_search"]
    assert registry["Hub_search"].call().ok
