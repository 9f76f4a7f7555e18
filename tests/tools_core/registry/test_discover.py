"""`Registry.discover`: names of installed tools, without importing their packages."""

from __future__ import annotations

import os

import pytest

from tools_core import Registry, Tool, UnknownToolError


class Mine(Tool):
    name = "get"

    def execute(self) -> str:
        return "mine"


def problems_of(registry):
    return [str(problem) for problem in registry.problems]


def test_discovery_lists_names_and_imports_a_package_once_on_first_use(site, discovered):
    site.install("tools-b", ["b = {}:Get", "get = {}:Get"])
    site.install("tools-a", ["a = {}:Get"])
    registry = Registry()
    assert registry.discover(paths=[site.folder]) == ["a", "b", "get"]
    assert registry.discover(paths=[site.folder]) == []
    assert (list(registry), registry.count, "get" in registry) == (["a", "b", "get"], 3, True)
    assert registry.blocked == registry.problems == []
    assert site.times_imported("tools_a") == site.times_imported("tools_b") == 0
    assert registry["get"].call().output == "tools_b"
    assert registry["get"] is registry["get"]
    assert (site.times_imported("tools_a"), site.times_imported("tools_b")) == (0, 1)


def test_listing_names_imports_neither_packages_nor_importlib_metadata(site, run_python):
    site.install("tools-weather", ["get = {}:Get"])
    printed = run_python("""
        import sys
        from tools_core import registry
        print(list(registry), registry.problems)
        heavy = ("tools_weather", "importlib.metadata", "asyncio")
        print([name for name in heavy if name in sys.modules])
        print(registry["get"].call().output, "tools_weather" in sys.modules)
    """)
    assert printed.splitlines() == ["['get'] []", "[]", "tools_weather True"]


@pytest.mark.parametrize("name", ["g\u0435t", "get it", "a:b", "x" * 65, ""], ids=ascii)
def test_an_invalid_name_is_a_problem_and_not_a_tool(site, discovered, name):
    site.install("tools-odd", [f"{name} = {{}}:Get"])
    registry = discovered()
    assert (list(registry), name in registry) == ([], False)
    (problem,) = registry.problems
    assert "is not a legal name" in problem.error
    assert problem.error.isascii()  # it cannot look like another one
    assert (problem.distribution, problem.fix) == ("tools-odd", "rename it in tools-odd")
    assert discovered(deny=["tools-odd"]).problems == []


@pytest.mark.parametrize("options", [["-c"], ["agent.py"], ["-m", "agent"]], ids=str)
def test_metadata_in_the_current_folder_does_not_install_a_package(site, tmp_path, run_python, options):
    code = "from tools_core import registry\nprint(list(registry))"
    site.install("tools-weather", ["get = {}:Get"])
    workspace = tmp_path / "workspace"
    info = workspace / "tools_forged-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "entry_points.txt").write_text("[ask_tools.tools]\nforged = forged:forged\n")
    (workspace / "agent.py").write_text(code)
    assert run_python(code, options=options, cwd=workspace) == "['get']"
    path = os.pathsep.join([str(workspace), site.path])
    assert run_python(code, options=options, cwd=workspace, PYTHONPATH=path) == "['forged', 'get']"  # named by the user


@pytest.mark.parametrize(
    ("group", "words"),
    [
        ("ask_tools.tools", ["show", "weather"]),
        ("ask_tools.commands", ["weather"]),
        ("ask_tools.call", ["call", "get"]),
    ],
)
def test_files_in_the_current_folder_shadow_no_module_of_a_package(site, tmp_path, run_python, group, words):
    source = """
        import beside, colorsys
        from tools_core import Result, tool

        @tool(name="weather")
        def ask_tools_tools() -> None: ...

        def ask_tools_commands(parser):
            parser.set_defaults(run=lambda options: 0)

        def ask_tools_call(tool, call, context, approve):
            return Result.ok("installed")
    """
    site.install("tools-good", ["get = {}:Get"])
    site.install("tools-weather", [f"weather = {{}}:{group.replace('.', '_')}"], source, group=group)
    for module in ("colorsys", "tools_weather"):
        (tmp_path / f"{module}.py").write_text("raise SystemExit('forged')")
    (tmp_path / "beside.py").write_text("")  # a module of the user, which is found
    *options, last = words
    assert "forged" not in run_python(last, options=["-m", "tools_core", *options], cwd=tmp_path)
    assert site.times_imported("tools_weather") == 1


@pytest.mark.parametrize("spoil", [lambda path: path.write_bytes(b"\xff"), getattr(os, "mkfifo", os.mkdir)])
def test_unreadable_entry_points_are_a_problem_and_hide_no_other_package(site, discovered, spoil):
    site.install("tools-good", ["get = {}:Get"])
    path = site.install("tools-bad", ["get = {}:Get"]) / "entry_points.txt"
    path.unlink()
    spoil(path)
    registry = discovered()
    assert list(registry) == ["get"]
    (problem,) = registry.problems
    assert (problem.distribution, problem.version) == ("tools-bad", "1.0")
    assert problem.error.startswith(f"{path} cannot be read: it is not ")


def test_upgraded_and_removed_packages_are_noticed_at_the_next_discovery(site, discovered):
    old = site.install("tools-weather", ["get = {}:Get"])
    registry = discovered()
    before = registry["get"]
    old.rename(old.with_name("tools_weather-1.1.dist-info"))
    assert registry.discover(paths=[site.folder]) == ["get"]
    assert registry.origin("get").version == "1.1"
    assert registry["get"] is not before
    (site.folder / "tools_weather-1.1.dist-info").rename(site.folder / "removed")
    registry.discover(paths=[site.folder])
    assert (list(registry), registry.problems) == ([], [])


# --- two tools with one name


def test_a_name_of_two_distributions_is_an_error_that_lists_both(site, discovered):
    site.install("tools-weather", ["get = {}:Get"])
    site.install("tools-climate", ["get = {}:Get"], version="2.0")
    registry = discovered()
    with pytest.raises(UnknownToolError) as unknown:
        registry["get"]
    choice = "use `tools-climate:get` or `tools-weather:get`"
    assert str(unknown.value) == f"`get` is the name of more than one tool; {choice}"
    assert unknown.value.similar == ("tools-climate:get", "tools-weather:get")
    assert ("get" in registry, registry.get("get")) == (False, None)
    assert list(registry) == ["tools-climate:get", "tools-weather:get"]
    assert {name: tool.call().output for name, tool in registry.items()} == {
        "tools-climate:get": "tools_climate",
        "tools-weather:get": "tools_weather",
    }
    climate, weather = problems_of(registry)
    assert "get (tools-climate 2.0): `get` is also the name of tools-weather 1.0 (tools_weather:Get)" in climate
    assert "use `tools-weather:get`, or block it: ASK_TOOLS_DENY=tools-weather:get" in weather


def test_the_qualified_name_always_works(site, discovered):
    site.install("tools-weather", ["get = {}:Get"])
    registry = discovered()
    assert registry["tools-weather:get"] is registry["Tools.Weather:get"] is registry["get"]
    assert "tools-weather:gets" not in registry
    assert str(registry.origin("get")) == "tools-weather 1.0 (tools_weather:Get)"
    registry.unregister("tools-weather:get")
    assert list(registry) == []
    assert registry.discover(paths=[site.folder]) == ["get"]


@pytest.mark.parametrize("first", ["register", "discover"])
def test_a_registered_tool_comes_before_a_discovered_one_in_either_order(site, first):
    site.install("tools-weather", ["get = {}:Get"], version="3.1")
    registry = Registry()
    if first == "register":
        registry.register(Mine)
        assert registry.discover(paths=[site.folder]) == ["tools-weather:get"]
    else:
        assert registry.discover(paths=[site.folder]) == ["get"]
        registry.register(Mine)
    assert list(registry) == ["get", "tools-weather:get"]
    assert registry["get"].call().output == "mine"
    assert registry["tools-weather:get"].call().output == "tools_weather"
    (problem,) = problems_of(registry)
    assert "`get` is also the name of" in problem
    assert "Mine" in problem


@pytest.mark.parametrize("first", ["register", "discover"])
def test_registering_the_object_of_an_entry_point_is_fine_in_either_order(site, first):
    site.install("tools-weather", ["get = {}:Get"])
    registry = Registry()
    for step in ("register", "discover") if first == "register" else ("discover", "register"):
        if step == "discover":
            registry.discover(paths=[site.folder])
        else:
            registry.register(__import__("tools_weather").Get)
    assert registry.discover_subclasses(__import__("tools_weather").Get) == []
    assert (list(registry), registry.problems) == (["get"], [])
    assert registry.origin("get").distribution == "tools-weather"


@pytest.mark.parametrize("first", ["", "import tools_both"])
def test_a_package_that_registers_its_own_tool_adds_one_tool(site, run_python, first):
    source = """
        from tools_core import Tool, registry

        @registry.register
        class Get(Tool):
            def execute(self) -> str:
                return "one"
    """
    site.install("tools-both", ["get = {}:Get"], source)
    printed = run_python(f"""
        {first}
        from tools_core import registry
        print(list(registry), registry["get"].call().output, list(registry), registry.problems)
        import tools_both
        registry.register(tools_both.Get)
    """)
    assert printed == "['get'] one ['get'] []"


# --- allow and deny


@pytest.mark.parametrize(
    ("options", "listed"),
    [
        ({"allow": ["tools-*:*"], "deny": ["put"]}, ["climate", "get"]),
        ({"allow": ["tools_weather:p*"]}, ["put"]),
        ({"allow": "get, climate"}, ["climate", "get"]),
        ({"allow": ["*"], "deny": ["*"]}, []),
        ({"allow": []}, []),
    ],
    ids=str,
)
def test_a_blocked_tool_is_not_listed_and_its_package_not_imported(site, discovered, options, listed):
    site.install("tools-weather", ["get = {}:Get", "put = {}:Get"])
    site.install("tools-climate", ["climate = {}:Get"])
    registry = discovered(**options)
    assert list(registry) == listed
    assert {name.partition(":")[2] for name in registry.blocked} == {"get", "put", "climate"} - set(listed)
    registry.all()
    assert site.times_imported("tools_climate") == ("climate" in listed)
    for name in registry.blocked:
        with pytest.raises(UnknownToolError, match=f"an allow or deny list, or a lock, blocks {name}"):
            registry[name]


@pytest.mark.parametrize(
    ("environment", "printed"),
    [
        ({"ASK_TOOLS_DENY": "tools-climate, nothing"}, "['get'] ['tools-climate:climate']"),
        ({"ASK_TOOLS_ALLOW": "clim*"}, "['climate'] ['tools-weather:get']"),
        ({"ASK_TOOLS_ALLOW": ""}, "[] ['tools-climate:climate', 'tools-weather:get']"),
    ],
    ids=str,
)
def test_environment_variables_are_the_lists_of_the_default_registry(site, run_python, environment, printed):
    site.install("tools-weather", ["get = {}:Get"])
    site.install("tools-climate", ["climate = {}:Get"])
    code = "from tools_core import registry\nprint(list(registry), registry.blocked)"
    assert run_python(code, **environment) == printed


# --- removing, and the default registry


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
