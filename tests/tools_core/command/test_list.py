"""`ask-tools list`: each tool with its own description, from a cache that is never wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile

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


def rows(ended):
    assert ended.code == 0, ended
    return [line.split(maxsplit=3) for line in ended.out.splitlines()[1:]]


def descriptions(ask_tools, **variables):
    return {row["name"]: row["description"] or row["error"] for row in ask_tools("list", "--json", **variables).json}


@pytest.fixture
def cache(tmp_path):
    return tmp_path / ".cache" / "ask-tools"


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
    assert [each["name"] for each in ask_tools("schema", "--all").json] == names
    completed = ask_tools("__complete", "--", "call", "").out.splitlines()
    assert [line.split("\t")[0] for line in completed] == names
    assert [ask_tools("call", name).out.strip() for name in names] == ["tools_a", "tools_b", "added", "added"]


def test_each_tool_has_the_first_line_of_its_own_description(ask_tools, site):
    site.install_weather()
    site.install("tools-a", {"get": "get"}, GET, version="2.1")
    listed = rows(ask_tools("list"))
    assert ["get", "tools-a", "2.1", "Get something."] in listed
    assert ["rain", "tools-weather", "1.0", "Say whether it rains."] in listed
    assert len(listed) == 11


def test_json_has_every_field(ask_tools, site):
    site.install("tools-a", {"get": "get"}, GET)
    assert ask_tools("list", "--json").json == [
        {
            "name": "get",
            "distribution": "tools-a",
            "version": "1.0",
            "entry_point": "tools_a:get",
            "description": "Get something.",
            "error": None,
        }
    ]


def test_a_package_is_imported_for_its_first_list_alone(ask_tools, site):
    site.install("tools-a", {"get": "get"}, GET)
    before = descriptions(ask_tools)
    assert site.imported == ["tools_a"]
    site.install("tools-b", {"other": "get"}, GET)
    assert descriptions(ask_tools) == {**before, "other": "Get something."}
    assert site.imported == ["tools_b"]


def test_a_cached_list_loads_neither_the_contract_nor_slow_modules(ask_tools, environment, site):
    site.install_weather()
    ask_tools("list")
    code = "import sys; from tools_core._cli import main; main(['list']); print(*sys.modules)"
    command = [sys.executable, "-S", "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.splitlines()[-1].split())
    assert "tools_core._registry._registry" in loaded
    slow = {"asyncio", "dataclasses", "hashlib", "importlib.metadata", "inspect", "pathlib", "subprocess"}
    ours = {"tools_core.formats", "tools_core._tools._tool", "tools_core._jsonschema", "tools_core._cli._loader"}
    assert not loaded & (slow | ours)


def test_a_changed_source_file_or_version_is_read_again_into_the_same_file(ask_tools, site, cache):
    site.install("tools-a", {"get": "get"}, GET)
    ask_tools("list")
    site.change("tools-a", "Get something.", "Get something else.")
    assert descriptions(ask_tools) == {"get": "Get something else."}
    (site.folder / "tools_a-1.0.dist-info").rename(site.folder / "tools_a-1.1.dist-info")
    assert site.imported == ["tools_a"]
    assert rows(ask_tools("list")) == [["get", "tools-a", "1.1", "Get something else."]]
    assert site.imported == ["tools_a"]
    assert len(list(cache.iterdir())) == 1


def test_a_replaced_zip_archive_is_read_again(ask_tools, site, environment, tmp_path):
    site.install("tools-a", {"get": "get"}, GET)
    archive = tmp_path / "tools.zip"
    environment["PYTHONPATH"] = environment["PYTHONPATH"].replace(str(site.folder), str(archive))
    for text in ("Get something.", "Get something else."):
        module = (site.folder / "tools_a.py").read_text().replace("Get something.", text)
        with zipfile.ZipFile(archive, "w") as made:
            made.writestr("tools_a.py", module)
            for path in (site.folder / "tools_a-1.0.dist-info").iterdir():
                made.write(path, f"tools_a-1.0.dist-info/{path.name}")
        assert descriptions(ask_tools) == {"get": text}


@pytest.mark.parametrize(
    "spoil",
    [
        lambda file: file.write_bytes(b"\xff"),
        lambda file: file.write_text(file.read_text()[:-9]),
        lambda file: file.write_text("[" * 100_000),
        lambda file: (file.unlink(), file.mkdir()),
    ],
    ids=["binary", "cut off", "deep", "a folder"],
)
def test_a_spoiled_cache_file_is_ignored(ask_tools, site, cache, spoil):
    site.install("tools-a", {"get": "get"}, GET)
    ask_tools("list")
    (file,) = cache.iterdir()
    spoil(file)
    assert descriptions(ask_tools) == {"get": "Get something."}


def test_without_a_folder_for_the_cache_the_list_is_the_same(ask_tools, site, tmp_path):
    site.install("tools-a", {"get": "get"}, GET)
    (tmp_path / "file").touch()
    for _ in range(2):
        assert descriptions(ask_tools, XDG_CACHE_HOME=str(tmp_path / "file")) == {"get": "Get something."}
    assert (tmp_path / "file").read_text() == ""


def test_lists_at_the_same_time_write_whole_files(environment, site, cache):
    site.install_weather()
    command = [sys._base_executable, "-S", "-m", "tools_core", "list"]
    running = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    outputs = {process.communicate()[0] for process in running}
    assert len(outputs) == 1 and "Say whether it rains." in outputs.pop()
    (file,) = cache.iterdir()
    assert json.loads(file.read_text())["descriptions"]["rain"] == "Say whether it rains."


def test_a_package_that_fails_shows_its_error_until_it_is_repaired(ask_tools, site):
    site.install("tools-bad", {"bad": "get"}, "import missing_module\n" + GET.replace("\n    ", "\n"))
    site.install("tools-good", {"get": "get"}, GET)
    for imported in (["tools_bad", "tools_good"], ["tools_bad"]):
        shown = ask_tools("list")
        assert "(cannot be loaded: ModuleNotFoundError: No module named 'missing_module')" in shown.out
        assert ["get", "tools-good", "1.0", "Get something."] in rows(shown)
        assert site.imported == imported
    (site.folder / "missing_module.py").touch()
    assert descriptions(ask_tools) == {"bad": "Get something.", "get": "Get something."}


def test_a_package_that_ends_the_process_hides_no_other(ask_tools, site):
    site.install("tools-bad", {"bad": "get"}, "import os; os._exit(3)")
    site.install("tools-good", {"get": "get"}, GET)
    found = descriptions(ask_tools)
    assert found["get"] == "Get something."
    assert "ended the process with exit code 3" in found["bad"]


@pytest.mark.slow  # waits for the limit, which has to be enough for the other package on a busy machine
def test_a_package_that_holds_up_the_process_hides_no_other(ask_tools, site):
    site.install("tools-bad", {"bad": "get"}, "import threading; threading.Event().wait()")
    site.install("tools-good", {"get": "get"}, GET)
    found = descriptions(ask_tools, ASK_TOOLS_LOAD_TIMEOUT="5")
    assert found["get"] == "Get something."
    assert "timed out after 5 s" in found["bad"]


def test_patterns_select_names_and_distributions_and_no_match_is_an_error(ask_tools, site):
    site.install_weather()
    site.install("tools-a", {"get": "get", "set": "get"}, GET)

    def names(*words):
        return [tool["name"] for tool in ask_tools("list", *words, "--json").json]

    assert names("r*") == ["radar", "rain"]
    assert names("tools-a") == ["get", "set"]
    assert names("tools-a:s*", "rain") == ["set", "rain"]
    nothing = ask_tools("list", "nope")
    assert (nothing.code, nothing.out) == (1, "")
    assert "none of the 12 tools matches nope" in nothing.err


def test_a_list_of_nothing_proposes_to_make_a_tool(ask_tools):
    ended = ask_tools("list")
    assert (ended.code, ended.out) == (0, "")
    assert "ask-tools new NAME" in ended.err


def test_two_tools_with_one_name_are_listed_and_called_by_their_qualified_names(ask_tools, site):
    site.install("tools-a", {"get": "get"}, GET)
    site.install("tools-b", {"get": "get"}, GET)
    ended = ask_tools("list")
    assert [row[0] for row in rows(ended)] == ["tools-a:get", "tools-b:get"]
    assert ended.err.endswith("details: ask-tools doctor\n")
    assert ask_tools("call", "tools-b:get").out == "tools_b\n"
    ambiguous = ask_tools("call", "get")
    assert (ambiguous.code, "tools-a:get" in ambiguous.err) == (2, True)


def test_denied_tools_are_neither_listed_nor_imported(ask_tools, site):
    site.install_weather()
    site.install("tools-a", {"get": "get"}, GET)
    ended = ask_tools("list", "--json", ASK_TOOLS_DENY="tools-weather")
    assert [tool["name"] for tool in ended.json] == ["get"]
    assert "10 blocked by" in ended.err
    assert ask_tools("call", "rain", "city=Oslo", ASK_TOOLS_DENY="rain").code == 2
    assert site.imported == ["tools_a"]


@pytest.mark.parametrize("words", [[], ["list"], ["list", "--help"], ["call", "get"], ["doctor"], ["--version"]])
def test_closed_standard_streams_and_closed_pipes_cause_no_traceback(ask_tools, environment, site, words):
    site.install("tools-a", {"get": "get"}, GET)
    ask_tools("list")
    command = [sys._base_executable, "-S", "-m", "tools_core", *words]
    closed = subprocess.run(
        ["sh", "-c", '"$@" <&- >&-', "sh", *command], env=environment, capture_output=True, check=False
    )
    assert (closed.returncode, closed.stderr) == (0, b"")
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
        ended = subprocess.run(command, env=environment, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (1, "error: [Errno 28] No space left on device\n")
