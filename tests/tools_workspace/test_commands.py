"""`ask-tools changes`, `apply` and `undo`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tools_core.command import main


@pytest.fixture
def run(folder, monkeypatch, capsys):
    """`run("changes", "--json")`: the exit code and the output."""
    monkeypatch.chdir(folder)

    def run(*words):
        code = main(list(words))
        output = capsys.readouterr()
        return code, output.out + output.err

    return run


def test_a_change_is_shown_applied_and_undone(run, folder):
    code, path = run("changes", "--new")
    assert code == 0
    Path(path.strip(), "notes.txt").write_text("better notes\n")
    assert "+better notes" in run("changes")[1]
    assert run("changes", "--stat")[1] == "changed notes.txt\n"
    code, applied = run("apply")
    assert (code, "to undo: ask-tools undo 20" in applied) == (0, True)
    assert (folder / "notes.txt").read_text() == "better notes\n"
    assert "applied  1 change  ask-tools apply" in run("undo", "--list")[1]
    assert run("undo")[1].startswith("undone 1 change of a preview, 20")
    assert (folder / "notes.txt").read_text() == "notes\n"
    code, refused = run("changes")
    assert (code, "make one: ask-tools changes --new" in refused) == (2, True)


@pytest.mark.parametrize("form", ["{}", "./{}", "{folder}/{}", "{folder}/./{}"])
@pytest.mark.parametrize("name", ["notes.txt", ".envrc"])
def test_changes_are_applied_by_any_form_of_their_path(run, folder, form, name):
    path = run("changes", "--new")[1].strip()
    Path(path, "notes.txt").write_text("better\n")
    Path(path, ".envrc").write_text("better\n")
    assert run("apply", form.format(name, folder=folder))[0] == 0
    assert (folder / name).read_text() == "better\n"
    assert run("changes", "--stat")[1].count("\n") == 1


def test_output_as_json_has_the_diff_and_the_changeset(run):
    path = json.loads(run("changes", "--new", "--json")[1])["path"]
    Path(path, "notes.txt").write_text("better notes\n")
    (change,) = json.loads(run("changes", "--json")[1])["changes"]
    assert (change["kind"], "+better notes" in change["diff"]) == ("changed", True)
    changeset = json.loads(run("apply", "--json")[1])["changeset"]
    assert (changeset["state"], changeset["changes"]) == ("applied", ["changed notes.txt"])
    assert json.loads(run("undo", "--json")[1])["state"] == "undone"


def test_copies_are_listed_and_share_ignored_folders(run, folder):
    (folder / "node_modules").mkdir()
    path = run("changes", "--new", "--ignore", "node_modules")[1].strip()
    assert list(Path(path, "node_modules").iterdir()) == []
    (copy,) = json.loads(run("changes", "--list", "--json")[1])
    assert copy["path"] == path
    assert run("changes", "--list")[1].splitlines()[1].split() == [
        copy["copy"],
        *run("changes", "--list")[1].split()[-3:],
    ]


def test_a_conflict_keeps_the_copy_and_names_the_file(run, folder):
    path = run("changes", "--new")[1].strip()
    Path(path, "notes.txt").write_text("theirs\n")
    (folder / "notes.txt").write_text("mine\n")
    code, message = run("apply")
    assert (code, "notes.txt" in message, f"the copy is in {path}" in message) == (1, True, True)
    assert run("changes", "--discard")[0] == 0
    assert not Path(path).exists()


@pytest.mark.parametrize("number", ["9" * 20, "9" * 5000])
def test_undo_refuses_a_huge_number_of_turns(run, number):
    code, refused = run("undo", number)
    assert (code, f"there is no changeset {number} of" in refused) == (1, True)
