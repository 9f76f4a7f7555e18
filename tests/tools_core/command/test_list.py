"""`ask-tools list`: installed tools with their descriptions or errors."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

GET = '''
    from tools_core import tool


    @tool
    def get() -> str:
        """Get something.

        More about it.
        """
        return __name__
'''


def rows(result):
    assert result.code == 0, result
    return [line.split(maxsplit=3) for line in result.out.splitlines()[1:]]


def descriptions(ask_tools, **variables):
    return {row["name"]: row["description"] or row["error"] for row in ask_tools("list", "--json", **variables).json}


@pytest.mark.slow
def test_list_completion_schema_and_call_agree_on_the_names(ask_tools, site):
    notes = """
        from tools_core import Toolset

        class Notes(Toolset):
            def add(self) -> str:
                "Add a note."
                return "added"
    """
    site.install("tools-notes", {"notes_add": "Notes.add", "remember": "Notes.add"}, notes)
    site.install("tools-a", {"get": "get"}, GET)
    site.install("tools-b", {"get": "get"}, GET)
    names = [row["name"] for row in ask_tools("list", "--json").json]
    assert names == ["tools-a:get", "tools-b:get", "notes_add", "remember"]
    assert [definition["name"] for definition in ask_tools("schema", "--all").json] == names
    completed = ask_tools("__complete", "--", "call", "").out.splitlines()
    assert [line.split("\t")[0] for line in completed] == names
    assert [ask_tools("call", name).out.strip() for name in names] == ["tools_a", "tools_b", "added", "added"]


def test_json_has_every_field(ask_tools, site):
    site.install("tools-a", {"get": "get"}, GET)
    assert ask_tools("list", "--json").json == [
        {
            "name": "get",
            "distribution": "tools-a",
            "version": "1.0",
            "entry_point": "tools_a:get",
            "description": "Get something.",
            "deferred": False,
            "verify": None,
            "error": None,
        }
    ]


@pytest.mark.slow
def test_a_broken_package_shows_its_error_until_it_is_repaired(ask_tools, site):
    site.install("tools-bad", {"bad": "get"}, "import missing_module\n" + GET.replace("\n    ", "\n"))
    site.install("tools-good", {"get": "get"}, GET)
    result = ask_tools("list")
    assert "(cannot be loaded: ModuleNotFoundError: No module named 'missing_module')" in result.out
    assert ["get", "tools-good", "1.0", "Get something."] in rows(result)
    (site.folder / "missing_module.py").touch()
    assert descriptions(ask_tools) == {"bad": "Get something.", "get": "Get something."}


def test_denied_tools_are_neither_listed_nor_imported(ask_tools, site):
    site.install_weather()
    result = ask_tools("list", "--json", ASK_TOOLS_DENY="tools-weather")
    assert (result.json, "9 blocked by" in result.err, site.imported) == ([], True, [])


def test_an_empty_list_suggests_new(ask_tools):
    result = ask_tools("list")
    assert (result.code, result.out) == (0, "")
    assert "ask-tools new NAME" in result.err


@pytest.mark.slow
def test_two_tools_with_one_name_are_listed_and_called_by_their_qualified_names(ask_tools, site):
    site.install("tools-a", {"get": "get"}, GET)
    site.install("tools-b", {"get": "get"}, GET)
    result = ask_tools("list")
    assert [row[0] for row in rows(result)] == ["tools-a:get", "tools-b:get"]
    assert result.err.endswith("details: ask-tools doctor\n")
    assert ask_tools("call", "tools-b:get").out == "tools_b\n"
    ambiguous = ask_tools("call", "get")
    assert (ambiguous.code, "tools-a:get" in ambiguous.err) == (2, True)


@pytest.mark.slow
@pytest.mark.parametrize("words", [["list"], ["list", "--help"], ["call", "get"]], ids=" ".join)
def test_a_closed_pipe_causes_no_traceback(environment, site, words):
    site.install("tools-a", {"get": "get"}, GET)
    command = [sys._base_executable, "-S", "-m", "tools_core", *words]
    reader, writer = os.pipe()
    os.close(reader)
    piped = subprocess.run(command, env=environment, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert piped.returncode in (141, 0)  # argparse ignores errors when it writes the help
    assert piped.stderr == b""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no such device")
def test_a_full_disk_is_an_error_in_one_line(environment, site):
    site.install("tools-a", {"get": "get"}, GET)
    with open("/dev/full", "w") as full:
        command = [sys._base_executable, "-S", "-m", "tools_core", "call", "get"]
        result = subprocess.run(command, env=environment, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (result.returncode, result.stderr) == (1, "error: [Errno 28] No space left on device\n")
