from __future__ import annotations

import pytest

from tools_core.files import PROTECTED, is_git_directory, is_protected


@pytest.mark.parametrize(
    "name", [".git", ".GIT", ".git.", ".git ", ".g\u200cit", "\uff0egit", "GIT~1", ".Vscode", ".npmrc"]
)
def test_every_spelling_of_a_name_is_protected(name):
    assert is_protected(name)


@pytest.mark.parametrize("name", ["git", ".github", ".gitignore", "npmrc", "x.git", ".vscodes", ""])
def test_names_that_look_alike_are_not_protected(name):
    assert not is_protected(name)


def test_the_names_can_be_chosen():
    assert is_protected("Secrets", frozenset({"secrets"}))
    assert not is_protected(".npmrc", PROTECTED - {".npmrc"})


def test_a_git_directory_is_recognised_by_its_entries():
    assert is_git_directory(["HEAD", "objects", "refs", "config"])
    assert is_git_directory(["head", "commondir"])
    assert not is_git_directory(["HEAD", "objects"])
