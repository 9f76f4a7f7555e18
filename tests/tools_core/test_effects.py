"""`Tool.effects`: paths and commands of a call, determined before it runs."""

from __future__ import annotations

import copy
import pickle

import pytest

from tools_core import Context, Effects, Tool, tool


def test_a_tool_has_the_effects_of_its_hints_unless_it_knows_more():
    @tool(read_only=True)
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    for effects in (add.effects({"a": 1, "b": 2}), add.effects({"wrong": object()}, Context())):
        assert effects == Effects({"read_only": True})
        assert effects.paths == effects.commands == effects.missing == ()


def test_a_class_that_knows_more_overrides_it_and_no_body_runs():
    ran = []

    class Save(Tool):
        """Save."""

        def execute(self, path: str) -> None:
            ran.append(path)

        def effects(self, arguments, context=None):
            path = arguments.get("path")
            root = "" if context is None else context.workspace
            return Effects(self.annotations, paths=[f"{root}/{path}"] if isinstance(path, str) else None)

    for save in (Save(), Save().renamed("keep")):
        assert save.effects({"path": "a"}, Context(workspace="/ws")).paths == ("/ws/a",)
        assert save.effects({}).paths is None
    assert ran == []


def test_effects_are_plain_json_and_travel():
    effects = Effects(
        {"read_only": True}, paths=["/a"], commands=[["ls", None]], settings={"a": [1]}, missing=["tools-shell[parser]"]
    )
    assert effects.to_dict() == {
        "annotations": {"read_only": True},
        "paths": ["/a"],
        "commands": [["ls", None]],
        "settings": {"a": [1]},
        "missing": ["tools-shell[parser]"],
        "confined": False,
    }
    assert pickle.loads(pickle.dumps(effects)) == copy.deepcopy(effects) == effects != Effects({}, paths=None)


def test_effects_copy_their_arguments():
    settings, words = {"a": [1]}, ["ls"]
    effects = Effects({}, settings=settings, commands=[words])
    settings["a"].append(2)
    words.append("-l")
    assert (effects.settings, effects.commands) == ({"a": [1]}, (("ls",),))


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"paths": ["a"]}, "paths must be absolute and str, got 'a'"),
        ({"paths": [b"/a"]}, "paths must be absolute"),
        ({"commands": ["rm -rf x"]}, "a command must be a list of words, each str or None, got 'rm -rf x'"),
        ({"commands": [[]]}, "list of words"),
        ({"commands": [["ls", 1]]}, "list of words"),
    ],
)
def test_effects_of_a_wrong_form_are_refused(wrong, text):
    with pytest.raises(TypeError, match=text):
        Effects({}, **wrong)
