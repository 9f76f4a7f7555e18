"""The metadata of installed distributions, as `Registry.discover` reads it."""

from __future__ import annotations

import importlib.metadata
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools_core import Registry


def entry_points(*paths, group="ask_tools.tools"):
    """Return the entry points of a group as `(distribution:name, value)`, in the order of the registry."""
    registry = Registry()
    points = map(registry.origin, registry.discover(group, paths=paths or None))
    return [(point.qualified, point.value) for point in points]


def write(folder, text):
    folder.mkdir(parents=True)
    (folder / "entry_points.txt").write_bytes(text.encode() if isinstance(text, str) else text)


@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace")))
def test_any_bytes_are_accepted(tmp_path_factory, noise):
    folder = tmp_path_factory.mktemp("site")
    write(folder / "w-1.dist-info", b"[g]\na = b:c\n[h]\n" + noise)
    write(folder / "x-1.dist-info", noise)
    assert ("w:a", "b:c") in entry_points(folder, group="g")


NAME = st.from_regex("[a-z_][a-z0-9_-]{0,8}", fullmatch=True)
WORD = st.text(st.characters(categories=["L", "N"], include_characters="_.-"), min_size=1, max_size=12)
SPACE = st.sampled_from(["", " ", "  ", "\t"])
ENTRY = st.builds(lambda name, a, b, module, attr: f"{name}{a}={b}{module}:{attr}", NAME, SPACE, SPACE, WORD, WORD)
LINE = ENTRY | WORD.map("[{}]".format) | WORD.map("# {}".format) | SPACE | st.just("[g]")


@given(st.lists(LINE, max_size=12), st.sampled_from(["\n", "\r\n"]))
def test_well_formed_text_is_read_as_importlib_metadata_reads_it(tmp_path_factory, lines, newline):
    folder = tmp_path_factory.mktemp("site")
    write(folder / "w-1.dist-info", newline.join(["[g]", *lines]))
    theirs = importlib.metadata.Distribution.at(folder / "w-1.dist-info").entry_points
    first = {item.name: item.value for item in reversed(list(theirs)) if item.group == "g"}
    assert entry_points(folder, group="g") == sorted((f"w:{name}", value) for name, value in first.items())


def test_discovery_finds_the_same_entry_points_as_importlib_metadata():
    for group in ("console_scripts", "pytest11"):
        theirs = importlib.metadata.entry_points(group=group)
        legal = [item for item in theirs if re.fullmatch("[A-Za-z_][A-Za-z0-9_-]*", item.name)]
        expected = {(f"{re.sub('[-_.]+', '-', item.dist.name).lower()}:{item.name}", item.value) for item in legal}
        registry = Registry()
        registry.discover(group)
        points = [registry.origin(name) for name in registry]
        assert {(point.qualified, point.value) for point in points} == expected


def test_an_egg_info_counts_as_well(tmp_path):
    write(tmp_path / "old_style-0.3-py3.11.egg-info", "[g]\na = b:c\n")
    assert entry_points(tmp_path, group="g") == [("old-style:a", "b:c")]


def test_the_first_distribution_on_the_path_hides_later_ones_with_its_name(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    write(first / "tools_a-2.0.dist-info", "[g]\nnew = a:new\n")
    write(second / "Tools.A-1.0.dist-info", "[g]\nold = a:old\n")
    (first / "tools_b-2.0.dist-info").mkdir()
    write(second / "tools_b-1.0.dist-info", "[g]\nold = b:old\n")
    assert entry_points(first, second, group="g") == [("tools-a:new", "a:new")]
    assert entry_points(second, first, group="g") == [("tools-a:old", "a:old"), ("tools-b:old", "b:old")]


@pytest.mark.parametrize(
    ("old", "new"), [("1.9", "1.10"), ("2.0rc1", "2.0"), ("2.0.dev3", "2.0"), ("2.0", "2.0.post1"), ("9.0", "10.0rc2")]
)
def test_of_two_versions_in_one_folder_the_higher_one_counts(tmp_path, old, new):
    for version in (old, new):
        write(tmp_path / f"w-{version}.dist-info", "[g]\na = b:c\n")
    registry = Registry()
    registry.discover("g", paths=[tmp_path])
    assert registry.origin("a").version == new


def test_folders_that_cannot_be_read_are_skipped(site):
    site.install("good", ["a = {}:A"])
    site.install("~ool", ["a = {}:A"], module="leftover")  # pip is removing it
    (site.folder / "bad-1.0.dist-info" / "entry_points.txt").mkdir(parents=True)
    loop = site.folder / "loop"
    loop.symlink_to(loop)
    (site.folder / "looping-1.0.dist-info").symlink_to(loop)
    file = site.folder / "good.py"
    paths = [site.folder / "missing", loop, file, file / "below", "nul\0byte", site.folder]
    assert entry_points(*paths) == [("good:a", "good:A")]


@pytest.mark.parametrize(
    ("value", "error"),
    [("json:loads.nope", AttributeError), ("json loads", ValueError), ("json:", ValueError), ("", ValueError)],
)
def test_loading_an_entry_point_without_an_object_is_an_error(tmp_path, value, error):
    write(tmp_path / "w-1.dist-info", f"[g]\na = {value}\n")
    registry = Registry()
    registry.discover("g", paths=[tmp_path])
    with pytest.raises(error, match=f"`{value}` (does not exist|is not of the form)"):
        registry.origin("a").load()


def test_a_value_may_have_nested_attributes_and_extras(tmp_path):
    write(tmp_path / "w-1.dist-info", "[g]\na = json : JSONDecoder.decode [a,b]\nb = json\n")
    registry = Registry()
    registry.discover("g", paths=[tmp_path])
    assert [registry.origin(name).load() for name in registry] == [json.JSONDecoder.decode, json]
