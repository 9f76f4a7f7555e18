"""`Toolset`: one object, many tools."""

import asyncio
import subprocess
import sys
import threading

import pytest

from tools_core import DefinitionError, Toolset, tool


class Notes(Toolset):
    """Notes of one person."""

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self.notes: list[str] = []

    def add(self, text: str) -> int:
        """Add a note.

        Args:
            text: What to remember.
        """
        self.notes.append(f"{self.owner}: {text}")
        return len(self.notes)

    @tool(name="read_notes", read_only=True)
    def read(self, limit: int = 10) -> list[str]:
        """Read the notes."""
        return self.notes[:limit]

    @staticmethod
    def count_words(text: str) -> int:
        """Count words."""
        return len(text.split())

    @classmethod
    def demo(cls) -> "Notes":
        return cls("demo")

    def _private(self) -> None: ...


def by_name(toolset):
    return {new_tool.name: new_tool for new_tool in toolset.tools}


def test_each_public_method_is_a_tool_named_after_toolset_and_method():
    assert list(by_name(Notes("a"))) == ["notes_add", "notes_count_words", "read_notes"]


def test_options_and_descriptions_come_from_each_method():
    tools = by_name(Notes("me"))
    assert tools["read_notes"].annotations == {"read_only": True}
    assert tools["notes_add"].definition["description"] == "Add a note."
    assert tools["notes_add"].input_schema["properties"]["text"]["description"] == "What to remember."
    assert Notes.description == "Notes of one person."


def test_methods_of_a_parent_toolset_count_and_may_be_taken_away():
    class MoreNotes(Notes):
        """More."""

        count_words = None  # type: ignore[assignment]

        def clear(self) -> None:
            """Clear."""

    assert list(by_name(MoreNotes("a"))) == ["more_notes_add", "more_notes_clear", "read_notes"]


def test_a_method_without_type_hints_is_refused_at_definition():
    with pytest.raises(DefinitionError, match="hit"):

        class Bad(Toolset):
            def hit(self, target) -> str:
                return target


class Connected(Toolset):
    def __init__(self) -> None:
        self.log: list[str] = []

    def setup(self) -> None:
        self.log.append("setup")

    def teardown(self) -> None:
        self.log.append("teardown")

    def ping(self) -> str:
        """Ping."""
        self.log.append("ping")
        return "pong"


def test_setup_runs_once_before_the_first_call_and_teardown_at_close():
    toolset = Connected()
    (ping,) = toolset.tools
    assert toolset.log == []
    ping.call()
    ping.call()
    toolset.close()
    toolset.close()
    assert toolset.log == ["setup", "ping", "ping", "teardown"]


def test_a_toolset_is_a_context_manager():
    with Connected() as toolset:
        toolset.tools[0].call()
    assert toolset.log == ["setup", "ping", "teardown"]


def test_setup_runs_once_however_many_threads_come_first():
    toolset = Connected()
    (ping,) = toolset.tools
    barrier = threading.Barrier(8)

    def call():
        barrier.wait()
        assert ping.call().ok

    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert toolset.log.count("setup") == 1
    toolset.close()


def test_setup_and_teardown_may_be_asynchronous():
    class Client(Connected):
        async def setup(self) -> None:  # type: ignore[override]
            await asyncio.sleep(0)
            self.log.append("setup")

        async def teardown(self) -> None:  # type: ignore[override]
            self.log.append("teardown")

        async def ping(self) -> str:  # type: ignore[override]
            """Ping."""
            self.log.append("ping")
            return "pong"

    async def main():
        async with Client() as toolset:
            results = await asyncio.gather(*(toolset.tools[0].acall() for _ in range(5)))
        return toolset.log, results

    log, results = asyncio.run(main())
    assert log == ["setup", *["ping"] * 5, "teardown"]
    assert all(result.output == "pong" for result in results)

    toolset = Client()
    assert toolset.tools[0].call().output == "pong"
    toolset.close()
    assert toolset.log == ["setup", "ping", "teardown"]


def test_a_setup_that_fails_is_an_error_result_and_is_tried_again():
    class Flaky(Connected):
        def setup(self) -> None:
            self.log.append("try")
            if self.log.count("try") == 1:
                raise OSError("no network")

    toolset = Flaky()
    (ping,) = toolset.tools
    assert ping.call().error == "OSError: no network"
    assert ping.call().output == "pong"
    toolset.close()


def test_teardown_runs_when_python_ends():
    code = """
from tools_core import Toolset
class T(Toolset):
    def setup(self): pass
    def teardown(self): print("closed")
    def go(self) -> str:
        "Go."
        return "went"
print(T().tools[0].call())
"""
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        == "went\nclosed\n"
    )


TYPED = """
from tools_core import Tool, Toolset, tool


class Notes(Toolset):
    @tool(read_only=True)
    def read(self, limit: int = 10) -> list[str]:
        return []

    @tool
    @staticmethod
    def count(words: int) -> int:
        return words


def double(number: int) -> int:
    return 2 * number


notes = Notes()
read: list[str] = notes.read(limit=3)
counted: int = Notes.count(3)
doubled: int = tool(double)(4)
any_tool: Tool = tool(double)
"""
MISTYPED = {
    "notes.read('three')": "arg-type",
    "tool(double)('four')": "arg-type",
    "notes.read(most=3)": "call-arg",
    "Notes.count('three')": "arg-type",
}


@pytest.mark.slow
def test_tools_are_typed_as_the_functions_and_methods_that_they_are(tmp_path):
    module = tmp_path / "module.py"
    module.write_text(TYPED + "\n".join(MISTYPED))
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path / "cache", module]
    output = subprocess.run(command, check=False, capture_output=True, text=True).stdout.splitlines()[:-1]
    assert [line.rpartition("[")[2] for line in output if "error:" in line] == [
        f"{code}]" for code in MISTYPED.values()
    ]


class Static(Toolset):
    """Options of static methods."""

    @staticmethod
    @tool(name="inner", requires_approval=True, destructive=True, timeout=5)
    def first(number: int) -> int:
        """Double a number."""
        return 2 * number

    @tool(name="outer", requires_approval=True, destructive=True, timeout=5)
    @staticmethod
    def second(number: int) -> int:
        """Double a number."""
        return 2 * number


@pytest.mark.parametrize("name", ["inner", "outer"])
def test_a_static_method_keeps_its_options_in_either_order_of_decorators(name):
    new_tool = by_name(Static())[name]
    assert (new_tool.requires_approval, new_tool.annotations, new_tool.timeout) == (True, {"destructive": True}, 5)
    assert new_tool.description == "Double a number."
    assert new_tool.call(number=4).output == Static.first(4) == Static().second(4) == 8


def test_a_decorated_function_that_cannot_be_a_tool_of_its_toolset_is_refused():
    with pytest.raises(DefinitionError, match=r"Helpless\.count: @tool needs a method with `self`, or a @staticmethod"):

        class Helpless(Toolset):
            @tool
            def count(text: str) -> int:
                """Count."""
                return 1

    with pytest.raises(DefinitionError, match=r"demo: a class method cannot be a tool"):

        class Outer(Toolset):
            @tool
            @classmethod
            def demo(cls) -> int:
                """Demo."""
                return 1


class Described(Toolset, description="The shared notebook of the team."):
    prefix = False

    def add(self, text: str) -> str:
        """Add a note."""
        return text

    @tool(description="Read all notes.")
    def read(self) -> str:
        return ""


def test_a_toolset_adds_its_description_and_may_leave_out_its_name():
    assert list(by_name(Described())) == ["add", "read"]
    add, read = (new_tool.definition["description"] for new_tool in Described().tools)
    assert add == "Add a note.\n\nThe shared notebook of the team."
    assert read == "Read all notes.\n\nThe shared notebook of the team."


def test_private_names_of_a_toolset_belong_to_its_author():
    class Counter(Toolset):
        def __init__(self) -> None:
            self._state = {"count": 0}

        def setup(self) -> None:
            self._reset()

        def _reset(self) -> None:
            self._state["count"] = 10

        def add(self) -> int:
            """Count."""
            self._state["count"] += 1
            return self._state["count"]

    with Counter() as counter:
        assert counter.tool("add").call().output == 11
