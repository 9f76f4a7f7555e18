"""The core in the world: decorators, lists, encodings and folders that others made."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import os
import pickle
import re
import subprocess
import sys
import threading
import types
from collections.abc import Mapping
from datetime import date

import pytest

from tools_core import Context, DefinitionError, Parameter, Registry, Tool, ToolCall, Toolset, command, tool
from tools_core.files import user_settings

OPTIONS = {"requires_approval": True, "destructive": True, "timeout": 7, "tags": ["disk"]}


def retry(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    return wrapper


def retry_later(function):
    @functools.wraps(function)
    async def wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    return wrapper


class Wrapper:
    """A decorator that is an object, as functools.update_wrapper makes it."""

    def __init__(self, function):
        functools.update_wrapper(self, function)
        self.function = function

    def __call__(self, *args, **kwargs):
        return self.function(*args, **kwargs)


class Proxy:
    """A transparent proxy as in wrapt: `isinstance` and attributes are those of the wrapped object."""

    def __init__(self, wrapped):
        self.__wrapped__ = wrapped

    __class__ = property(lambda self: self.__wrapped__.__class__)  # type: ignore[assignment]

    def __getattr__(self, name):
        return getattr(self.__dict__["__wrapped__"], name)

    def __call__(self, *args, **kwargs):
        return f"proxy {self.__wrapped__(*args, **kwargs)}"


def without_wraps(function):
    def wrapper(path: str) -> str:
        return function(path)

    return wrapper


@tool(name="rm", **OPTIONS)
def delete(path: str) -> str:
    """Delete a file."""
    return f"deleted {path}"


@retry
@tool(name="scrub", requires_approval=True)
def scrub(path: str) -> str:
    """Overwrite a file."""
    return f"scrubbed {path}"


class Erase(Tool):
    """Erase a file."""

    requires_approval = True

    def execute(self, path: str) -> str:
        return f"erased {path}"


class Remove:
    @tool(name="rm", **OPTIONS)
    def __call__(self, path: str) -> str:
        """Remove a file."""
        return f"deleted {path}"


WRAPPED = {
    "one decorator": retry(delete),
    "several decorators": retry(functools.lru_cache(retry(delete))),
    "cache": functools.cache(delete),
    "an asynchronous wrapper": retry_later(delete),
    "a decorator object": Wrapper(delete),
    "a partial": functools.partial(delete),
    "a partial of a decorator": functools.partial(retry(delete)),
    "its execute": delete.execute,
    "its call": delete.call,
    "a static method": staticmethod(delete),
    "an object with __call__": Remove(),
    "@tool again": tool(retry(delete)),
}


def test_a_tool_bound_to_an_argument_keeps_its_approval():
    registry = Registry()
    registry.register(types.MethodType(delete, "x"))
    assert [entry.requires_approval for entry in registry.values()] == [True]


@pytest.mark.parametrize("way", WRAPPED)
def test_a_wrapped_tool_keeps_its_options(way):
    registry = Registry()
    registry.register(WRAPPED[way])
    new_tool = registry["rm"]
    assert (new_tool.requires_approval, new_tool.annotations, new_tool.timeout) == (True, {"destructive": True}, 7)
    assert new_tool.tags == ["disk"]
    assert registry.call(ToolCall("1", "rm", {"path": "a"})).error_type == "approval_required"
    assert registry.call(ToolCall("1", "rm", {"path": "a"}), approve="all").output == "deleted a"


def test_a_transparent_proxy_around_a_tool_runs_and_keeps_its_options():
    registry = Registry()
    registry.register(Proxy(delete))
    assert registry["rm"].requires_approval
    assert registry["rm"].call(path="a").output == "proxy deleted a"


def test_a_partial_of_a_tool_keeps_its_options_and_hides_its_argument():
    partial = tool(functools.partial(delete, path="a"), name="clean")
    assert (partial.requires_approval, [*partial.input_schema["properties"]]) == (True, [])
    assert partial.call().output == "deleted a"


def test_execute_of_a_tool_class_is_the_tool():
    registry = Registry()
    registry.register(Erase().execute)
    assert registry["erase"].requires_approval


def test_an_outer_tool_overrides_the_options_of_the_inner_one():
    outer = tool(retry(delete), name="wipe", requires_approval=False)
    assert (outer.name, outer.requires_approval, outer.timeout) == ("wipe", False, 7)


REFUSED = {
    "a decorator without functools.wraps": lambda: without_wraps(delete),
    "two of them": lambda: without_wraps(retry(delete)),
    "a partial of a function that takes the tool": lambda: functools.partial(lambda path, run: run(path), run=delete),
    "a decorated execute of an instance": lambda: retry(Erase().execute),
    "a decorated class": lambda: retry(Erase),
    "a partial of a class": lambda: functools.partial(Erase),
}


@pytest.mark.parametrize("way", REFUSED)
def test_a_wrapper_that_would_lose_approval_is_refused(way):
    with pytest.raises(DefinitionError, match=r"put @tool above its decorator|decorate its `execute`"):
        Registry().register(REFUSED[way]())


def test_a_function_that_uses_a_tool_may_decide_about_approval_itself():
    assert not tool(without_wraps(delete), requires_approval=False).requires_approval


def test_a_pickled_wrapped_tool_still_runs_its_wrapper():
    registry = Registry()
    registry.register(scrub)
    copied = pickle.loads(pickle.dumps(registry["scrub"]))
    assert copied.requires_approval and copied.__wrapped__ is scrub


def nothing():
    yield


METHOD_DECORATORS = {
    "wraps": retry,
    "asynchronous": retry_later,
    "cache": functools.cache,
    "several": lambda method: retry(functools.lru_cache(method)),
    "context manager": contextlib.contextmanager(nothing)(),
    "@tool again": tool(idempotent=True),
}


@pytest.mark.parametrize("decorate", METHOD_DECORATORS.values(), ids=METHOD_DECORATORS)
@pytest.mark.parametrize("is_above", [True, False], ids=["above", "below"])
def test_a_method_keeps_its_options_with_a_decorator_above_or_below(decorate, is_above):
    decorators = (tool(**OPTIONS), decorate) if is_above else (decorate, tool(**OPTIONS))

    class Files(Toolset):
        @decorators[1]
        @decorators[0]
        def remove(self, path: str) -> str:
            """Remove a file."""
            return path

    (remove,) = Files().tools
    assert (remove.requires_approval, remove.annotations["destructive"], remove.timeout) == (True, True, 7)
    assert [*remove.input_schema["properties"]] == ["path"]


def through_static(*decorators):
    class Files(Toolset):
        def remove(path: str) -> str:
            """Remove a file."""
            return path

        for decorate in reversed(decorators):
            remove = decorate(remove)
        del decorate

    return Files().tools


@pytest.mark.parametrize("order", ["str", "srt", "trs", "tsr", "rst", "rts"])
def test_a_static_method_keeps_its_options_or_is_refused_in_any_order(order):
    steps = {"s": staticmethod, "t": tool(**OPTIONS), "r": retry}
    try:
        (remove,) = through_static(*(steps[letter] for letter in order))
    except DefinitionError as error:
        assert order in ("trs", "rst", "rts") and "@staticmethod" in str(error)
    else:
        assert (remove.requires_approval, remove.call(path="a").output) == (True, "a")


@pytest.mark.parametrize("wrapper", [property, functools.cached_property, classmethod, Wrapper])
def test_options_on_a_property_or_an_object_are_refused(wrapper):
    with pytest.raises(DefinitionError, match="which cannot be a tool"):

        class Files(Toolset):
            @wrapper
            @tool(requires_approval=True)
            def remove(self, path: str) -> str:
                """Remove a file."""
                return path


def test_a_wrapped_method_of_a_toolset_keeps_inherited_options():
    class Files(Toolset):
        @tool(requires_approval=True)
        def remove(self, path: str) -> str:
            """Remove a file."""
            return path

    class Quick(Files):
        def remove(self, path: str) -> str:
            """Remove a file quickly."""
            return path

    registry = Registry()
    registry.register(retry(Quick().remove))
    assert registry["quick_remove"].requires_approval


def test_a_wrapped_method_cannot_skip_the_setup_of_its_toolset():
    class Files(Toolset):
        def setup(self) -> None: ...

        def read(self, path: str) -> str:
            """Read a file."""
            return path

    with pytest.raises(DefinitionError, match="decorate the method in its class"):
        Registry().register(retry(Files().read))


def test_a_wrapped_tool_of_a_file_is_listed_and_asks_for_approval(workspace):
    (workspace / "erase.py").write_text(
        "import functools\nfrom tools_core import tool\n\n@functools.cache\n@tool(requires_approval=True)\n"
        'def erase(path: str) -> str:\n    "Erase."\n    return "ERASED"\n'
    )
    for pattern in ("erase.py", "erase.py:erase"):
        done = run("call", pattern, "path=/")
        assert done.returncode != 0 and "ERASED" not in done.stdout and "approv" in done.stderr


def test_hints_of_an_abstract_base_reach_its_subclasses():
    class Reader(Tool, abstract=True):
        read_only = True

    class Local:
        idempotent = True

    class Read(Local, Reader):
        """Read."""

        def execute(self) -> str:
            return ""

    class Rewrite(Read):
        """Write."""

        read_only = False

        def execute(self) -> str:
            return ""

    class Other(Rewrite):
        """Anything."""

        def execute(self) -> str:
            return ""

    assert Read().annotations == {"read_only": True, "idempotent": True}
    assert Other().annotations == {"idempotent": True}


ERASER = 'from tools_core import tool\n@tool\ndef erase() -> str:\n    "Erase."\n    return "x"\n'


def installed(folder, name, code, *lines):
    """Install a package of one module with entry points `GROUP NAME = VALUE`, and return its folder."""
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / f"{name.replace('-', '_')}.py").write_text(code)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("".join("[ask_tools.{}]\n{}\n".format(*line) for line in lines))
    return folder


@pytest.fixture
def eraser(workspace):
    """A folder with the installed package `eraser-tools`, which has the tool `erase` and the command `rub`."""
    lines = ("tools", "erase = eraser_tools:erase"), ("commands", "rub = eraser_tools:configure")
    return installed(workspace / "site", "eraser-tools", ERASER, *lines)


MALFORMED = {
    "erase;python": "separate patterns with commas",
    "erase python": "separate patterns with commas",
    "erase|python": "separate patterns with commas",
    "erase\npython": "separate patterns with commas",
    "'erase'": "remove the quotes",
    '"erase,python"': "remove the quotes",
    "eraser-tools:": "write eraser-tools or eraser-tools:*",
    "eraser-tools/erase": "write eraser-tools:erase",
    ":erase": "write NAME",
    "!erase": "write NAME",
    "er[ase": "write NAME",
    "eraser-tools==1.0": "write NAME",
    "eraser-tools::erase": "write NAME",
}


@pytest.mark.parametrize("pattern", MALFORMED)
@pytest.mark.parametrize("kind", ["allow", "deny"])
def test_a_malformed_pattern_of_a_list_is_refused_with_its_fix(eraser, monkeypatch, kind, pattern):
    monkeypatch.setenv(f"ASK_TOOLS_{kind.upper()}", pattern)
    registry = Registry()
    with pytest.raises(
        ValueError, match=rf"ASK_TOOLS_{kind.upper()}: malformed pattern .*{re.escape(MALFORMED[pattern])}"
    ):
        registry.discover(paths=[eraser])
    with pytest.raises(ValueError, match=f"{kind}: malformed"):
        registry.discover(paths=[eraser], **{kind: [pattern]})
    assert not registry


@pytest.mark.parametrize(
    ("pattern", "fix"),
    [
        ("Erase", "did you mean `erase`?"),
        ("earse", "did you mean `erase`?"),
        ("eraser-tool", "did you mean `eraser-tools`?"),
        ("eraser_tools.erase", "did you mean"),
        ("eraser-tools:rase", "did you mean `eraser-tools:erase`?"),
        ("eraser-*", "did you mean"),
        ("mcp:github:*", "correct it, or remove it"),
    ],
)
@pytest.mark.parametrize("kind", ["allow", "deny"])
def test_an_unmatched_pattern_in_a_list_is_a_problem(eraser, kind, pattern, fix):
    registry = Registry()
    registry.discover(paths=[eraser], **{kind: [pattern]})
    (problem,) = registry.problems
    assert str(problem).startswith(f"{kind}: the pattern `{pattern}` matches no installed tool or package; fix: {fix}")


@pytest.mark.parametrize(
    "pattern", ["erase", "er*", "eraser-tools", "Eraser_Tools", "eraser-tools:*", "eraser-*:*", "*", "eraser-tools:rub"]
)
def test_a_matching_pattern_causes_no_problem(eraser, pattern):
    registry = Registry()
    registry.discover(paths=[eraser], deny=f" {pattern} , ")
    assert registry.problems == []
    assert ("erase" in registry) is (pattern == "eraser-tools:rub")


@pytest.mark.parametrize(
    "words",
    [("list",), pytest.param(("doctor",), marks=pytest.mark.slow), ("call", "tool.py", "x=1"), ("show", "tool.py")],
)
def test_every_command_reports_an_unmatched_deny_list(eraser, workspace, monkeypatch, words):
    (workspace / "tool.py").write_text(
        'from tools_core import tool\n@tool\ndef it(x: int) -> int:\n    "It."\n    return x\n'
    )
    monkeypatch.setenv("PYTHONPATH", str(eraser))
    monkeypatch.setenv("ASK_TOOLS_DENY", "Erase")
    assert "ASK_TOOLS_DENY: the pattern `Erase` matches no installed tool" in run(*words).stderr
    monkeypatch.setenv("ASK_TOOLS_DENY", "erase;python")
    done = run(*words)
    assert done.returncode == 2 and "separate patterns with commas" in done.stderr


MARKED = 'import sys\nprint("IMPORTED", file=sys.stderr)\ndef hook(*values): ...\n'
GROUPS = {
    "commands": ("rub",),
    "call": ("call", "tool.py", "x=1"),
    "score": ("check", "tool.py", "--score"),
    "sources": ("list",),
    "tools": ("list",),
}


@pytest.mark.parametrize("group", GROUPS)
def test_no_group_of_entry_points_imports_a_denied_package(workspace, monkeypatch, group):
    (workspace / "tool.py").write_text(
        'from tools_core import tool\n@tool\ndef it(x: int) -> int:\n    "It."\n    return x\n'
    )
    site = installed(workspace / "site", "evil", MARKED, (group, "rub = evil:hook"))
    monkeypatch.setenv("PYTHONPATH", str(site))
    monkeypatch.setenv("ASK_TOOLS_DENY", "evil")
    assert "IMPORTED" not in run(*GROUPS[group]).stderr
    monkeypatch.delenv("ASK_TOOLS_DENY")
    (workspace / "ask-tools.lock").write_text('{"version": 1, "distributions": {}, "tools": {}}')
    monkeypatch.setenv("ASK_TOOLS_LOCK", "ask-tools.lock")
    assert "IMPORTED" not in run(*GROUPS[group]).stderr


def test_a_lock_has_the_packages_with_commands_and_plugins(workspace, monkeypatch):
    site = installed(workspace / "site", "evil", MARKED, ("commands", "rub = evil:hook"))
    monkeypatch.setenv("PYTHONPATH", str(site))
    monkeypatch.setenv("ASK_TOOLS_DENY", "tools-*:*, mcp")
    assert "locked 0 tools of 0 packages" in run("lock").stdout
    assert '"evil": "1.0"' in (workspace / "ask-tools.lock").read_text()
    monkeypatch.setenv("ASK_TOOLS_LOCK", "ask-tools.lock")
    assert "IMPORTED" in run("rub").stderr


def test_a_source_cannot_take_the_name_of_a_package(workspace, eraser):
    code = "def source():\n    raise SystemExit('imported')\n"
    installed(eraser, "evil", code, ("sources", "eraser-tools = evil:source"))
    registry = Registry()
    registry.discover(paths=[eraser], allow=["eraser-tools"])
    (problem,) = registry.problems
    assert problem.error == "it is a source with the name of a package with tools"


class Database(Toolset):
    """A client whose connection belongs to an event loop."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.started, self.go_on = threading.Event(), threading.Event()

    async def setup(self) -> None:
        self.log.append("setup")
        self.started.set()
        await asyncio.to_thread(self.go_on.wait)

    async def ask(self) -> str:
        """Query."""
        return "asked"


@pytest.mark.parametrize("first", ["call", "acall"])
def test_a_toolset_is_set_up_once_from_two_event_loops(first):
    toolset = Database()
    ask, results = toolset.tool("ask"), []

    def work(name):
        result = ask.call() if name == "call" else asyncio.run(ask.acall())
        results.append(result.output)

    names = ("call", "acall") if first == "call" else ("acall", "call", "acall")
    threads = [threading.Thread(target=work, args=(name,), daemon=True) for name in names]
    threads[0].start()
    assert toolset.started.wait(20)
    for thread in threads[1:]:
        thread.start()
    toolset.go_on.set()
    for thread in threads:
        thread.join(20)
    assert (results, toolset.log) == (["asked"] * len(names), ["setup"])
    toolset.close()


def test_an_asynchronous_setup_that_fails_is_run_again_by_a_caller_that_waits():
    class Flaky(Database):
        async def setup(self) -> None:
            await super().setup()
            if len(self.log) == 1:
                raise OSError("no network")

    toolset, errors = Flaky(), []
    ask = toolset.tool("ask")
    first = threading.Thread(target=lambda: errors.append(ask.call().error), daemon=True)
    first.start()
    assert toolset.started.wait(20)
    second = threading.Thread(target=lambda: errors.append(asyncio.run(ask.acall()).error), daemon=True)
    second.start()
    toolset.go_on.set()
    first.join(20)
    second.join(20)
    assert sorted(errors, key=str) == [None, "OSError: no network"]
    toolset.close()


@pytest.mark.parametrize("is_async", [False, True])
def test_a_setup_may_call_a_tool_of_its_toolset(is_async):
    class Sync(Toolset):
        def setup(self) -> None:
            self.version = self.tool("read").call(context=Context(timeout=20)).unwrap()

        def read(self) -> int:
            """Read."""
            return 3

    class Async(Sync):
        async def setup(self) -> None:
            self.version = (await self.tool("read").acall(context=Context(timeout=20))).unwrap()

    with (Async if is_async else Sync)() as toolset:
        assert toolset.version == 3


def test_a_synchronous_call_that_would_block_a_setup_is_refused():
    toolset = Database()
    ask = toolset.tool("ask")

    async def main():
        first = asyncio.create_task(ask.acall())
        while not toolset.started.is_set():
            await asyncio.sleep(0)
        second = ask.call()
        toolset.go_on.set()
        return await first, second

    first, second = asyncio.run(main())
    assert first.ok and "use `await tool.acall(...)`" in second.error
    toolset.close()


@tool
def pay(cents: int, rate: float = 1.0) -> list[float]:
    """Pay."""
    return [cents, rate]


@pytest.mark.parametrize(
    ("arguments", "paid"),
    [
        ('{"cents": 3.0}', [3, 1.0]),
        ('{"cents": 9007199254740991.0}', [2**53 - 1, 1.0]),
        ('{"cents": 9007199254740993.0}', None),
        ('{"cents": -9007199254740993.0}', None),
        ('{"cents": 1e23}', None),
        ('{"cents": 9007199254740993}', [2**53 + 1, 1.0]),
        ('{"cents": "9007199254740993"}', [2**53 + 1, 1.0]),
        ('{"cents": 1, "rate": "0.1"}', [1, 0.1]),
        ('{"cents": 1, "rate": "1.50"}', [1, 1.5]),
        ('{"cents": 1, "rate": "9007199254740993.5"}', None),
        ('{"cents": 1, "rate": "0.1000000000000000055"}', None),
    ],
)
def test_a_repair_loses_no_digit(arguments, paid):
    result = pay.call(arguments)
    assert result.ok is (paid is not None), result
    assert result.output == paid


@pytest.mark.parametrize("arguments", ["null", " null ", "[]", "{}", "", None, b"null"])
def test_no_arguments_have_many_spellings(arguments):
    noon = tool(lambda: "noon", name="noon")
    assert noon.call(arguments).output == "noon"
    assert not pay.call(arguments).ok


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "utf-16"])
def test_json_is_json_in_every_encoding_of_standard_output(workspace, monkeypatch, encoding):
    (workspace / "t.py").write_text(
        'from tools_core import tool\n@tool\ndef echo(x: str) -> str:\n    "Echo é."\n    return x\n'
    )
    monkeypatch.setenv("PYTHONIOENCODING", encoding)
    text = "é \U0001f600 \u202e"
    called = run("call", "./t.py:echo", f"x={text}", "--json", text=False).stdout
    assert json.loads(called.decode(encoding))["output"] == text
    schema = run("schema", "./t.py:echo", text=False).stdout
    assert "Echo é." in json.dumps(json.loads(schema.decode(encoding)), ensure_ascii=False)


@pytest.mark.skipif(os.name != "posix", reason="only a POSIX shell closes a descriptor")
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", ">&- 2>&- <&-"])
def test_a_closed_standard_stream_ends_no_command_with_a_traceback(workspace, closed):
    command = f"{sys.executable} -P -m tools_core --version {closed}"
    done = subprocess.run(["sh", "-c", command], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_defaults_of_nested_parameters_are_applied_at_every_level():
    country = Parameter("country", str, default="NO")
    address = Parameter("address", dict, default={}, properties=[country, Parameter("day", date, default="2026-01-02")])

    class Order(Tool):
        """Order."""

        parameters = [
            Parameter("shipping", dict, properties=[address]),
            Parameter("parcels", list, default=[{}], properties=[Parameter("weight", int, default=1)]),
        ]

        def execute(self, shipping, parcels):
            return [
                shipping["address"]["country"],
                shipping["address"]["day"].year,
                *(parcel["weight"] for parcel in parcels),
            ]

    order = Order()
    assert order.call(shipping={}).output == ["NO", 2026, 1]
    assert order.call(shipping={"address": {"country": "SE"}}, parcels=[{}, {"weight": 2}]).output == ["SE", 2026, 1, 2]
    order.call(shipping={}).output.clear()
    assert order.input_schema["properties"]["shipping"]["properties"]["address"]["default"] == {}


@pytest.mark.parametrize(
    ("hint", "fix"),
    [(dict[str], "write dict[str, int]"), (list[int, str], "write list[str]"), (Mapping[str], "write dict[str, int]")],
)
def test_a_hint_with_the_wrong_number_of_types_is_explained(hint, fix):
    def show(values):
        """Show."""

    show.__annotations__ = {"values": hint}
    with pytest.raises(DefinitionError, match=rf"`values`: .* must have \d types?; {re.escape(fix)}"):
        tool(show)


@pytest.mark.parametrize("words", [("help", "call"), ("-h", "call"), ("--help", "call"), ("call", "--help")])
def test_every_spelling_of_help_shows_the_help_of_a_command(capsys, words):
    assert command.main([*words]) == 0
    assert "--yes" in capsys.readouterr().out


PLANTED = "json tomllib tools_core tools_runtime asyncio sitecustomize re pickle platform pydantic subprocess"


@pytest.mark.parametrize("command", ["list", "help", pytest.param("doctor", marks=pytest.mark.slow)])
def test_no_command_imports_modules_of_the_current_folder(workspace, command):
    for name in PLANTED.split():
        (workspace / f"{name}.py").write_text(f"open('RAN', 'a').write('{name} ')\nraise ImportError('planted')\n")
    script = os.path.join(os.path.dirname(sys.executable), "ask-tools")
    for program in ([script], [sys.executable, "-P", "-m", "tools_core"]):
        subprocess.run([*program, command], check=False, capture_output=True, stdin=subprocess.DEVNULL)
    assert not (workspace / "RAN").exists()


def test_python_m_keeps_the_current_folder_from_shadowing_installed_modules(workspace):
    for name in ("json", "tools_runtime", "asyncio", "subprocess"):
        (workspace / f"{name}.py").write_text("open('RAN', 'a').write(__name__)\nraise ImportError('planted')\n")
    subprocess.run([sys.executable, "-m", "tools_core", "list"], check=False, capture_output=True)
    assert not (workspace / "RAN").exists()


def run(*words, **options):
    """Run the command in this folder."""
    options = {"stdin": subprocess.DEVNULL, "text": True, "capture_output": True} | options
    return subprocess.run([sys.executable, "-P", "-m", "tools_core", *words], check=False, **options)


@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_settings_and_locks_of_any_editor_are_read(home, workspace, monkeypatch, start, end):
    settings = home / ".config/ask-tools/settings.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_bytes(start + b"[agent]" + end + b'model = "demo"' + end)
    assert user_settings("agent") == {"model": "demo"}
    lock = workspace / "ask-tools.lock"
    lock.write_bytes(start + b'{"version": 1,' + end + b'"distributions": {}, "tools": {}}')
    monkeypatch.setenv("ASK_TOOLS_LOCK", str(lock))
    assert list(Registry()) == []


@pytest.mark.parametrize("content", ["[agent", "\N{LATIN SMALL LETTER E WITH ACUTE} = 1"])
def test_doctor_counts_settings_that_cannot_be_read_as_a_problem(home, monkeypatch, capsys, content):
    monkeypatch.setenv("ASK_TOOLS_DENY", "*")  # loads no package
    settings = home / ".config/ask-tools/settings.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_bytes(content.encode("latin-1"))
    assert command.main(["doctor", "--json"]) == 1
    (problem,) = [row for row in json.loads(capsys.readouterr().out)["problems"] if row["name"] == "settings.toml"]
    assert str(settings) in problem["error"]
