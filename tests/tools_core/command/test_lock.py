"""`ask-tools lock` and `ask-tools verify`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest

GREET = '''
    from tools_core import tool


    @tool(read_only=True)
    def greet(name: str, times: int = 1) -> str:
        """Greet a person."""
        return f"Hello, {name}!"
'''
LOCKED = {"ASK_TOOLS_LOCK": "ask-tools.lock"}


@pytest.fixture
def lock_file(tmp_path):
    return tmp_path / "here" / "ask-tools.lock"


@pytest.fixture
def greet(site, ask_tools):
    site.install("tools-greet", {"greet": "greet"}, GREET)
    assert ask_tools("lock").code == 0


def test_locked_tools_are_verified_and_a_second_lock_writes_the_same(ask_tools, site, lock_file):
    site.install_weather()
    locked = ask_tools("lock")
    assert (locked.code, locked.out, locked.err) == (0, "locked 9 tools of 1 package in ask-tools.lock\n", "")
    verified = ask_tools("verify")
    assert (verified.code, verified.out) == (0, "as locked in ask-tools.lock: 9 tools of 1 package\n")
    before = lock_file.read_bytes()
    assert ask_tools("lock").out == locked.out
    assert lock_file.read_bytes() == before


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ("Greet a person.", "Greet\u200b a person.", "description"),
        ("read_only=True", "read_only=True, requires_approval=True", "requires_approval"),
    ],
    ids=["description", "approval"],
)
def test_a_changed_definition_is_reported_and_cannot_be_called(ask_tools, site, greet, old, new, part):
    site.change("tools-greet", old, new)
    report = ask_tools("verify")
    assert (report.code, report.out.splitlines()[0]) == (1, f"tools-greet:greet has changed: {part}")
    called = ask_tools("call", "greet", "name=x", **LOCKED)
    assert (called.code, called.out) == (1, "")
    assert "ask-tools verify" in called.err
    assert ask_tools("lock").code == 0
    assert ask_tools("verify").code == 0


@pytest.mark.slow
def test_new_and_missing_tools_and_other_versions_are_differences(ask_tools, site):
    site.install("tools-greet", {"greet": "greet"}, GREET)
    site.install("tools-old", {"old": "greet"}, GREET)
    ask_tools("lock")
    shutil.rmtree(site.folder / "tools_old-1.0.dist-info")
    (site.folder / "tools_greet-1.0.dist-info").rename(site.folder / "tools_greet-1.1.dist-info")
    site.install("tools-new", {"new": "greet"}, GREET)
    report = ask_tools("verify", "--json")
    changes = [
        "tools-greet: version 1.0 -> 1.1",
        "tools-new:new is new",
        "tools-old is missing",
        "tools-old:old is missing",
    ]
    assert (report.code, report.json["changes"]) == (1, changes)
    assert ask_tools("lock").out.splitlines()[:-1] == changes


def test_a_tool_that_cannot_be_loaded_is_neither_verified_nor_locked(ask_tools, site, greet, lock_file):
    site.install("tools-ok", {"ok": "greet"}, GREET)
    site.change("tools-greet", "from tools_core import tool", "import not_there")
    report = ask_tools("verify")
    assert report.code == 1
    assert any(
        line.startswith("tools-greet:greet cannot be verified: ModuleNotFound") for line in report.out.splitlines()
    )
    relocked = ask_tools("lock")
    assert (relocked.code, list(json.loads(lock_file.read_text())["tools"])) == (1, ["tools-ok:ok"])
    assert "tools-greet:greet is not locked: " in relocked.err


@pytest.mark.slow
def test_only_locked_tools_are_listed_shown_and_called(ask_tools, site, greet):
    site.install("tools-evil", {"evil": "greet"}, GREET)
    assert site.imported == ["tools_greet"]
    listed = ask_tools("list", "--json", **LOCKED)
    assert [tool["name"] for tool in listed.json] == ["greet"]
    assert ask_tools("call", "greet", "name=x", **LOCKED).out == "Hello, x!\n"
    for command in ("call", "show", "schema", "check"):
        result = ask_tools(command, "evil", **LOCKED)
        assert (result.code, "tools-evil:evil" in result.err) == (2, True)
    assert ask_tools("doctor", "--json", **LOCKED).json["blocked"] == ["tools-evil:evil"]
    assert site.imported == ["tools_greet"]


@pytest.mark.slow
@pytest.mark.parametrize("words", [["list"], ["doctor"]], ids=" ".join)
def test_an_unreadable_lock_blocks_every_tool(ask_tools, site, lock_file, words):
    site.install("tools-greet", {"greet": "greet"}, GREET)
    lock_file.write_text("{")
    result = ask_tools(*words, **LOCKED)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("error: the lock ask-tools.lock is ")
    assert ask_tools("lock").code == 2  # it does not overwrite another file
    assert lock_file.read_text() == "{"
    assert site.imported == []


def test_a_lock_with_an_edited_definition_is_refused(ask_tools, greet, lock_file):
    lock_file.write_text(lock_file.read_text().replace("Greet a person.", "Greet."))
    result = ask_tools("verify")
    assert result.code == 1
    assert "the definition of tools-greet:greet does not match its sha256" in result.err


def test_a_failed_write_leaves_the_old_lock_and_no_other_file(environment, site, greet, lock_file):
    resource = pytest.importorskip("resource", reason="only on systems with POSIX limits")
    before = lock_file.read_bytes()
    site.install_weather()
    done = subprocess.run(
        [sys._base_executable, "-m", "tools_core", "lock"],
        env=environment,
        cwd=lock_file.parent,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)),  # stands in for a full disk
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, lock_file.read_bytes()) == (1, before)
    assert done.stderr.startswith("error: ask-tools.lock cannot be written: ")
    assert os.listdir(lock_file.parent) == ["ask-tools.lock"]
