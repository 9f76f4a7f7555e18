from __future__ import annotations

import importlib.metadata
import json
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools_core._registry._entry_points import EntryPoint, normalize, parse, scan


def test_comments_spaces_other_groups_and_garbage_do_not_disturb_the_entries():
    text = b"""
        stray = before:any group
        [console_scripts]
        other = a:b
        [ask_tools.tools]
        # a comment = not:an entry

        get=weather:Get
          put   =   weather:Put [extra]
        no equals sign
        \xff\xfe = broken.bytes:X
        [other]
        last = c:d
        [ask_tools.tools]
        again = weather:Again
    """
    assert list(parse(text, "ask_tools.tools")) == [
        ("get", "weather:Get"),
        ("put", "weather:Put [extra]"),
        ("\ufffd\ufffd", "broken.bytes:X"),
        ("again", "weather:Again"),
    ]


@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace")))
def test_the_parser_accepts_any_bytes(noise):
    list(parse(noise, "g"))
    assert ("a", "b:c") in list(parse(b"[g]\na = b:c\n[h]\n" + noise, "g"))


WORD = st.text(st.characters(categories=["L", "N"], include_characters="_.-"), min_size=1, max_size=12)
SPACE = st.sampled_from(["", " ", "  ", "\t"])
ENTRY = st.builds(lambda name, a, b, module, attr: f"{name}{a}={b}{module}:{attr}", WORD, SPACE, SPACE, WORD, WORD)
LINE = ENTRY | WORD.map("[{}]".format) | WORD.map("# {}".format) | SPACE | st.just("[g]")


@given(st.lists(LINE, max_size=12), st.sampled_from(["\n", "\r\n"]))
def test_well_formed_text_is_read_as_importlib_metadata_reads_it(tmp_path_factory, lines, newline):
    # A line outside any group is no entry, and the reference parser stumbles over one without "=".
    text = newline.join(["[g]", *lines])
    info = tmp_path_factory.mktemp("x") / "some-1.0.dist-info"
    info.mkdir()
    (info / "entry_points.txt").write_bytes(text.encode())
    theirs = importlib.metadata.Distribution.at(info).entry_points
    assert sorted(parse(text.encode(), "g")) == sorted((e.name, e.value) for e in theirs if e.group == "g")


def test_entries_are_sorted_by_distribution_and_name_and_know_their_version(site):
    site.install("tools-weather", ["put = {}:Put", "get = {}:Get"], version="2.1")
    site.install("Tools.Alpha", ["zip = {}:Zip"], module="alpha")
    found = scan("ask_tools.tools", [site.folder])
    assert [(e.qualified, e.version, e.value) for e in found] == [
        ("tools-alpha:zip", "1.0", "alpha:Zip"),
        ("tools-weather:get", "2.1", "tools_weather:Get"),
        ("tools-weather:put", "2.1", "tools_weather:Put"),
    ]
    assert found[0].module == "alpha"
    assert str(found[1]) == "tools-weather 2.1 (tools_weather:Get)"


def test_it_finds_what_importlib_metadata_finds_in_this_environment():
    for group in ("console_scripts", "pytest11"):
        theirs = importlib.metadata.entry_points(group=group)
        expected = {(e.name, e.value, normalize(e.dist.name)) for e in theirs}
        assert {(e.name, e.value, e.distribution) for e in scan(group)} == expected


def test_egg_info_counts_as_well(site):
    info = site.folder / "old_style-0.3-py3.11.egg-info"
    info.mkdir()
    (info / "PKG-INFO").write_text("Name: old-style\nSummary: From before wheels\n")
    (info / "entry_points.txt").write_text("[g]\na = b:c\n")
    (entry,) = scan("g", [site.folder])
    assert (entry.qualified, entry.version) == ("old-style:a", "0.3")


def test_the_first_distribution_of_a_name_on_the_path_counts_even_without_entry_points(tmp_path):
    for folder, name, entries in [
        ("one", "tools_a-2.0.dist-info", "[g]\nnew = a:new\n"),
        ("two", "Tools.A-1.0.dist-info", "[g]\nold = a:old\n"),
        ("one", "tools_b-2.0.dist-info", None),
        ("two", "tools_b-1.0.dist-info", "[g]\nold = b:old\n"),
    ]:
        info = tmp_path / folder / name
        info.mkdir(parents=True)
        if entries:
            (info / "entry_points.txt").write_text(entries)
    assert [e.value for e in scan("g", [tmp_path / "one", tmp_path / "two"])] == ["a:new"]
    assert [e.value for e in scan("g", [tmp_path / "two", tmp_path / "one"])] == ["a:old", "b:old"]


def test_a_distribution_that_pip_has_half_removed_is_skipped(site):
    site.install("~ools-weather", ["get = {}:Get"], module="leftover")
    assert scan("ask_tools.tools", [site.folder]) == []


def test_unreadable_missing_and_looping_folders_are_skipped(site):
    info = site.install("good", ["a = {}:A"])
    (site.folder / "bad-1.0.dist-info" / "entry_points.txt").mkdir(parents=True)
    loop = site.folder / "loop"
    loop.symlink_to(loop)
    (site.folder / "looping-1.0.dist-info").symlink_to(loop)
    text = site.folder / "notes.txt"
    text.write_text("no archive")
    paths = [site.folder / "missing", loop, text, text / "below", "nul\0byte", site.folder]
    assert [e.folder for e in scan("ask_tools.tools", paths)] == [str(info)]


def test_a_long_file_is_read_to_its_end(site):
    site.install("long", [*(f"a{n:05} = {{}}:A" for n in range(10_000)), "last = {}:L"])
    assert len(scan("ask_tools.tools", [site.folder])) == 10_001


def test_zip_archives_are_read_through_importlib_metadata(tmp_path):
    archive = tmp_path / "bundle.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("tools_zip-3.0.dist-info/METADATA", "Name: tools_zip\nVersion: 3.0\n\n")
        file.writestr("tools_zip-3.0.dist-info/entry_points.txt", "[g]\nunzip = tools_zip:U\n")
    (entry,) = scan("g", [archive])
    assert (entry.qualified, entry.version, entry.value) == ("tools-zip:unzip", "3.0", "tools_zip:U")


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        ("json:loads.nope", AttributeError, "`json:loads.nope` does not exist"),
        ("no_such_module_here:x", ModuleNotFoundError, "no_such_module_here"),
        ("json loads", ValueError, "`json loads` is not of the form `module:attribute`"),
        ("json:", ValueError, "`json:` is not of the form `module:attribute`"),
        ("", ValueError, "`` is not of the form `module:attribute`"),
    ],
)
def test_a_value_that_names_no_object_is_an_error(value, error, message):
    with pytest.raises(error, match=message):
        EntryPoint("x", value, "g", "d", "1", "").load()


def test_a_value_may_have_nested_attributes_and_extras():
    nested = EntryPoint("x", "json : JSONDecoder.decode [a,b]", "g", "d", "1", "")
    assert nested.load() is json.JSONDecoder.decode
    assert EntryPoint("x", "json", "g", "d", "1", "").load() is json


def test_scanning_imports_neither_a_package_nor_importlib_metadata(site, run_python):
    site.install("tools-weather", ["get = {}:Get"])
    printed = run_python("""
        import sys
        from tools_core._registry._entry_points import scan
        print([e.qualified for e in scan("ask_tools.tools")])
        heavy = ("tools_weather", "importlib.metadata", "email", "zipfile")
        print([name for name in heavy if name in sys.modules])
    """)
    assert printed.splitlines() == ["['tools-weather:get']", "[]"]
