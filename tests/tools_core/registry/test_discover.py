from __future__ import annotations

import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tools_core import Registry, Tool, ToolError, Toolset, UnknownToolError, tool

TOOLSET = """
    from tools_core import Toolset

    class Fs(Toolset):
        def read(self) -> str:
            "Read."
            return "read"

        def write(self) -> str:
            "Write."
            return "write"
"""


@pytest.fixture
def discovered(site):
    """What discovery makes of the site alone, so that nothing installed here gets in between."""

    def discover(**options):
        registry = Registry(load_timeout=options.pop("load_timeout", 30))
        registry.discover(paths=[site.folder], **options)
        return registry

    return discover


def problems_of(registry):
    return [str(problem) for problem in registry.problems]


# --- what is found, and when it is imported


def test_discovery_lists_tools_and_a_plugin_is_imported_once_when_its_tool_is_used(site, discovered):
    site.install("tools-b", ["b = {}:Get", "get = {}:Get"])
    site.install("tools-a", ["a = {}:Get"])
    registry = Registry()
    assert registry.discover(paths=[site.folder]) == ["a", "b", "get"]
    assert registry.discover(paths=[site.folder]) == []
    assert (list(registry), registry.count, "get" in registry) == (["a", "b", "get"], 3, True)
    assert registry.origin("get").version == "1.0"
    assert registry.blocked == registry.problems == []
    assert site.times_imported("tools_a") == site.times_imported("tools_b") == 0
    assert registry["get"].call().output == "tools_b"
    assert registry["get"] is registry["get"]
    assert (site.times_imported("tools_a"), site.times_imported("tools_b")) == (0, 1)


def test_a_fresh_process_lists_names_without_plugins_importlib_metadata_or_the_contract(site, run_python):
    site.install("tools-weather", ["get = {}:Get"])
    printed = run_python("""
        import sys
        from tools_core import registry
        print(list(registry), registry.problems)
        heavy = ("tools_weather", "importlib.metadata", "inspect", "asyncio", "tools_core._tools._tool")
        print([name for name in heavy if name in sys.modules])
        print(registry["get"].call().output, "tools_weather" in sys.modules)
    """)
    assert printed.splitlines() == ["['get'] []", "[]", "tools_weather True"]


def test_functions_instances_classes_and_toolsets_can_be_entry_points(site, discovered):
    source = """
        from tools_core import Tool, Toolset, tool

        @tool
        def decorated() -> str:
            "Say so."
            return "decorated"

        def plain() -> str:
            "Say so."
            return "plain"

        class Cls(Tool):
            def execute(self) -> str:
                return "class"

        class Configured(Tool):
            name = "instance"
            def __init__(self, text):
                self.text = text
            def execute(self) -> str:
                return self.text

        instance = Configured("instance")
    """
    entries = ["decorated = {}:decorated", "plain = {}:plain", "cls = {}:Cls", "instance = {}:instance"]
    site.install("tools-all", entries, source)
    site.install("tools-fs", ["fs = {}:Fs"], TOOLSET)
    registry = discovered()
    outputs = [each.call().output for each in registry.all()]
    assert outputs == ["class", "decorated", "instance", "plain", "read", "write"]
    assert registry.problems == []


def test_the_key_is_the_name_of_the_entry_point_and_the_tool_answers_to_it(site, discovered):
    site.install("tools-weather", ["fetch = {}:Get"])
    registry = discovered()
    assert (registry["fetch"].name, registry["fetch"].call().output) == ("fetch", "tools_weather")
    assert "get" not in registry
    (problem,) = problems_of(registry)
    assert problem.startswith("fetch (tools-weather 1.0): the entry point is named `fetch` but its tool `get`")
    assert "fix: give both one name in tools-weather" in problem


def test_an_entry_point_named_twice_in_one_distribution_is_a_problem_and_the_first_counts(site, discovered):
    site.install("tools-weather", ["get = {}:Get", "get = {}:Other", "put = {}:Put", "put = {}:Put"])
    registry = discovered()
    (problem,) = problems_of(registry)
    assert "get (tools-weather 1.0): the distribution declares this name twice" in problem
    assert list(registry) == ["get", "put"]
    assert registry["get"].call().output == "tools_weather"


@pytest.mark.parametrize(
    "name", ["g\u0435t", "get it", "9lives", "-x", "a:b", "x" * 65, "get\u200b", "", "a.b"], ids=ascii
)
def test_an_illegal_or_look_alike_name_is_a_problem_and_never_a_tool(site, discovered, name):
    site.install("tools-evil", [f"{name} = {{}}:Get"])
    registry = discovered()
    assert (list(registry), name in registry) == ([], False)
    (problem,) = registry.problems
    assert "is not a legal name" in problem.error
    assert problem.error.isascii()  # it cannot look like what it is not
    assert "pip uninstall tools-evil" in problem.fix
    assert site.times_imported("tools_evil") == 0


def test_a_look_alike_distribution_is_a_problem(site, discovered):
    site.install("t\u043e\u043els-weather", ["get = {}:Get"], module="fake")
    registry = discovered()
    assert list(registry) == []
    assert "t\\u043e\\u043els-weather" in problems_of(registry)[0]


def test_garbage_metadata_hides_nobody(site, discovered):
    site.install("tools-good", ["get = {}:Get"])
    garbage = [b"\xff\xfe\x00", b"[ask_tools.tools]\n\x00\n= \n==\n[", b"[ask_tools.tools\nx = y:z"]
    for number, noise in enumerate(garbage):
        info = site.install(f"tools-bad{number}", "", None)
        (info / "entry_points.txt").write_bytes(noise)
    registry = discovered()
    assert list(registry) == ["get"]
    assert registry["get"].call().output == "tools_good"


def test_a_new_version_of_a_plugin_replaces_the_old_one_at_the_next_discovery(site, discovered):
    old = site.install("tools-weather", ["get = {}:Get"])
    registry = discovered()
    before = registry["get"]
    old.rename(old.with_name("tools_weather-1.1.dist-info"))
    assert registry.discover(paths=[site.folder]) == ["get"]
    assert registry.origin("get").version == "1.1"
    assert registry["get"] is not before


# --- broken plugins

BROKEN = {
    "missing dependency": ("import nltk_is_missing", "ModuleNotFoundError", "pip install nltk_is_missing"),
    "missing submodule": (
        "import json.nothing",
        "ModuleNotFoundError",
        "pip install -U tools-broken or pip uninstall tools-broken",
    ),
    "syntax": ("def (", "SyntaxError", "pip install -U tools-broken"),
    "raises": (
        "raise RuntimeError('two\\nlines \\x1b[31m')",
        "RuntimeError: two lines ?[31m",
        "pip uninstall",
    ),
    "exits": ("import sys; sys.exit(3)", "called sys.exit(3)", "pip uninstall tools-broken"),
    "is interrupted": ("raise KeyboardInterrupt", "KeyboardInterrupt", "pip uninstall tools-broken"),
    "odd base exception": ("raise BaseException", "BaseException", "pip uninstall tools-broken"),
    "hostile error": (
        "class E(Exception):\n    def __str__(self): raise ValueError\nraise E",
        "1.0 is unavailable: E;",
        "pip uninstall tools-broken",
    ),
    "attribute missing": ("pass", "`tools_broken:Get` leads nowhere", "pip uninstall tools-broken"),
    "no tool": ("Get = 42", "DefinitionError", "pip uninstall tools-broken"),
    "bad constructor": (
        "from tools_core import Tool\nclass Get(Tool):\n def __init__(self, x): ...\n def execute(self): ...",
        "cannot be made without arguments",
        "pip uninstall tools-broken",
    ),
}


@pytest.mark.parametrize(("source", "error", "fix"), BROKEN.values(), ids=BROKEN)
def test_a_broken_plugin_is_explained_with_its_fix_and_hides_no_other(site, discovered, source, error, fix):
    site.install("tools-broken", ["get = {}:Get"], source, version="1.0")
    site.install("tools-good", ["good = {}:Get"])
    registry = discovered()
    with pytest.raises(ToolError) as unavailable:
        registry["get"]
    assert unavailable.value.type == "unavailable"
    message = str(unavailable.value)
    assert message.startswith("`get` of tools-broken 1.0 is unavailable: ")
    assert error in message
    assert fix in message
    assert message.isprintable()
    with pytest.raises(ToolError):  # it is not absent
        registry.get("get", "default")
    assert list(registry) == ["get", "good"]
    assert [each.call().output for each in registry.all()] == ["tools_good"]
    assert list(registry.items()) == [("good", registry["good"])]
    (problem,) = [each for each in registry.problems if each.name == "get"]
    assert (problem.distribution, problem.version) == ("tools-broken", "1.0")
    assert str(problem).startswith("get (tools-broken 1.0): ")
    assert site.times_imported("tools_broken") <= 1


def test_the_error_of_a_broken_plugin_is_the_cause_of_ours(site, discovered):
    site.install("tools-broken", ["get = {}:Get"], "1 / 0")
    with pytest.raises(ToolError) as unavailable:
        discovered()["get"]
    assert isinstance(unavailable.value.__cause__, ZeroDivisionError)


def test_a_module_that_is_not_on_the_path_gets_that_as_its_fix(site, discovered, monkeypatch):
    site.install("tools-away", ["get = {}:Get"])
    site.install("tools-lost", ["lost = nowhere_to_be_found:Get"])
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path != str(site.folder)])
    registry = discovered()
    registry.all()
    assert f"fix: add {site.folder} to sys.path" in problems_of(registry)[0]
    monkeypatch.setattr(sys, "path", [*sys.path, str(site.folder)])
    registry.discover(paths=[site.folder])
    registry.all()
    (problem,) = problems_of(registry)
    assert "fix: pip install --force-reinstall tools-lost" in problem


def test_discovering_again_gives_a_broken_plugin_another_chance(site, discovered):
    site.install("tools-broken", ["get = {}:Get"], "import arrives_later\nfrom arrives_later import Get")
    registry = discovered()
    assert registry.all() == []
    site.install("arrives-later", [])
    assert registry.all() == []
    assert registry.discover(paths=[site.folder]) == []
    assert registry["get"].call().output == "arrives_later"
    assert registry.problems == []


TOOL = """
from tools_core import Tool
class Get(Tool, name="{}"):
    def execute(self) -> object:
        return {}
"""
HANGING = "import plugin_gate\nplugin_gate.opened.wait()\n"
GATE = "import threading\nopened = threading.Event()\nreached = threading.Event()\n"


def test_a_plugin_that_hangs_is_given_up_and_the_others_go_on(site, discovered):
    site.install("plugin-gate", [], GATE)
    site.install("a-hanging", ["slow = {}:Get"], HANGING + TOOL.format("slow", "'late'"))
    site.install("tools-good", ["good = {}:Get"])
    registry = discovered(load_timeout=0.2)
    assert [each.name for each in registry.all()] == ["good"]
    (problem,) = [str(each) for each in registry.problems if each.name == "slow"]
    assert problem.startswith("slow (a-hanging 1.0): did not load within 0.2 s; fix: pip install -U a-hanging")
    with pytest.raises(ToolError, match=r"did not load within 0\.2 s"):
        registry["slow"]
    assert list(registry) == ["slow", "good"]

    (loading,) = [each for each in threading.enumerate() if each.name == "load a-hanging:slow"]
    sys.modules["plugin_gate"].opened.set()
    loading.join()
    assert registry["slow"].call().output == "late"
    assert not [each for each in registry.problems if each.name == "slow"]


def test_the_process_ends_although_a_plugin_hangs(site, run_python):
    site.install("tools-hanging", ["slow = {}:Get"], "import threading\nthreading.Event().wait()")
    printed = run_python(
        """
        from tools_core import registry
        print(registry.all(), registry.problems)
        """,
        ASK_TOOLS_LOAD_TIMEOUT="0.3",
    )
    assert "[] [LoadProblem('slow (tools-hanging 1.0): did not load within 0.3 s" in printed


def test_others_are_listed_and_used_while_a_plugin_hangs(site, discovered):
    site.install("plugin-gate", [], GATE)
    site.install("a-hanging", ["slow = {}:Get"], "import plugin_gate\nplugin_gate.reached.set()\n" + HANGING)
    site.install("tools-good", ["get = {}:Get"])
    registry = discovered(load_timeout=60)
    import plugin_gate

    waiting = threading.Thread(target=registry.all)
    waiting.start()
    assert plugin_gate.reached.wait(30)
    assert list(registry) == ["slow", "get"]
    assert registry["get"].call().output == "tools_good"
    registry.register(tool(lambda: 1, name="mine", description="One."))
    assert registry.problems == []
    plugin_gate.opened.set()
    waiting.join()


def test_a_plugin_that_uses_the_registry_while_it_is_imported_does_not_wait_for_itself(site, run_python):
    site.install("tools-loop", ["get = {}:Get"], "from tools_core import registry\nregistry['get']")
    printed = run_python("from tools_core import registry\nprint(registry.all(), registry.problems)")
    assert "[] [LoadProblem(" in printed
    assert "it is still being loaded" in printed


def test_without_a_limit_a_plugin_is_imported_in_the_calling_thread(site, discovered, monkeypatch):
    source = "import threading\nwhere = threading.current_thread().name\n"
    for name in ("get", "two", "three"):
        site.install(f"tools-{name}", [f"{name} = {{}}:Get"], source + TOOL.format(name, "where"))
    here = threading.current_thread().name
    assert discovered(load_timeout=None)["get"].call().output == here
    assert discovered(load_timeout=5)["two"].call().output == "load tools-two:two"
    monkeypatch.setenv("ASK_TOOLS_LOAD_TIMEOUT", "0")
    registry = Registry()
    registry.discover(paths=[site.folder])
    assert registry["three"].call().output == here
    monkeypatch.setenv("ASK_TOOLS_LOAD_TIMEOUT", "soon")
    with pytest.raises(ValueError, match='ASK_TOOLS_LOAD_TIMEOUT is a number of seconds, not "soon"'):
        registry["two"]


def test_an_interrupt_by_the_user_passes_through_and_the_plugin_can_be_tried_again(site, discovered):
    source = """
        import pathlib
        flag = pathlib.Path(__file__).with_suffix(".flag")
        if not flag.exists():
            flag.touch()
            raise KeyboardInterrupt
    """
    site.install("tools-slow", ["get = {}:Get"], textwrap.dedent(source) + TOOL.format("get", 1))
    registry = discovered(load_timeout=None)
    with pytest.raises(KeyboardInterrupt):
        registry["get"]
    assert registry.problems == []
    assert registry["get"].call().output == 1


def test_what_a_package_does_to_the_process_at_import_stays(site, discovered, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    site.install("tools-adder", ["get = {}:Get"], "import sys\nsys.path.append('/more')\n" + TOOL.format("get", 1))
    registry = discovered()
    assert registry["get"].call().ok
    assert "/more" in sys.path
    assert registry.problems == []


def test_an_entry_point_may_name_a_method_of_a_toolset(site, discovered):
    source = """
        from tools_core import Toolset


        class Notes(Toolset):
            def add(self, text: str) -> str:
                "Add a note."
                return text
    """
    site.install("tools-notes", ["notes_add = {}:Notes.add"], source)
    registry = discovered()
    assert list(registry) == ["notes_add"]
    assert registry["notes_add"].call(text="x").output == "x"
    assert registry.problems == []


# --- two tools of one name


def test_a_name_of_two_distributions_is_never_resolved_silently(site, discovered):
    site.install("tools-weather", ["get = {}:Get"])
    site.install("tools-climate", ["get = {}:Get"], version="2.0")
    registry = discovered()
    with pytest.raises(UnknownToolError) as unknown:
        registry["get"]
    assert str(unknown.value) == "`get` means more than one tool; use `tools-climate:get` or `tools-weather:get`"
    assert unknown.value.near == ("tools-climate:get", "tools-weather:get")
    with pytest.raises(UnknownToolError):
        registry.get("get", "default")
    assert "get" not in registry
    assert list(registry) == ["tools-climate:get", "tools-weather:get"]
    assert {name: each.call().output for name, each in registry.items()} == {
        "tools-climate:get": "tools_climate",
        "tools-weather:get": "tools_weather",
    }
    assert [each["name"] for each in registry.definitions()] == list(registry)
    climate, weather = problems_of(registry)
    assert "get (tools-climate 2.0): `get` is also the name of tools-weather 1.0 (tools_weather:Get)" in climate
    assert "use `tools-weather:get`, or bar it with ASK_TOOLS_DENY=tools-weather:get, or pip uninstall" in weather


@pytest.mark.parametrize("name", ["tools-weather:get", "tools_weather:get", "Tools.Weather:get"])
def test_the_qualified_name_works_without_a_collision_too(site, discovered, name):
    site.install("tools-weather", ["get = {}:Get"])
    registry = discovered()
    assert name in registry
    assert registry[name] is registry["get"]
    assert registry.origin(name).distribution == "tools-weather"
    with pytest.raises(UnknownToolError):
        registry[name + "s"]


def test_blocking_one_of_two_frees_the_bare_name(site, discovered):
    site.install("tools-weather", ["get = {}:Get"])
    site.install("tools-climate", ["get = {}:Get"])
    registry = discovered(deny=["tools-climate"])
    assert registry["get"].call().output == "tools_weather"
    assert registry.problems == []


def test_registering_over_a_discovered_tool_names_both_and_the_way_out(site, discovered):
    site.install("tools-weather", ["get = {}:Get"], version="3.1")
    registry = discovered()

    class Mine(Tool, name="get"):
        def execute(self) -> str:
            return "mine"

    with pytest.raises(ValueError, match=r"Mine` cannot be registered as `get`: tools-weather 3\.1") as refused:
        registry.register(Mine)
    assert "(tools_weather:Get) has that name" in str(refused.value)
    registry.register(Mine, replace=True)
    assert list(registry) == ["get", "tools-weather:get"]
    assert registry["get"].call().output == "mine"
    assert registry["tools-weather:get"].call().output == "tools_weather"
    assert "Mine" in problems_of(registry)[0]


def test_what_was_registered_before_discovery_keeps_its_name_and_the_other_is_reported(site):
    site.install("tools-weather", ["get = {}:Get"])
    registry = Registry()

    @registry.register
    class Mine(Tool, name="get"):
        def execute(self) -> str:
            return "mine"

    assert registry.discover(paths=[site.folder]) == ["tools-weather:get"]
    assert registry["get"].call().output == "mine"
    assert "`get` is also the name of" in problems_of(registry)[0]


def test_a_plugin_that_registers_what_it_also_declares_is_one_tool(site, run_python):
    source = """
        from tools_core import Tool, registry

        @registry.register
        class Get(Tool):
            def execute(self) -> str:
                return "one"
    """
    site.install("tools-both", ["get = {}:Get"], source)
    printed = run_python("""
        from tools_core import registry
        print(list(registry), registry["get"].call().output, list(registry), registry.problems)
    """)
    assert printed == "['get'] one ['get'] []"
    printed = run_python("""
        import tools_both
        from tools_core import registry
        print(list(registry), registry["get"].call().output, list(registry), registry.problems)
        registry.register(tools_both.Get)
    """)
    assert printed == "['get'] one ['get'] []"


# --- toolsets


def test_a_toolset_shows_as_one_name_until_it_is_loaded_and_then_as_its_tools(site, discovered):
    site.install("tools-fs", ["a = {}:a", "fs = {}:Fs", "z = {}:z"], TOOLSET)
    registry = discovered()
    assert list(registry) == ["a", "fs", "z"]
    assert registry["fs_read"].call().output == "read"
    assert list(registry) == ["a", "fs_read", "fs_write", "z"]
    assert registry["tools_fs:fs_write"].call().output == "write"
    assert "fs_read" in registry
    assert ("fs_nope" in registry, "fs" in registry) == (False, False)
    assert registry.origin("fs_read").name == "fs"


def test_the_name_of_a_toolset_is_no_tool_and_leads_to_its_tools(site, discovered):
    site.install("tools-fs", ["fs = {}:Fs"], TOOLSET)
    registry = discovered()
    with pytest.raises(UnknownToolError, match="`fs` is a toolset; its tools are fs_read, fs_write"):
        registry["fs"]
    assert registry.get("fs") is None
    with pytest.raises(UnknownToolError, match="did you mean fs_write"):
        registry["fs_wriet"]


def test_asking_for_a_tool_of_a_toolset_by_the_qualified_name_loads_that_toolset_alone(site, discovered):
    site.install("tools-one", ["fs = {}:Fs"], TOOLSET)
    site.install("tools-two", ["fs = {}:Fs"], TOOLSET)
    registry = discovered()
    assert "tools-one:fs_read" in registry
    assert (site.times_imported("tools_one"), site.times_imported("tools_two")) == (1, 0)
    assert registry["tools-one:fs_read"].call().output == "read"
    with pytest.raises(UnknownToolError, match="use `tools-one:fs_read` or `tools-two:fs_read`"):
        registry["fs_read"]
    names = [f"tools-{n}:fs_{verb}" for n in ("one", "two") for verb in ("read", "write")]
    assert list(registry) == [each["name"] for each in registry.definitions()] == names


def test_a_declared_name_keeps_its_meaning_when_a_toolset_turns_out_to_have_it(site, discovered):
    site.install("tools-fs", ["fs = {}:Fs"], TOOLSET)
    site.install("tools-plain", ["fs_read = {}:Get"])
    registry = discovered()
    before = registry["fs_read"]
    assert next(iter(registry.items())) == ("tools-fs:fs_read", registry["tools-fs:fs_read"])
    assert registry["fs_read"] is before
    assert list(registry) == ["tools-fs:fs_read", "fs_write", "fs_read"]
    assert "`fs_read` is also the name of tools-plain" in " ".join(problems_of(registry))


def test_a_toolset_whose_tools_have_other_names_is_reported(site, discovered):
    site.install("tools-fs", ["files = {}:Fs"], TOOLSET)
    registry = discovered()
    assert "fs_read" not in registry
    assert [each.name for each in registry.all()] == ["fs_read", "fs_write"]
    assert "`fs_read` does not begin with `files_`" in problems_of(registry)[0]


def test_a_toolset_that_does_not_load_is_named_when_one_of_its_tools_is_wanted(site, discovered):
    site.install("tools-fs", ["fs = {}:Fs"], "import nltk_is_missing")
    said = "it may be one of a toolset, but `fs` of tools-fs 1.0 is unavailable"
    with pytest.raises(UnknownToolError, match=said):
        discovered()["fs_read"]


def test_a_toolset_without_tools_is_a_problem(site, discovered):
    site.install("tools-fs", ["fs = {}:Fs"], "from tools_core import Toolset\nclass Fs(Toolset):\n    pass")
    registry = discovered()
    assert registry.all() == []
    assert len(registry.problems) == 1


# --- allow and deny


@pytest.mark.parametrize(
    ("options", "listed"),
    [
        ({"allow": ["tools-weather"]}, ["get", "put"]),
        ({"allow": ["Tools_Weather"]}, ["get", "put"]),
        ({"allow": ["tools-*"], "deny": ["put"]}, ["climate", "get"]),
        ({"allow": ["tools_weather:p*"]}, ["put"]),
        ({"allow": "get, climate"}, ["climate", "get"]),
        ({"deny": ["tools-weather:*"]}, ["climate"]),
        ({"allow": ["*"], "deny": ["*"]}, []),
        ({"allow": []}, []),
        ({"deny": []}, ["climate", "get", "put"]),
        ({"deny": ["GET"]}, ["climate", "get", "put"]),
    ],
    ids=str,
)
def test_what_is_not_allowed_or_is_denied_is_no_tool_and_is_not_imported(site, discovered, options, listed):
    site.install("tools-weather", ["get = {}:Get", "put = {}:Get"])
    site.install("tools-climate", ["climate = {}:Get"])
    registry = discovered(**options)
    assert list(registry) == listed
    assert {name.partition(":")[2] for name in registry.blocked} == {"get", "put", "climate"} - set(listed)
    registry.all()
    assert site.times_imported("tools_climate") == ("climate" in listed)
    for name in registry.blocked:
        with pytest.raises(UnknownToolError, match=f"an allow or deny list blocks {name}"):
            registry[name]


@pytest.mark.parametrize(
    ("environment", "printed"),
    [
        ({"ASK_TOOLS_DENY": "tools-climate, nothing"}, "['get'] ['tools-climate:climate']"),
        ({"ASK_TOOLS_ALLOW": "clim*"}, "['climate'] ['tools-weather:get']"),
        ({"ASK_TOOLS_ALLOW": "*", "ASK_TOOLS_DENY": "*:get"}, "['climate'] ['tools-weather:get']"),
        ({"ASK_TOOLS_ALLOW": ""}, "[] ['tools-climate:climate', 'tools-weather:get']"),
        ({"ASK_TOOLS_DENY": ""}, "['climate', 'get'] []"),
    ],
    ids=str,
)
def test_the_environment_decides_for_the_default_registry(site, run_python, environment, printed):
    site.install("tools-weather", ["get = {}:Get"])
    site.install("tools-climate", ["climate = {}:Get"])
    code = "from tools_core import registry\nprint(list(registry), registry.blocked)"
    assert run_python(code, **environment) == printed


def test_denying_later_removes_what_was_found_before(site, discovered):
    site.install("tools-weather", ["get = {}:Get"])
    registry = discovered()
    registry.discover(paths=[site.folder], deny=["get"])
    assert (list(registry), registry.blocked) == ([], ["tools-weather:get"])
    assert registry.discover(paths=[site.folder]) == ["get"]
    assert registry.blocked == []


def test_a_denied_tool_of_a_toolset_stays_hidden_once_the_toolset_is_loaded(site, discovered):
    site.install("tools-fs", ["fs = {}:Fs"], TOOLSET)
    registry = discovered(deny=["fs_write"])
    assert "fs_write" not in registry
    assert [each.name for each in registry.all()] == ["fs_read"]
    assert registry.get("tools-fs:fs_write") is None
    assert registry.blocked == ["tools-fs:fs_write"]


# --- forgetting, and the default registry


def test_unregister_removes_a_discovered_tool_without_importing_it(site, discovered):
    site.install("tools-weather", ["get = {}:Get", "put = {}:Get"])
    registry = discovered()
    registry.unregister("get")
    registry.unregister("tools-weather:put")
    assert list(registry) == []
    assert site.times_imported("tools_weather") == 0
    assert registry.discover(paths=[site.folder]) == ["get", "put"]


def test_unregister_takes_one_tool_out_of_a_loaded_toolset(site, discovered):
    site.install("tools-fs", ["fs = {}:Fs"], TOOLSET)
    registry = discovered()
    registry.all()
    registry.unregister("fs_write")
    assert list(registry) == ["fs_read"]
    assert registry.get("fs_write") is None
    registry.unregister("fs")
    assert list(registry) == []


def test_the_default_registry_discovers_at_its_first_read_and_stays_empty_once_cleared(site, run_python):
    site.install("tools-weather", ["get = {}:Get"])
    printed = run_python("""
        from tools_core import registry, tool

        @registry.register
        @tool
        def mine() -> str:
            "Mine."
            return "mine"

        print(list(registry))
        registry.clear()
        print(list(registry), registry.count, registry.get("get"), registry.problems, registry.blocked)
        print(registry.discover(), list(registry))
    """)
    assert printed.splitlines() == ["['mine', 'get']", "[] 0 None [] []", "['get'] ['get']"]


def test_a_registry_cleared_before_its_first_read_stays_empty(site, run_python):
    site.install("tools-weather", ["get = {}:Get"])
    assert run_python("from tools_core import registry\nregistry.clear()\nprint(list(registry))") == "[]"


def test_discover_subclasses_takes_no_class_that_an_entry_point_already_provides(site, discovered):
    site.install("tools-weather", ["get = {}:Get"])
    registry = discovered()
    registry["get"]
    assert "tools_weather" not in [cls.__module__ for cls in registry.discover_subclasses()]
    assert registry["get"].call().output == "tools_weather"


# --- threads


def test_fifty_threads_that_read_first_at_once_all_see_everything(site, monkeypatch):
    for number in range(20):
        site.install(f"tools-many{number:02}", [f"many{number:02} = {{}}:Get"])
    registry = Registry(auto=True, load_timeout=60)
    start = threading.Barrier(50)

    def work(number):
        start.wait()
        names = [name for name in registry if name.startswith("many")]
        wanted = f"many{number % 20:02}"
        return names, registry[wanted]

    with ThreadPoolExecutor(50) as pool:
        results = list(pool.map(work, range(50)))
    expected = [f"many{number:02}" for number in range(20)]
    assert all(names == expected for names, _ in results)
    for number in range(20):
        assert len({id(found) for _, found in results[number::20]}) == 1
        assert site.times_imported(f"tools_many{number:02}") == 1


def test_many_threads_that_want_one_unloaded_toolset_import_it_once(site, discovered):
    site.install("tools-fs", ["fs = {}:Fs"], TOOLSET)
    registry = discovered(load_timeout=60)
    start = threading.Barrier(30)

    def work(number):
        start.wait()
        if number % 3 == 0:
            return registry["fs_read"].call().output
        if number % 3 == 1:
            return [each.name for each in registry.all()]
        return len(list(registry)) in (1, 2)

    with ThreadPoolExecutor(30) as pool:
        results = list(pool.map(work, range(30)))
    assert results == ["read", ["fs_read", "fs_write"], True] * 10
    assert site.times_imported("tools_fs") == 1


def test_a_toolset_that_another_thread_has_just_loaded_has_its_tools(site, discovered):
    site.install("tools-fs", ["fs = {}:Fs"], TOOLSET)
    registry = discovered()
    (plugin,) = registry._catalog.plugins.values()
    plugin.load(None)  # as the other thread did, which has not come to tell the registry
    assert registry["fs_read"].call().output == "read"


def test_toolset_objects_are_accepted_like_their_classes():
    class Notes(Toolset):
        def read(self) -> str:
            """Read."""
            return ""

    registry = Registry()
    notes = registry.register(Notes())
    assert registry.register(notes) is notes
    assert list(registry) == ["notes_read"]
